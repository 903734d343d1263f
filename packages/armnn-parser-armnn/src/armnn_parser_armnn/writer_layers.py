# SPDX-License-Identifier: MIT
"""Plans for writing layers, including those that are not written field by field."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Value
from armnn.layers import Descriptor, filled_descriptor, infer_outputs
from armnn.parsing.conversion import RefusedError
from armnn.tensor import TensorInfo, format_shape
from armnn.types import (
    ActivationFunction,
    BinaryOperation,
    DataType,
    ReduceOperation,
    ResizeMethod,
    UnaryOperation,
)
from armnn_parser_armnn.flat_writer import FlatRecord
from armnn_parser_armnn.parameters import (
    MEMBERS_OF,
    extra_parameters,
    parameter_record,
    used_members,
)
from armnn_parser_armnn.schema import INFERRED, LAYERS, NEWEST, TABLES, is_known_to
from armnn_parser_armnn.tensors import constant_record, info_fault


class Plan:
    """A layer on its way into a file.

    Attributes:
        layer: The layer.
        version: The Arm NN that has to read it.
        kind: Its type on the wire.
        values: Its parameters, by the names of the format's fields.
        inputs: The values that are connected with it.
        members: The constants that it keeps.
        scales: The quantization that an input's info gets in the file, by slot.
        extra_allowed: Its parameters that need no place in the format.
    """

    def __init__(self, layer: Layer, version: str) -> None:
        """Begin with the layer table's record.

        Raises:
            RefusedError: The format has no such layer, or an input has no place in it.
        """
        if layer.type not in LAYERS:
            raise RefusedError(f"the files of Arm NN {NEWEST} have no such layer")
        self.layer = layer
        self.version = version
        self.kind = layer.type
        self.descriptor = self._filled()
        fields = {field.name for field in dataclasses.fields(self.descriptor)}
        stored = TABLES.get(LAYERS[self.kind].parameters, {})
        self.values: dict[str, Any] = {
            name: getattr(self.descriptor, name) for name in stored if name in fields
        }
        slots = layer.spec.inputs
        self.inputs: list[Value] = [
            value
            for at, value in enumerate(layer.inputs)
            if value is not None and not slots[min(at, len(slots) - 1)].optional
        ]
        self.members: dict[str, FlatRecord] = {}
        self.scales: dict[int, TensorInfo | None] = {}
        self.extra_allowed: set[str] = set()

    def _filled(self) -> Descriptor:
        """Return the descriptor with the values of constant inputs."""
        layer = self.layer
        values = [None if value is None else value.constant for value in layer.inputs]
        for slot, value, data in zip(layer.spec.inputs, layer.inputs, values, strict=False):
            if slot.fills is not None and value is not None and data is None:
                raise RefusedError(f"its {slot.name} is computed, and Arm NN keeps it in the layer")
        return filled_descriptor(layer.spec, layer.descriptor, layer.input_infos, values)

    def finish(self) -> FlatRecord | None:
        """Return the table of the parameters.

        Raises:
            RefusedError: A parameter has no place in the format.
        """
        if not is_known_to(self.version, self.kind):
            raise RefusedError(f"Arm NN {self.version} reads no such layer")
        known = {*TABLES.get(LAYERS[self.kind].parameters, ()), *self.extra_allowed}
        if self.kind == self.layer.type:
            extra = extra_parameters(self.descriptor, known)
            if extra:
                raise RefusedError("; ".join(extra))
        return parameter_record(self.kind, self.values, self.version)

    def keep(self, name: str, value: Value, scales: TensorInfo | None = None) -> None:
        """Store an input as a constant of the layer.

        Raises:
            RefusedError: It is computed, or of a type that the format lacks.
        """
        data = self.constant(name, value)
        self.members[name] = constant_record(data, value.info, self.version, scales)

    def constant(self, name: str, value: Value) -> NDArray[Any]:
        """Return the data of a constant.

        Raises:
            RefusedError: It is computed, or of a type that the format lacks.
        """
        if value.constant is None:
            where = f"Arm NN {self.version} keeps them in the layer"
            raise RefusedError(f"its {name} are computed, and {where}")
        fault = info_fault(value.info, self.version)
        if fault:
            raise RefusedError(f"its {name} cannot be stored: {fault}")
        return value.constant

    def outputs_with(self, descriptor: Descriptor) -> tuple[TensorInfo, ...]:
        """Return the layer's outputs for other parameters."""
        layer = self.layer
        values = [None if value is None else value.constant for value in layer.inputs]
        requested = [None] * len(layer.outputs)
        return infer_outputs(layer.spec, descriptor, layer.input_infos, values, requested)

    def static_shape(self, value: Value) -> tuple[int, ...]:
        """Return a shape that the format has to hold.

        Raises:
            RefusedError: It is open.
        """
        if not value.info.is_static:
            raise RefusedError(
                f"the shape {format_shape(value.info.shape)} of {value.name!r} is open, and Arm NN "
                "stores it with the layer"
            )
        return value.info.static_shape

    def rank(self, value: Value) -> int:
        """Return the rank of a value.

        Raises:
            RefusedError: It is not known.
        """
        if value.info.rank is None:
            raise RefusedError(f"the rank of {value.name!r} is not known")
        return value.info.rank

    def axis(self, name: str, info: TensorInfo | None = None) -> int:
        """Return an axis counted from the front."""
        rank = self.rank(self.inputs[0]) if info is None else info.rank
        axis: int = self.values[name] if name in self.values else getattr(self.descriptor, name)
        return axis % rank if rank else 0


