# SPDX-License-Identifier: MIT
"""Measurements of examples/serving/ and examples/scaling/."""
