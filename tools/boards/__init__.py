# SPDX-License-Identifier: MIT
"""Boards to test with."""
