# SPDX-License-Identifier: MIT
"""Measurements of the choice between backends."""
