# SPDX-License-Identifier: MIT
"""Specialisations with symbolic dimensions."""
