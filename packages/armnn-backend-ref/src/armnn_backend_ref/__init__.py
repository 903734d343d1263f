# SPDX-License-Identifier: MIT
"""CpuRef, the reference backend; armnn finds it by its entry point."""
