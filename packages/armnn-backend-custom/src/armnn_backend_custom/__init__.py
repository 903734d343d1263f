# SPDX-License-Identifier: MIT
"""Custom, the example backend; armnn finds it by its entry point."""
