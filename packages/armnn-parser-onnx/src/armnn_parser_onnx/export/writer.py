# SPDX-License-Identifier: MIT
"""The ONNX graph being written: nodes, constants and names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.errors import NotExportableError, ParseError
from armnn.graph import Value
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_parser_onnx.export.type_check import check_types
from armnn_parser_onnx.tensors import onnx_type_of
from armnn_parser_onnx.wire.making import make_attribute, make_value_info
from armnn_parser_onnx.wire.messages import Graph, Model, Node, Opset, Tensor, ValueInfo

OPSET: Final = 20
"""The version of the default operator set that models are written for."""

IR_VERSION: Final = 10
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
        """Add an initialiser and return its name."""
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
            ir_version=IR_VERSION,
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
            check_types(self._nodes, types, OPSET)
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
