# SPDX-License-Identifier: MIT
"""Generators from the layer table, compat.toml and the sources."""
