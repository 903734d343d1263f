# SPDX-License-Identifier: MIT
"""Views of layers, and layers of views, for backends that compile ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.backends import OptimizationViews, SubgraphView, Substitution
from armnn.graph import Network

if TYPE_CHECKING:
    from armnn.graph import Layer


def layer_view(layer: Layer) -> SubgraphView:
    """Return a view of one layer; its inputs are the computed ones."""
    inputs = tuple(layer.inputs[index] for index in computed_inputs(layer))
    present = tuple(value for value in inputs if value is not None)
    return SubgraphView(Network(layer.name), (layer,), present, layer.outputs)


def computed_inputs(layer: Layer) -> list[int]:
    """Return the slots that feed a layer's view, in its order.

    A value in several slots counts once.
    """
    first: dict[object, int] = {}
    for index, value in enumerate(layer.inputs):
        if value is not None and value.constant is None:
            first.setdefault(value, index)
    return list(first.values())


def as_one_layer(view: SubgraphView, compiled: object, name: str) -> OptimizationViews:
    """Return the views with one PreCompiled layer in the place of a view.

    Args:
        view: The layers that were compiled.
        compiled: The backend's object, which the new layer holds as ``compiled``.
        name: The name of the layer.
    """
    replacement = view.replacement()
    outputs = replacement.add_pre_compiled(
        [
            layer.output
            for layer, value in zip(replacement.inputs, view.inputs, strict=True)
            if value.constant is None
        ],
        num_output_slots=len(view.outputs),
        outputs=[value.info for value in view.outputs],
        name=name,
    )
    for index, value in enumerate(outputs):
        value.producer.compiled = compiled
        replacement.add_output(f"output {index}", value)
    return OptimizationViews(substitutions=[Substitution(view, replacement)])


def not_compiled(view: SubgraphView, error: Exception) -> OptimizationViews:
    """Return the views with a view that failed, an error its reason."""
    reasons = {layer.name: str(error) for layer in view.layers}
    return OptimizationViews(failed=[view], reasons=reasons)
