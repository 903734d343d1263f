# SPDX-License-Identifier: MIT
"""Backends in Python behind files with static C tables."""
