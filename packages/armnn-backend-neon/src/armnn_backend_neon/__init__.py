# SPDX-License-Identifier: MIT
"""CpuAcc, the fast CPU backend, found by its entry point."""
