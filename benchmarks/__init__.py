# SPDX-License-Identifier: MIT
"""Measurements; each program runs as a module from the root."""
