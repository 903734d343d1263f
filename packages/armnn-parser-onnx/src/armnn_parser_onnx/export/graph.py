# SPDX-License-Identifier: MIT
"""The ONNX graph being written: nodes, constants and names, and the layer whose turn it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.errors import NotExportableError, ParseError
from armnn.graph import Layer, Value
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType
from armnn_parser_onnx.element_types import check_input_types, inferred_types
from armnn_parser_onnx.messages import (
    Graph,
    Model,
    Node,
    Opset,
    Tensor,
    ValueInfo,
    make_attribute,
    make_value_info,
)
from armnn_parser_onnx.operation import CheckedNode
from armnn_parser_onnx.schemas import standard_schema
from armnn_parser_onnx.tensors import onnx_type_of


def _check_types(nodes: Iterable[Node], types: dict[str, DataType], opset: int) -> None:
    """Check nodes of ONNX's own operators against their schemas.

    Args:
        nodes: In topological order.
        types: The types of the values that they read; those that they make are added.
        opset: The version of the operators.

    Raises:
        ParseError: A node does not fit its operator's schema.
    """
    for node in nodes:
        schema = standard_schema(node.op_type, opset)
        if schema is None:
            raise LookupError(f"ONNX has no operator {node.op_type!r} at opset {opset}")
        check_input_types(CheckedNode(node, schema), types)
        made = zip(node.output, inferred_types(node, schema, types), strict=True)
        types |= {name: data_type for name, data_type in made if data_type is not None}


OPSET: Final = 20
"""The version of the default operator set that models are written for."""

_IR_VERSION: Final = 10
"""The version of the file format; that of the opset's time."""

_LARGEST = 2**31 - 1
"""Protobuf takes no message that is longer."""


class GraphWriter:
    """The nodes and constants of a graph being written.

    Attributes:
        names: The name of each value that has one so far.
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        """Begin a graph.

        Args:
            reserved: Names that its new values must not have.
        """
        self.names: dict[Value, str] = {}
        self._nodes: list[Node] = []
        self._constants: dict[str, NDArray[Any]] = {}
        self._reserved = frozenset(reserved)
        self._count = 0

    def add_node(
        self,
        layer: str,
        op_type: str,
        inputs: Sequence[str],
        outputs: int,
        attributes: Mapping[str, Any],
    ) -> tuple[str, ...]:
        """Add a node and return its new outputs' names.

        Trailing absent inputs are dropped.
        """
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        names = tuple(self._new_name(f"{layer}/{op_type}") for _ in range(outputs))
        made = [make_attribute(key, value) for key, value in sorted(attributes.items())]
        self._nodes.append(
            Node(op_type=op_type, input=given, output=names, name=names[0], attribute=made)
        )
        return names

    def add_constant(self, layer: str, array: NDArray[Any]) -> str:
        """Add an initializer and return its name."""
        name = self._new_name(f"{layer}/constant")
        self._constants[name] = array
        return name

    def model(self, name: str, inputs: Mapping[str, Value], outputs: Mapping[str, Value]) -> Model:
        """Return the model.

        Raises:
            NotExportableError: It is larger than a message of protobuf can be, or an operator does
                not take what a layer does.
        """
        self.check(inputs)
        size = sum(array.nbytes for array in self._constants.values())
        if size > _LARGEST:
            raise NotExportableError(
                f"network {name!r} has {size} bytes of constants: expected at most {_LARGEST}, as "
                "an ONNX model in one piece cannot hold more."
            )
        # The outputs' names are the caller's, and one value may be several outputs.
        identities = [
            Node(op_type="Identity", input=[self.name_of(value)], output=[output])
            for output, value in outputs.items()
        ]
        graph = Graph(
            node=[*self._nodes, *identities],
            name=name,
            initializer=[_tensor(constant, array) for constant, array in self._constants.items()],
            input=[_declared(given, value.info) for given, value in inputs.items()],
            output=[_declared(output, value.info) for output, value in outputs.items()],
        )
        return Model(
            ir_version=_IR_VERSION,
            producer_name="armnn",
            graph=graph,
            opset_import=[Opset(version=OPSET)],
        )

    def check(self, inputs: Mapping[str, Value]) -> None:
        """Check that the operators take the types of their inputs.

        Raises:
            NotExportableError: One does not.
        """
        types = {name: value.info.data_type for name, value in inputs.items()}
        types |= {name: DataType.from_numpy(data.dtype) for name, data in self._constants.items()}
        try:
            _check_types(self._nodes, types, OPSET)
        except ParseError as error:
            raise NotExportableError(f"ONNX refuses it: {error}") from error

    def name_of(self, value: Value) -> str:
        """Return a value's name, made if it has none."""
        if value not in self.names:
            if value.constant is not None:
                self._constants[value.name] = value.constant
            self.names[value] = value.name
        return self.names[value]

    def _new_name(self, stem: str) -> str:
        while True:
            self._count += 1
            name = f"{stem}.{self._count}"
            if name not in self._reserved:
                return name


