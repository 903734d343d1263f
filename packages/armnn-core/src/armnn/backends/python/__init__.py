# SPDX-License-Identifier: MIT
"""Backends in Python behind a file whose table is static C."""
