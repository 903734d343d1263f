# SPDX-License-Identifier: MIT
"""The optional extensions of the C table, as Python interfaces."""
