# SPDX-License-Identifier: MIT
"""Plans: networks bound to memory, per set of shapes."""
