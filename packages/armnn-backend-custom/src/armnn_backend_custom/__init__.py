# SPDX-License-Identifier: MIT
"""Custom, the example backend, found by its entry point."""
