# SPDX-License-Identifier: MIT
"""Whole models beside other runtimes, and the pages on speed."""
