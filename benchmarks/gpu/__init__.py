# SPDX-License-Identifier: MIT
"""GpuAcc on one OpenCL device, and the page about GPUs."""
