# SPDX-License-Identifier: MIT
"""Shape inference over a whole network."""

from __future__ import annotations

from armnn._symbolic import is_symbolic
from armnn.errors import ShapeError
from armnn.graph import Layer, Network
from armnn.layers import filled_descriptor
from armnn.tensor import TensorInfo, format_shape


def infer_shapes(network: Network) -> None:
    """Infer the info of every value in topological order.

    Values of inputs that fill descriptor fields move there where they are known.

    Raises:
        ShapeError: The inputs of a layer do not fit; the first such layer is named.
    """
    for layer in network.topological_order():
        if layer.inputs:  # of one that reads nothing all was known when it was added
            fill_descriptor(network, layer)
            update_outputs(layer)


def demand_shapes(network: Network, *, allow_expanded_dims: bool) -> None:
    """Check that all shapes are known and as declared.

    (Arm NN: ``ShapeInferenceMethod::ValidateOnly``.)

    Args:
        network: Its shapes are inferred.
        allow_expanded_dims: Whether shapes may differ by dimensions of 1.

    Raises:
        ShapeError: A dimension is open, or an output has another shape than the model declares.
    """
    for layer in network.topological_order():
        for value in layer.outputs:
            if not value.info.is_static:
                raise ShapeError(
                    f"layer {layer.name!r} ({layer.type}) makes {value.info}, whose shape is not "
                    "known in full: expected that with shape_inference_method='ValidateOnly'; fix "
                    "the model's input shapes, or use 'InferAndValidate'"
                )
    for layer in network.outputs:
        declared = network.declared_shapes.get(layer.name)
        (info,) = layer.input_infos
        if declared is None or info is None:
            continue
        shapes = [declared, info.static_shape]
        if allow_expanded_dims:
            shapes = [tuple(size for size in shape if size != 1) for shape in shapes]
        agree = len(shapes[0]) == len(shapes[1]) and all(
            not isinstance(size, int) or size == found for size, found in zip(*shapes, strict=True)
        )
        if not agree:
            raise ShapeError(
                f"the output {layer.name!r} has the inferred shape {format_shape(info.shape)}: "
                f"expected {format_shape(declared)}, which the model declares"
            )


def update_outputs(layer: Layer) -> None:
    """Infer the output infos of a layer from its inputs."""
    if layer.is_inferred:
        return
    for value, info in zip(layer.outputs, layer.infer_output_infos(), strict=True):
        if not _is_same(info, value.info):  # else what follows would be inferred again, too
            value.info = info
    layer.note_inference()


def _is_same(info: TensorInfo, other: TensorInfo) -> bool:
    """Return whether infos are equal, where asking decides nothing."""
    return not (is_symbolic(info.shape) or is_symbolic(other.shape)) and info == other


def fill_descriptor(network: Network, layer: Layer) -> None:
    """Move known values of inputs into the descriptor fields.

    Raises:
        ShapeError: A value is not one that the field can take; the layer is named.
    """
    if not layer.spec.has_filling:
        return
    values = [None if value is None else value.constant for value in layer.inputs]
    try:
        layer.descriptor = filled_descriptor(
            layer.spec, layer.descriptor, layer.input_infos, values
        )
    except ValueError as error:
        raise ShapeError(f"layer {layer.name!r} ({layer.type}): {error}") from error
    kept = [
        None if layer.spec.input_slot(index).fills and data is not None else value
        for index, (value, data) in enumerate(zip(layer.inputs, values, strict=True))
    ]
    if kept != list(layer.inputs):
        network.replace_inputs(layer, kept)
