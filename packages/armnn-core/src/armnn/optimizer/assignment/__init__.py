# SPDX-License-Identifier: MIT
"""Each layer's backend, and the parts that follow."""
