# SPDX-License-Identifier: MIT
"""Views and compiled layers, for backends that compile ONNX."""

from __future__ import annotations

from armnn.backends import OptimizationViews, SubgraphView, Substitution
from armnn.graph import Layer, Network


def layer_view(layer: Layer) -> SubgraphView:
    """Return a view of a layer and its computed inputs."""
    inputs = tuple(layer.inputs[index] for index in computed_inputs(layer))
    present = tuple(value for value in inputs if value is not None)
    return SubgraphView(Network(layer.name), (layer,), present, layer.outputs)


def computed_inputs(layer: Layer) -> list[int]:
    """Return the slots that feed a layer's view.

    They are in the view's order; a value in several slots counts once.
    """
    first: dict[object, int] = {}
    for index, value in enumerate(layer.inputs):
        if value is not None and value.constant is None:
            first.setdefault(value, index)
    return list(first.values())


def as_one_layer(view: SubgraphView, compiled: object, name: str) -> OptimizationViews:
    """Return a view with one PreCompiled layer in its place.

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
    """Return a view that failed, with an error as reason."""
    reasons = {layer.name: str(error) for layer in view.layers}
    return OptimizationViews(failed=[view], reasons=reasons)
