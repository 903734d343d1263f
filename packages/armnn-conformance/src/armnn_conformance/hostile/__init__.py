# SPDX-License-Identifier: MIT
"""A hostile host that gives native backends whole graphs."""
