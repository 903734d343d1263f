# SPDX-License-Identifier: MIT
"""The backend of the compatibility matrix in Python: Convolution2d and ArgMinMax."""

from __future__ import annotations

import numpy as np

from armnn.backends import SUPPORTED, Backend, BackendVersion, Support, Workload

DECLARED = BackendVersion(1, 0)  # the maker of the wheels writes here what each declares
KNOWN = (1, 0)  # and here what it was made with


class CompatBackend(Backend):
    """Runs what the matrix asks for, of one input."""

    id = "Compat"
    api_version = DECLARED

    def supports(self, layer, model):
        """Say yes to the two layer types."""
        known = layer.type in ("Convolution2d", "ArgMinMax")
        return SUPPORTED if known else Support.no("not in the matrix")

    def create_workload(self, layer, model):
        """Prepare a layer."""
        return CompatWorkload(layer)


class CompatWorkload(Workload):
    """One layer; what is younger than KNOWN it does not look at."""

    def __init__(self, layer):
        self._layer = layer

    def bind(self, inputs, outputs):
        """Return the step."""
        compute = convolved if self._layer.type == "Convolution2d" else extreme
        (output,) = outputs

        def step():
            output.map()[...] = compute(self._layer.descriptor, *(i.map() for i in inputs))

        return step


def convolved(d, x, weights):
    """Return the correlation of [1,C,H,W] with [O,C,KH,KW]."""
    padded = np.pad(x, ((0, 0), (0, 0), (d.pad_top, d.pad_bottom), (d.pad_left, d.pad_right)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[2:], axis=(2, 3))
    windows = windows[:, :, :: d.stride_y, :: d.stride_x]
    return np.einsum("nchwij,ocij->nohw", windows, weights)


def extreme(d, x):
    """Return the place of the largest element."""
    if KNOWN >= (1, 1) and d.select_last_index:
        return x.size - 1 - np.argmax(x[::-1])
    return np.argmax(x)
