# SPDX-License-Identifier: MIT
"""Writers of what derives from the layer table and from compat.toml."""
