# SPDX-License-Identifier: MIT
"""Specializations with symbolic dimensions."""
