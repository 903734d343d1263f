# SPDX-License-Identifier: MIT
"""The public models: sources, recipes, distances from other runtimes."""
