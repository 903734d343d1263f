# SPDX-License-Identifier: MIT
"""Faults of other runtimes that ``armnn compare`` finds."""
