# SPDX-License-Identifier: MIT
"""A network for one set of input shapes.

Shapes are inferred, and shape arithmetic is computed away.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network, Value
from armnn.graph.layer import default_descriptor
from armnn.layers import LAYERS, Descriptor
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.shapes.branches import CONTROL_FLOW, resolve_branch
from armnn.optimizer.shapes.deferred import awaited_values, resolve_deferred
from armnn.optimizer.shapes.infer import fill_descriptor, update_outputs
from armnn.optimizer.symbolic.arithmetic import shape_array
from armnn.optimizer.symbolic.recipes import Source
from armnn.optimizer.symbolic.trace import Trace
from armnn.tensor import Shape, TensorInfo

DIRECT_VALUE_LIMIT = 1 << 16
"""Elements of an input that stands directly in a shape argument; a shape has at most a few."""

INDIRECT_VALUE_LIMIT = 64
"""Elements of an input from which a shape argument is computed; larger ones end a segment."""


def value_inputs(network: Network) -> dict[str, int]:
    """Return the inputs whose values decide about shapes.

    Each has the number of elements that it may have. They are the integer and Boolean inputs from
    which a path of layers leads to an input slot that a shape function reads, to a condition, or to
    the data that a deferred operator awaits, and the inputs of any type that are such data
    themselves. Layers that look only at the shape of their input (Shape, Rank) end such a path.
    """
    found: dict[str, int] = {}
    direct = [
        value
        for layer in network.layers
        if layer.spec.reads_data
        for index, value in enumerate(layer.inputs)
        if value is not None and layer.spec.input_slot(index).shapes_output
    ]
    direct += [value for layer in network.layers for value in awaited_values(layer)]
    for value in direct:
        if value.producer.type == "Input":
            found[value.producer.name] = DIRECT_VALUE_LIMIT
    seen: dict[Value, None] = dict.fromkeys(direct)
    pending = list(seen)
    while pending:
        producer = pending.pop().producer
        if producer.type in _SHAPE_LAYERS:
            continue
        if producer.type == "Input":
            data_type = producer.output.info.data_type
            if data_type.is_integer or data_type.numpy_name == "bool":
                found.setdefault(producer.name, INDIRECT_VALUE_LIMIT)
        for operand in producer.inputs:
            if operand is not None and operand not in seen:
                seen[operand] = None
                pending.append(operand)
    return {layer.name: found[layer.name] for layer in network.inputs if layer.name in found}


def specialise(
    network: Network,
    shapes: Mapping[str, Shape | None],
    values: Mapping[str, NDArray[Any]],
    evaluate: Evaluate,
    trace: Trace | None = None,
) -> Network:
    """Return a copy of a network for given input shapes.

    Every layer whose inputs are known is computed away, every value that fills a descriptor field
    moves into the descriptor, deferred operators become layers, and shapes are inferred as far as
    they can be. Shapes that stay unknown depend on data that only a run computes.

    Args:
        network: Is not changed.
        shapes: The shape of each input, as far as it is known.
        values: The data of some inputs (those of :func:`value_inputs`).
        evaluate: Computes a layer whose inputs are constant.
        trace: Records what follows from the shapes, if they are its symbolic ones.

    Raises:
        ShapeError: The shapes do not fit; the first layer that disagrees is named.
        GraphError: An output is on a branch that is not taken.
        ParseError: A deferred operator cannot be computed with these shapes and values.
        UntraceableError: Not all that follows from the shapes can be recorded.
    """
    copy = network.clone()
    for layer in copy.inputs:
        layer.output.info = layer.output.info.with_shape(shapes[layer.name])
        if layer.name in values:
            info = layer.output.info
            data = np.array(values[layer.name], info.data_type.numpy_dtype)
            constant = copy.add_constant(data, info, name=copy.unique_name(layer.name))
            copy.replace_uses(layer.output, constant)
    dead: dict[Value, None] = {}
    pending = deque(copy.topological_order())
    while pending:
        layer = pending.popleft()
        if trace is not None:
            trace.check_readable(layer)
        if resolve_branch(copy, layer, dead):
            continue
        if layer.type not in ("Input", "Output", "Constant"):
            _specialise_layer(copy, layer, evaluate, trace)
            pending.extendleft(reversed(resolve_deferred(copy, layer)))
    copy.remove_unused()
    return copy


def is_special(network: Network, shapes: Mapping[str, Shape | None]) -> bool:
    """Return whether specialising a network would change nothing.

    That is so where all shapes were known before it was rewritten. It is looked at layer by layer,
    as copying and inferring take longer than all passes.

    Args:
        network: Its shapes are inferred.
        shapes: The shape of each input.
    """
    return all(_is_special(layer, shapes) for layer in network.layers)


def _is_special(layer: Layer, shapes: Mapping[str, Shape | None]) -> bool:
    if layer.data is not None:
        return True
    if layer.type == "Input":
        info = layer.output.info
        return info.is_static and info.shape == shapes[layer.name]
    if layer.type in _UNSETTLED or not all(value.info.is_static for value in layer.outputs):
        return False
    if layer.type == "Reshape" and _stated_target(layer) is not layer.descriptor:
        return False
    if layer.inputs and all(value is None or value.constant is not None for value in layer.inputs):
        return False
    if layer.spec.has_filling:
        slots = map(layer.spec.input_slot, range(len(layer.inputs)))
        filled = zip(slots, layer.inputs, strict=True)
        if any(slot.fills is not None and value is not None for slot, value in filled):
            return False
    return layer.is_inferred or layer.infer_output_infos() == layer.output_infos


def _specialise_layer(
    network: Network, layer: Layer, evaluate: Evaluate, trace: Trace | None
) -> None:
    fill_descriptor(network, layer)
    update_outputs(layer)
    state_target_shape(layer)
    known = _known_outputs(layer, evaluate, trace)
    if known is None:
        return
    if len(known) == 1:  # as of nearly all
        made = np.asarray(known[0]) if trace is None else trace.noted_data(layer, known[0])
        _become_constant(network, layer, made)
        return
    for value, data in zip(layer.outputs, known, strict=True):
        if trace is not None:
            constant = trace.add_constant(network, value, data)
        else:
            name = network.unique_name(value.name)
            constant = network.add_constant(np.asarray(data), value.info, name=name)
        network.replace_uses(value, constant)


def _become_constant(network: Network, layer: Layer, data: NDArray[Any]) -> None:
    """Turn a layer of one output into a Constant layer.

    It keeps its name, its value and the readers of that: to put another layer in its place takes
    three times as long.
    """
    network.replace_inputs(layer, ())
    spec = LAYERS["Constant"]
    layer.spec, layer.type = spec, spec.name
    layer.descriptor = default_descriptor(spec.descriptor)
    layer.requested, layer.inferred = (layer.output.info,), None
    layer.backend_hint, layer.origin, layer.data = None, None, data
    for reader, _ in layer.output.uses:
        if reader.spec.reads_data:
            reader.inferred = None  # without these data


def _known_outputs(
    layer: Layer, evaluate: Evaluate, trace: Trace | None
) -> Sequence[Source] | None:
    if layer.type in _SHAPE_LAYERS:
        info = layer.input_infos[0]
        if info is None or not info.is_static or not layer.output.info.is_static:
            return None
        return [_SHAPE_LAYERS[layer.type](info.static_shape, layer.output.info)]
    for value in layer.inputs:
        if value is not None and value.producer.data is None:
            return None  # as of most layers
    if not layer.inputs or not all(info.is_static for info in layer.output_infos):
        return None
    return evaluate(layer) if trace is None else trace.known_outputs(layer, evaluate)


def _shape(shape: Sequence[int], info: TensorInfo) -> NDArray[Any]:
    return shape_array(shape, info.data_type.numpy_dtype)


def _rank(shape: Sequence[int], info: TensorInfo) -> NDArray[Any]:
    return np.array(len(shape), info.data_type.numpy_dtype)


_SHAPE_LAYERS = {"Shape": _shape, "Rank": _rank}
"""Layers whose output follows from the shape of their input alone."""

_UNSETTLED = frozenset({*_SHAPE_LAYERS, *CONTROL_FLOW, "StandIn"})
"""Layers that become others, or constants, when shapes and data are known."""


def state_target_shapes(network: Network) -> None:
    """State the target shape of each Reshape that is known."""
    for layer in network.layers:
        state_target_shape(layer)


def state_target_shape(layer: Layer) -> None:
    """Give Reshape the target shape instead of its rule.

    The rule is (-1, 0), for example.
    """
    if layer.type == "Reshape" and layer.output.info.is_static:
        was_inferred = layer.is_inferred
        layer.descriptor = _stated_target(layer)
        if was_inferred:
            layer.note_inference()


def _stated_target(layer: Layer) -> Descriptor:
    """Return a Reshape's descriptor, which states the shape."""
    known: Any = layer.descriptor
    shape = layer.output.info.static_shape
    if known.target_shape == shape and not known.zero_copies:
        return layer.descriptor
    stated: dict[str, Any] = {"target_shape": shape, "zero_copies": False}
    return replace(layer.descriptor, **stated)
