# SPDX-License-Identifier: MIT
"""What the runtime costs besides the layers."""
