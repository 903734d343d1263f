# SPDX-License-Identifier: MIT
"""Networks and parts of them as ONNX models, for files and backends that compile ONNX."""

from __future__ import annotations

from armnn.backends import SUPPORTED, OptimizationViews, SubgraphView, Substitution, Support
from armnn.errors import NotExportableError
from armnn.graph import Layer, Network
from armnn_parser_onnx.export import layers  # noqa: F401  # importing them registers them
from armnn_parser_onnx.export.graph import EXPORTERS, GraphWriter, Operation
from armnn_parser_onnx.messages import encoded


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


_NO_NODES = ("Input", "Output", "Constant")


def to_onnx(part: Network | SubgraphView) -> bytes:
    """Return a network, or a part, as an ONNX model.

    The inputs and outputs have the names of the Input and Output layers, or of the values that
    enter and leave the part; constants become initializers. All shapes are those of the network.

    Args:
        part: The network or the part.

    Raises:
        NotExportableError: A layer has no counterpart; the message names the layer and says why.
        InvalidArgumentError: A shape is not known in full.
    """
    if isinstance(part, SubgraphView):
        network, layers_of = part.network, part.layers
        inputs = {value.name: value for value in part.inputs if value.constant is None}
        outputs = {value.name: value for value in part.outputs}
    else:
        network, layers_of = part, part.topological_order()
        inputs = {layer.name: layer.output for layer in part.inputs}
        outputs = {layer.name: value for layer in part.outputs for value in layer.inputs if value}
    writer = GraphWriter([*inputs, *outputs, *(layer.name for layer in layers_of)])
    for layer in layers_of:
        if layer.type not in _NO_NODES:
            _add_layer(writer, layer)
    return encoded(writer.model(network.name, inputs, outputs))


def export_support(layer: Layer) -> Support:
    """Return whether :func:`to_onnx` can write a layer.

    Its shapes are known in full.
    """
    writer = GraphWriter([layer.name])
    try:
        _add_layer(writer, layer)
        writer.check({value.name: value for value in layer.inputs if value})
    except NotExportableError as error:
        return Support.no(str(error))
    return SUPPORTED


def _add_layer(writer: GraphWriter, layer: Layer) -> None:
    """Write the nodes of a layer.

    Raises:
        NotExportableError: The layer has no counterpart.
    """
    inputs = ["" if value is None else writer.name_of(value) for value in layer.inputs]
    operation = Operation(writer, layer, inputs)
    if layer.why_no_file:
        operation.refuse(layer.why_no_file)
    for value in (*layer.inputs, *layer.outputs):
        if value is not None and value.info.data_type.is_quantized:
            operation.refuse(
                f"{value.name!r} is {value.info.data_type.arm_name}, expected a type that is "
                "not quantized"
            )
    exporter = EXPORTERS.get(layer.type)
    if exporter is None:
        operation.refuse("the ONNX exporter writes no layers of this type")
    names = exporter(operation)
    for value, name in zip(
        layer.outputs, (names,) if isinstance(names, str) else names, strict=True
    ):
        writer.names[value] = name
