# SPDX-License-Identifier: MIT
"""Memory of plans: lifetimes, layouts, arenas."""
