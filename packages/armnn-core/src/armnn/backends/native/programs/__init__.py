# SPDX-License-Identifier: MIT
"""Compiled graphs, their stored forms and new shapes."""
