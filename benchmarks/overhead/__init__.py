# SPDX-License-Identifier: MIT
"""Benchmarks of the time that the runtime takes besides the layers."""
