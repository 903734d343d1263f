# SPDX-License-Identifier: MIT
"""Regions of a network in layouts that backends wish.

A backend that computes in one layout only refuses the layers of models in the other one, and
answers which layout it wishes (``Support.layout``). Here such layers are put into it, together with
layers between them that compute in any layout, and Transpose layers at the borders of the region.
"""

from __future__ import annotations

from armnn.optimizer.layouts.choice import choose_layouts, kernels_of

__all__ = ["choose_layouts", "kernels_of"]
