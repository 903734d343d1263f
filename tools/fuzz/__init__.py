# SPDX-License-Identifier: MIT
"""Damaged model files for the parsers."""