def _declared(name: str, info: TensorInfo) -> ValueInfo:
    return make_value_info(name, onnx_type_of(info.data_type), info.static_shape)


def _tensor(name: str, array: NDArray[Any]) -> Tensor:
    return Tensor(
        name=name,
        dims=list(array.shape),
        data_type=onnx_type_of(DataType.from_numpy(array.dtype)),
        raw_data=np.ascontiguousarray(array).tobytes(),
    )


Exporter: TypeAlias = "Callable[[Operation], str | Sequence[str]]"
"""Writes the nodes of one layer and returns the name of each of its outputs."""

EXPORTERS: dict[str, Exporter] = {}
"""By layer type."""


def exports(*layer_types: str) -> Callable[[Exporter], Exporter]:
    """Register a function that writes layers of these types."""

    def register(exporter: Exporter) -> Exporter:
        for layer_type in layer_types:
            EXPORTERS[layer_type] = exporter
        return exporter

    return register


class Operation:
    """One layer on its way into an ONNX graph.

    Attributes:
        layer: The layer; its shapes are known in full.
        d: Its descriptor.
    """

    def __init__(self, writer: GraphWriter, layer: Layer, inputs: Sequence[str]) -> None:
        self.layer = layer
        self.d: Any = layer.descriptor
        self.inputs = tuple(inputs)
        self._writer = writer

    @property
    def x(self) -> str:
        """The name of the first input."""
        return self.inputs[0]

    @property
    def info(self) -> TensorInfo:
        """The first input."""
        return self._info(0)

    def input(self, name: str) -> str:
        """Return the name in an input slot, "" if empty."""
        index = self.layer.spec.input_index(name)
        return self.inputs[index] if index < len(self.inputs) else ""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of the value in an input slot."""
        return self._info(self.layer.spec.input_index(name)).static_shape

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of the first output."""
        return self.layer.outputs[0].info.static_shape

    def emit(self, op_type: str, *inputs: str, **attributes: object) -> str:
        """Add a node and return the name of its output.

        Absent inputs are "", and attributes that are None are left out.
        """
        (name,) = self.emit_several(1, op_type, *inputs, **attributes)
        return name

    def emit_several(
        self, count: int, op_type: str, *inputs: str, **attributes: object
    ) -> tuple[str, ...]:
        """Add a node with ``count`` outputs and return their names."""
        given = {name: value for name, value in attributes.items() if value is not None}
        for name, value in given.items():
            if isinstance(value, float) and self._is_rounded(value):
                self.refuse(f"its {name} is {value!r}, which ONNX rounds to a Float32")
        return self._writer.add_node(self.layer.name, op_type, inputs, count, given)

    def constant(self, values: ArrayLike, dtype: Any = None) -> str:
        """Add a constant and return its name.

        Its type is that of the first input by default.
        """
        array = np.asarray(values, self.info.data_type.numpy_dtype if dtype is None else dtype)
        return self._writer.add_constant(self.layer.name, array)

    def integers(self, values: ArrayLike) -> str:
        """Add a constant of 64-bit integers and return its name."""
        return self.constant(values, np.int64)

    def data(self, name: str) -> NDArray[Any]:
        """Return the data of an input that must be constant."""
        array = self.layer.constant(name)
        if array is None:
            self.refuse(f"its input {name!r} is computed, expected a constant")
        return array

    def cast(self, name: str, data_type: DataType) -> str:
        """Return the value as another type."""
        return self.emit("Cast", name, to=onnx_type_of(data_type))

    def reshape(self, name: str, shape: Sequence[int]) -> str:
        """Return the value reshaped; 0 is a size here."""
        return self.emit("Reshape", name, self.integers(shape), allowzero=1)

    def channels_first(self, name: str, layout: DataLayout) -> str:
        """Return the value with its channels in axis 1."""
        rank = len(layout.name)
        if layout.channel_axis == 1:
            return name
        return self.emit("Transpose", name, perm=[0, rank - 1, *range(1, rank - 1)])

    def laid_out(self, name: str, layout: DataLayout) -> str:
        """Return a value in a layout, undoing :meth:`channels_first`."""
        rank = len(layout.name)
        if layout.channel_axis == 1:
            return name
        return self.emit("Transpose", name, perm=[0, *range(2, rank), 1])

    def refuse(self, reason: str) -> NoReturn:
        """Raise the error that the layer cannot be exported."""
        raise NotExportableError(
            f"layer {self.layer.name!r} ({self.layer.type}) cannot be exported to ONNX: {reason}."
        )

    def _is_rounded(self, attribute: float) -> bool:
        """Return whether ONNX rounds an attribute of a Float64 layer."""
        first = next((value for value in self.layer.inputs if value is not None), None)
        is_double = first is not None and first.info.data_type is DataType.FLOAT64
        return is_double and float(np.float32(attribute)) != attribute

    def _info(self, index: int) -> TensorInfo:
        value = self.layer.inputs[index]
        if value is None:
            self.refuse(f"its input {index} is absent")
        return value.info
