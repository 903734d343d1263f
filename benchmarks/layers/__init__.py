# SPDX-License-Identifier: MIT
"""Single layers on CpuRef and CpuAcc."""