_OLDER_BINARY: Final = {
    BinaryOperation.ADD: "Addition",
    BinaryOperation.DIV: "Division",
    BinaryOperation.MAXIMUM: "Maximum",
    BinaryOperation.MINIMUM: "Minimum",
    BinaryOperation.MUL: "Multiplication",
    BinaryOperation.SUB: "Subtraction",
}
"""The layers of Arm NN 20.08 that are functions of ElementwiseBinary."""

_OLDER_UNARY: Final = {UnaryOperation.ABS: "Abs", UnaryOperation.RSQRT: "Rsqrt"}
"""The types for ElementwiseUnary, which Arm NN 20.08 writes and cannot read."""


def _activation(plan: Plan) -> None:
    if plan.values["function"] is ActivationFunction.SOFT_RELU:
        raise RefusedError("its function is SoftReLu, which Arm NN reads as Sigmoid")


def _weighted(plan: Plan) -> None:
    """Store weights and bias as inputs, for 20.08 as members."""
    weights, bias = plan.inputs[1], plan.layer.input("bias")
    plan.values["bias_enabled"] = bias is not None
    _check_groups(plan)
    if plan.kind == "FullyConnected":
        plan.values["constant_weights"] = weights.constant is not None
    if bias is not None:
        plan.inputs = [*plan.inputs[:2], bias]
        plan.scales[2] = bias_scales(plan.inputs[0].info, weights.info, bias.info)
    if plan.version == NEWEST and plan.kind != "TransposeConvolution2d":
        return
    if plan.kind == "DepthwiseConvolution2d":
        channels = plan.static_shape(plan.inputs[0])[plan.values["data_layout"].channel_axis]
        data = plan.constant("weights", weights)
        plan.members["weights"] = _older_depthwise(data, weights.info, channels, plan.version)
    else:
        plan.keep("weights", weights)
    if bias is not None:
        plan.keep("bias", bias, plan.scales.pop(2))
    plan.inputs = plan.inputs[:1]


