# SPDX-License-Identifier: MIT
"""The ONNX graph being written: nodes, constants and names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnx
import onnx.shape_inference
from onnx import helper

from armnn.errors import ArmnnError
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_parser_onnx.tensors import onnx_type_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Value

OPSET: Final = 20
"""The version of the default operator set that models are written for."""

IR_VERSION: Final = 10
"""The version of the file format; that of the opset's time."""

_SMALL = 64
"""How many elements a constant may have to count when shapes are checked."""

_LARGEST = 2**31 - 1
"""Protobuf takes no message that is longer."""


class NotExportableError(ArmnnError, ValueError):
    """A layer has no counterpart in ONNX."""


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
        self._nodes: list[onnx.NodeProto] = []
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
        node = helper.make_node(op_type, given, names, name=names[0], **attributes)
        self._nodes.append(node)
        return names

    def add_constant(self, layer: str, array: NDArray[Any]) -> str:
        """Add an initialiser and return its name."""
        name = self._new_name(f"{layer}/constant")
        self._constants[name] = array
        return name

    def model(
        self, name: str, inputs: Mapping[str, Value], outputs: Mapping[str, Value]
    ) -> onnx.ModelProto:
        """Return the model.

        Raises:
            NotExportableError: It is larger than a message of protobuf can be, or ONNX refuses it.
        """
        self.check(inputs, outputs)
        size = sum(array.nbytes for array in self._constants.values())
        if size > _LARGEST:
            raise NotExportableError(
                f"network {name!r} has {size} bytes of constants: expected at most {_LARGEST}, as "
                "an ONNX model in one piece cannot hold more."
            )
        return self._model(name, inputs, outputs, self._constants)

    def check(self, inputs: Mapping[str, Value], outputs: Mapping[str, Value]) -> None:
        """Let ONNX check types and shapes.

        It sees large constants as inputs.

        Raises:
            NotExportableError: An operator does not take what a layer does.
        """
        small = {name: array for name, array in self._constants.items() if array.size <= _SMALL}
        try:
            model = self._model("check", inputs, outputs, small)
            onnx.shape_inference.infer_shapes(
                model, check_type=True, strict_mode=True, data_prop=True
            )
        except onnx.shape_inference.InferenceError as error:
            raise NotExportableError(f"ONNX refuses it: {error}") from error

    def _model(
        self,
        name: str,
        inputs: Mapping[str, Value],
        outputs: Mapping[str, Value],
        constants: Mapping[str, NDArray[Any]],
    ) -> onnx.ModelProto:
        # The outputs' names are the caller's, and one value may be several outputs.
        identities = [
            helper.make_node("Identity", [self.name_of(value)], [output])
            for output, value in outputs.items()
        ]
        declared = [_declared(given, value.info) for given, value in inputs.items()]
        declared += [
            _declared(constant, _info_of(array))
            for constant, array in self._constants.items()
            if constant not in constants
        ]
        graph = helper.make_graph(
            [*self._nodes, *identities],
            name,
            declared,
            [_declared(output, value.info) for output, value in outputs.items()],
            [_tensor(constant, array) for constant, array in constants.items()],
        )
        return helper.make_model(
            graph,
            producer_name="armnn",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )

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


def _declared(name: str, info: TensorInfo) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx_type_of(info.data_type), info.static_shape)


def _info_of(array: NDArray[Any]) -> TensorInfo:
    return TensorInfo(array.shape, DataType.from_numpy(array.dtype))


def _tensor(name: str, array: NDArray[Any]) -> onnx.TensorProto:
    data_type = onnx_type_of(DataType.from_numpy(array.dtype))
    data = np.ascontiguousarray(array).tobytes()
    return helper.make_tensor(name, data_type, array.shape, data, raw=True)
