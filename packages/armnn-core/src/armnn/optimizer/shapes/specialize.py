# SPDX-License-Identifier: MIT
"""A network for one set of input shapes.

Shapes are inferred, and shape arithmetic is computed away. Branches whose condition is known are
resolved: a Switch passes its input to one of two branches, a Merge passes on the output of the
branch that was taken (TensorFlow: Switch and Merge), and both are removed with the other branch.
Deferred operators become layers. Equal constants are shared with the other specializations.
"""

from __future__ import annotations

import threading
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from armnn._symbolic import is_symbolic
from armnn.backends.memory import address_of
from armnn.errors import GraphError, ParseError, ShapeError
from armnn.graph import DeferredOperator, Layer, Network, Value
from armnn.graph.layer import default_descriptor
from armnn.layers import LAYERS, Descriptor, filled_descriptor
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.symbolic.arithmetic import shape_array
from armnn.optimizer.symbolic.trace import Source, Trace
from armnn.tensor import Shape, TensorInfo, format_shape


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
                    f"the output of layer {layer.name!r} ({layer.type}) is {value.info}: "
                    "shape_inference_method='ValidateOnly' expects shapes that are known in full; "
                    "give the model fixed input shapes, or use 'InferAndValidate'"
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
        if not _is_same(info, value.info):  # else later layers would be inferred again, too
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


CONTROL_FLOW = ("Switch", "Merge")
"""Layers that no backend computes; they wait until their condition is known."""


def _resolve_branch(network: Network, layer: Layer, dead: dict[Value, None]) -> bool:
    """Resolve a branching layer, or one on an untaken branch.

    Args:
        network: Is changed: readers of what is taken read the value itself.
        layer: Its producers have been resolved.
        dead: Values on branches that are not taken; what the layer makes is added if it is dead.

    Returns:
        Whether the layer needs nothing more.

    Raises:
        GraphError: An output of the network is on a branch that is not taken.
    """
    if not dead and layer.type not in CONTROL_FLOW:
        return False  # as nearly all
    alive = [value for value in layer.inputs if value is not None and value not in dead]
    is_dead = len(alive) < sum(value is not None for value in layer.inputs)
    if layer.type == "Merge" and is_dead and alive:
        network.replace_uses(layer.output, alive[0])
        return True
    if is_dead:
        if layer.type == "Output":
            raise GraphError(
                f"the output {layer.name!r} is on a branch that is not taken: join the branches "
                "with a Merge layer"
            )
        dead.update(dict.fromkeys(layer.outputs))
        return True
    condition = layer.constant("condition") if layer.type == "Switch" else None
    if condition is None:
        return False
    not_taken, taken = layer.outputs if condition.reshape(()) else reversed(layer.outputs)
    network.replace_uses(taken, alive[0])
    dead[not_taken] = None
    return True


def deferred_operator(layer: Layer) -> DeferredOperator | None:
    """Return a StandIn layer's operator, None for other layers."""
    held = layer.compiled  # None of nearly all, and to ask an abstract class takes long
    return held if held is not None and isinstance(held, DeferredOperator) else None


def awaited_values(layer: Layer) -> tuple[Value, ...]:
    """Return the inputs whose data a deferred operator still awaits."""
    operator = deferred_operator(layer)
    if operator is None:
        return ()
    awaited = (layer.inputs[index] for index in operator.awaits)
    return tuple(value for value in awaited if value is not None and value.constant is None)


def _resolve_deferred(network: Network, layer: Layer) -> tuple[Layer, ...]:
    """Replace a deferred operator by layers, if possible.

    Args:
        network: Is changed.
        layer: Any layer.

    Returns:
        The layers that are new, in topological order; none if the operator still waits.

    Raises:
        ParseError: The operator cannot be computed with these shapes and values, or became values
            that are stored in another way than declared.
    """
    operator = deferred_operator(layer)
    if operator is None:
        return ()
    inputs = [value for value in layer.inputs if value is not None]
    if awaited_values(layer) or not all(value.info.is_static for value in inputs):
        return ()
    before = len(network)
    # The layers that come have the names of those that the caller may choose backends for.
    network.rename(layer, network.unique_name(f"{layer.name} (resolved)"))
    values = operator.resolve(network, inputs)
    for old, new in zip(layer.outputs, values, strict=True):
        if old.info.data_type.numpy_dtype != new.info.data_type.numpy_dtype:
            raise ParseError(
                f"the output {old.name!r} of the operator {operator.operator} is "
                f"{new.info.data_type.arm_name}: the model says {old.info.data_type.arm_name}"
            )
        network.replace_uses(old, new)
    return network.layers[before:]


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


def specialize(
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
        if _resolve_branch(copy, layer, dead):
            continue
        if layer.type not in ("Input", "Output", "Constant"):
            _specialize_layer(copy, layer, evaluate, trace)
            pending.extendleft(reversed(_resolve_deferred(copy, layer)))
    copy.remove_unused()
    return copy


def is_special(network: Network, shapes: Mapping[str, Shape | None]) -> bool:
    """Return whether specializing a network would change nothing.

    It changes nothing where all shapes were known before the network was rewritten. The layers are
    compared one by one, as copying and inferring would take longer than all passes.

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


def _specialize_layer(
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


SMALLEST_SHARED = 1024
"""Bytes of a constant from which on it is worth to be looked for."""


class SharedConstants:
    """The constants of a network's specializations, while one holds them.

    Weights that the network itself holds are shared as they are, and views of them, such as of
    another shape, by place: their content may be in a file. What is made of them for a
    specialization (another layout, a batch normalization folded in) is compared by content.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()
        self._owners: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()
        self._known: WeakValueDictionary[object, NDArray[Any]] = WeakValueDictionary()

    def add(self, network: Network) -> None:
        """Register a network's constants, without comparing them."""
        for layer in network.layers:
            if layer.data is not None:
                self._shared[id(layer.data)] = layer.data
                owner = _owner_of(layer.data)
                self._owners[id(owner)] = owner

    def share(self, network: Network) -> None:
        """Replace a network's constants by equal, registered arrays."""
        for layer in network.layers:
            data = layer.data
            if data is not None and data.nbytes >= SMALLEST_SHARED:
                layer.data = self._shared_of(data)

    def _shared_of(self, data: NDArray[Any]) -> NDArray[Any]:
        if self._shared.get(id(data)) is data:
            return data
        form = (data.dtype.str, data.dtype.name, data.shape)
        owner = _owner_of(data)
        if self._owners.get(id(owner)) is owner:
            with self._lock:
                known = self._known.setdefault((*form, data.strides, address_of(data)), data)
                self._shared[id(known)] = known
            return known
        content = _bytes_of(data)
        key = (*form, zlib.crc32(content.data))
        with self._lock:
            known = self._known.setdefault(key, data)
            if known is not data and not np.array_equal(_bytes_of(known), content):
                known = data  # another one has the same checksum
            self._shared[id(known)] = known
        return known


def _owner_of(data: NDArray[Any]) -> NDArray[Any]:
    """Return the array whose memory a view is of."""
    return data.base if isinstance(data.base, np.ndarray) else data


def _bytes_of(data: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
