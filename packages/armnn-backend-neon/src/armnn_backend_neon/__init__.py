# SPDX-License-Identifier: MIT
"""CpuAcc, the fast CPU backend; armnn finds it by its entry point."""
