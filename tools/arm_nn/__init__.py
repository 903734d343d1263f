# SPDX-License-Identifier: MIT
"""Arm NN itself, from Debian's packages, beside armnn."""
