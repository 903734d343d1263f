# SPDX-License-Identifier: MIT
"""The checks of the kit's levels, and the process that runs them."""
