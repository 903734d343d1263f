# SPDX-License-Identifier: MIT
"""Inferred shapes, and networks for one set of them."""
