# SPDX-License-Identifier: MIT
"""The inputs, outputs and constants of a network."""

from __future__ import annotations

from armnn.layers._descriptor import Descriptor
from armnn.layers._spec import Inputs, Shapes, layer, result, slot


def _as_requested(_descriptor: Descriptor, _inputs: Inputs) -> Shapes:
    """Return the shape that the caller requests."""
    return [None]


@layer(
    23,
    inputs=[],
    outputs=[result("output", like="")],
    infer=_as_requested,
    no_kernel="the runtime copies the caller's array into it",
)
class InputDescriptor(Descriptor):
    """A network's input, named as its layer."""


def _nothing(_descriptor: Descriptor, _inputs: Inputs) -> Shapes:
    return []


@layer(
    39,
    inputs=[slot("input", "The tensor that the caller gets.")],
    outputs=[],
    infer=_nothing,
    no_kernel="the runtime copies it into an array of the caller's",
)
class OutputDescriptor(Descriptor):
    """A network's output, named as its layer."""


@layer(
    7,
    inputs=[],
    outputs=[result("output", like="")],
    infer=_as_requested,
    no_kernel="its data is handed to the layers that read it",
)
class ConstantDescriptor(Descriptor):
    """A tensor whose data is known before the network runs."""


__all__ = ["ConstantDescriptor", "InputDescriptor", "OutputDescriptor"]