def _older_depthwise(
    data: NDArray[Any], info: TensorInfo, channels: int, version: str
) -> FlatRecord:
    """Return weights of a depthwise convolution as older versions lay them out, [M,I,KH,KW].

    Args:
        data: The weights in the newer layout, [1,KH,KW,I*M].
        info: Their info.
        channels: The number of the input's channels, I.
        version: The Arm NN that has to read them.
    """
    _, height, width, outputs = data.shape
    shape = (outputs // channels, channels, height, width)
    moved = data.reshape(height, width, channels, -1).transpose(3, 2, 0, 1)
    scales = info
    if info.is_per_axis:
        scales = TensorInfo(None, info.data_type, info.scales, info.zero_points, 0)
    return constant_record(moved, TensorInfo(shape, info.data_type), version, scales)


def bias_scales(source: TensorInfo, weights: TensorInfo, bias: TensorInfo) -> TensorInfo | None:
    """Return the scales of Arm NN's integer bias.

    They are the products of those of input and weights, in 32 bits.
    """
    if bias.data_type is not DataType.SIGNED32 or not (source.scales and weights.scales):
        return None
    products = np.float32(source.scales[0]) * np.array(weights.scales, np.float32)
    scales = [float(scale) for scale in products]
    if weights.is_per_axis:
        return TensorInfo(None, DataType.QSYMM_S16, scales, [0] * len(scales), 0)
    return TensorInfo(None, DataType.QSYMM_S16, scales[0], 0)


def _check_groups(plan: Plan) -> None:
    """Check that a convolution reads all channels at once."""
    source, weights = plan.inputs[0].info.shape, plan.inputs[1].info.shape
    if plan.kind in ("FullyConnected", "DepthwiseConvolution2d") or not source or not weights:
        return
    channels = source[plan.values["data_layout"].channel_axis]
    axis = 3 if plan.kind == "Convolution3d" else plan.values["data_layout"].channel_axis
    if isinstance(channels, int) and weights[axis] != channels:
        raise RefusedError(
            f"its weights of shape {format_shape(weights)} read groups of the {channels} channels, "
            "which Arm NN has not"
        )


def _transposed(plan: Plan) -> None:
    descriptor: Any = plan.layer.descriptor
    if descriptor.output_shape_enabled:
        plain = dataclasses.replace(descriptor, output_shape_enabled=False, output_shape=())
        (made,) = plan.outputs_with(plain)
        if made.shape != descriptor.output_shape:
            raise RefusedError(
                f"its output_shape is {format_shape(descriptor.output_shape)}, and Arm NN, which "
                f"stores none, makes {format_shape(made.shape)}"
            )
    plan.extra_allowed |= {"output_shape", "output_shape_enabled"}
    _weighted(plan)


def _with_members(plan: Plan) -> None:
    count = 2 if plan.kind == "DetectionPostProcess" else 1
    for slot, value in zip(plan.layer.spec.inputs[count:], plan.inputs[count:], strict=True):
        plan.keep(slot.name, value)
    plan.inputs = plan.inputs[:count]


def _recurrent(plan: Plan) -> None:
    """Store the weights as members, with those Arm NN demands."""
    descriptor: Any = plan.layer.descriptor
    members: dict[str, FlatRecord | None] = {}
    for slot in plan.layer.spec.inputs[3:]:
        value = plan.layer.input(slot.name)
        if value is not None and slot.name in used_members(plan.kind, descriptor):
            data = plan.constant(slot.name, value)
            members[slot.name] = constant_record(data, value.info, plan.version)
    if plan.kind == "Lstm" and not descriptor.cifg_enabled and not descriptor.peephole_enabled:
        members["cell_to_input_weights"] = members["input_gate_bias"]  # read and not used
    if plan.kind != "QuantizedLstm" and descriptor.projection_enabled:
        members.setdefault("projection_bias", _no_bias(plan))
    plan.members["members"] = FlatRecord(MEMBERS_OF[plan.kind], members)
    plan.inputs = plan.inputs[:3]


def _no_bias(plan: Plan) -> FlatRecord:
    """Return a projection bias of zeros."""
    weights = plan.layer.input("projection_weights")
    if weights is None:
        raise RefusedError("it has no projection_weights")
    kind = DataType.SIGNED32 if weights.info.is_quantized else weights.info.data_type
    info = TensorInfo(weights.info.static_shape[:1], kind)
    return constant_record(np.zeros(info.static_shape, kind.numpy_dtype), info, plan.version)


def _constant(plan: Plan) -> None:
    (value,) = plan.layer.outputs
    data = plan.constant("data", value)
    plan.members["input"] = constant_record(data, value.info, plan.version)


def _concat(plan: Plan) -> None:
    axis = plan.axis("axis")
    shapes = [plan.static_shape(value) for value in plan.inputs]
    begins = itertools.accumulate((shape[axis] for shape in shapes), initial=0)
    places = [_moved(len(shape), axis, at) for shape, at in zip(shapes, begins, strict=False)]
    plan.extra_allowed |= {"axis"}
    plan.values = _origins(axis, places)


def _splitter(plan: Plan) -> None:
    axis, (source,) = plan.axis("axis"), plan.inputs
    descriptor: Any = plan.descriptor
    shape, sizes = plan.static_shape(source), descriptor.sizes
    begins = itertools.accumulate(sizes, initial=0)
    places = [_moved(len(shape), axis, at) for _, at in zip(sizes, begins, strict=False)]
    origins = _origins(axis, places)
    parts = [(*shape[:axis], size, *shape[axis + 1 :]) for size in sizes]
    plan.extra_allowed |= {"sizes"}
    plan.values = {
        "origins": FlatRecord("Origins", origins),
        "view_sizes": [FlatRecord("Numbers", {"data": part}) for part in parts],
    }


def _origins(axis: int, places: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    return {
        "concat_axis": axis,
        "num_views": len(places),
        "num_dimensions": len(places[0]) if places else 0,
        "view_origins": [FlatRecord("Numbers", {"data": place}) for place in places],
    }


def _moved(rank: int, axis: int, begin: int) -> tuple[int, ...]:
    return tuple(begin if other == axis else 0 for other in range(rank))


def _stack(plan: Plan) -> None:
    plan.values["axis"] = plan.axis("axis", plan.layer.output.info)
    plan.values["num_inputs"] = len(plan.inputs)
    plan.values["input_shape"] = plan.static_shape(plan.inputs[0])


def _reshape(plan: Plan) -> None:
    descriptor: Any = plan.descriptor
    plan.extra_allowed |= {"zero_copies"}
    target = descriptor.target_shape
    if plan.layer.output.info.is_static or -1 not in target or descriptor.zero_copies:
        target = plan.static_shape(plan.layer.output)
    plan.values["target_shape"] = tuple(INFERRED if size == -1 else size for size in target)


def _slice(plan: Plan) -> None:
    plan.values["size"] = plan.static_shape(plan.layer.output)


def _reduced(plan: Plan) -> None:
    rank = plan.rank(plan.inputs[0])
    plan.values["axis"] = tuple(axis % rank for axis in plan.values["axis"]) if rank else ()
    if plan.kind == "Reduce" and plan.version != NEWEST:
        if plan.values["reduce_operation"] is not ReduceOperation.MEAN:
            return
        plan.kind = "Mean"
        del plan.values["reduce_operation"]


def _normalized_axis(plan: Plan) -> None:
    plan.values["axis"] = plan.axis("axis")


def _softmax(plan: Plan) -> None:
    """Spell the last axis as -1, like Arm NN 20.08."""
    rank = plan.inputs[0].info.rank
    if rank is not None and plan.values["axis"] == rank - 1:
        plan.values["axis"] = -1


def _pad(plan: Plan) -> None:
    """Store padding like Arm NN: if quantized, a stored value."""
    info = plan.inputs[0].info
    if not plan.values["pad_list"]:
        raise RefusedError("its pad_list is empty, which Arm NN cannot read")
    if not info.is_quantized:
        return
    if info.is_per_axis or not info.scales:
        raise RefusedError(f"it pads {info}, which has no single pad value")
    limits = np.iinfo(info.data_type.numpy_dtype)
    stored = round(plan.values["pad_value"] / info.scale) + info.zero_point
    plan.values["pad_value"] = float(min(max(stored, limits.min), limits.max))


def _resize(plan: Plan) -> None:
    """Leave out parameters that the method does not look at."""
    plan.extra_allowed |= {"cubic_coefficient", "exclude_outside"}
    if plan.values["method"] is ResizeMethod.BILINEAR:
        plan.extra_allowed |= {"rounding"}


def _unary(plan: Plan) -> None:
    older = _OLDER_UNARY.get(plan.values["operation"])
    if plan.version != NEWEST and older is not None:
        plan.kind = older
        del plan.values["operation"]


def _same_rank(plan: Plan) -> None:
    """Refuse other ranks for 20.08, which ends the process then."""
    ranks = [plan.rank(value) for value in plan.inputs]
    if plan.version != NEWEST and len(set(ranks)) > 1:
        raise RefusedError(
            f"its inputs have the ranks {ranks[0]} and {ranks[1]}: Arm NN {plan.version} "
            "broadcasts equal ranks only; add a Reshape"
        )


def _binary(plan: Plan) -> None:
    _same_rank(plan)
    if plan.version != NEWEST and plan.values["operation"] in _OLDER_BINARY:
        plan.kind = _OLDER_BINARY[plan.values.pop("operation")]


def _stand_in(plan: Plan) -> None:
    if plan.layer.why_no_file:
        raise RefusedError(plan.layer.why_no_file)
    plan.extra_allowed |= {"num_outputs"}
    plan.values = {"num_inputs": len(plan.inputs), "num_outputs": len(plan.layer.outputs)}


PLANNERS: Final[dict[str, Callable[[Plan], None]]] = {
    "Activation": _activation,
    "BatchNormalization": _with_members,
    "ChannelShuffle": _normalized_axis,
    "Concat": _concat,
    "Constant": _constant,
    "Convolution2d": _weighted,
    "Convolution3d": _weighted,
    "DepthwiseConvolution2d": _weighted,
    "DetectionPostProcess": _with_members,
    "ElementwiseBinary": _binary,
    "FullyConnected": _weighted,
    "ElementwiseUnary": _unary,
    "Gather": _normalized_axis,
    "Mean": _reduced,
    "Pad": _pad,
    "Reduce": _reduced,
    "Reshape": _reshape,
    "Resize": _resize,
    "Slice": _slice,
    "Softmax": _softmax,
    "Splitter": _splitter,
    "Stack": _stack,
    "StandIn": _stand_in,
    "TransposeConvolution2d": _transposed,
    **dict.fromkeys(MEMBERS_OF, _recurrent),
    **dict.fromkeys((*_OLDER_BINARY.values(), "Comparison", "Prelu"), _same_rank),
}
"""The functions that change the plan of a layer before it is written."""
