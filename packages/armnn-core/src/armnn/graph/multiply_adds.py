# SPDX-License-Identifier: MIT
"""The multiply-adds of a layer, which the layer table counts."""

from __future__ import annotations

from armnn.graph.layer import Layer
from armnn.layers import Inputs


def has_multiply_adds(layer: Layer) -> bool:
    """Return whether layers of that type multiply and add."""
    return layer.spec.multiply_adds is not None


def multiply_adds_of(layer: Layer) -> int | None:
    """Return the multiplications whose products a layer adds up.

    None where a shape that they depend on is not known. Only layers that sum products
    (convolutions, matrix products, attention, recurrent layers) have any; zero padding counts as
    data, as is usual.
    """
    count = layer.spec.multiply_adds
    if count is None:
        return 0
    inputs, outputs = layer.input_infos, layer.output_infos
    if not all(info is None or info.is_static for info in (*inputs, *outputs)):
        return None
    return count(layer.descriptor, Inputs(layer.spec, inputs, ()), outputs)
