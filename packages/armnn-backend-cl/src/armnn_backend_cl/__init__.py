# SPDX-License-Identifier: MIT
"""GpuAcc, the OpenCL backend, found by its entry point."""
