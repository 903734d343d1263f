# SPDX-License-Identifier: MIT
"""Inputs and outputs of calls; bound and imported arrays."""
