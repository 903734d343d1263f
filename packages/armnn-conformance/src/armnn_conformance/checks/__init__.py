# SPDX-License-Identifier: MIT
"""The checks of the kit's levels, and their process."""
