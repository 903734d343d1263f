# SPDX-License-Identifier: MIT
"""Backends in worker processes: protocol, worker, proxy."""
