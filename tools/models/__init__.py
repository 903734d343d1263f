# SPDX-License-Identifier: MIT
"""The public models: where they come from, and how far ours is from others."""
