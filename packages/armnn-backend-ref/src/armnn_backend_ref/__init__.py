# SPDX-License-Identifier: MIT
"""CpuRef, the reference backend, found by its entry point."""
