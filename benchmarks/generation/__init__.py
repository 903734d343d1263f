# SPDX-License-Identifier: MIT
"""Text generation beside its peers."""
