# SPDX-License-Identifier: MIT
"""One operator while it is converted: its inputs, options and tensors."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from armnn.graph import Value
from armnn.parsing.conversion import Operation as ConvertedOperation
from armnn.parsing.flatbuffers import FlatFile, FlatTable
from armnn.tensor import Shape, TensorInfo
from armnn_parser_tflite._bindings import BuiltinOperator, BuiltinOptions
from armnn_parser_tflite.graph import Graph
from armnn_parser_tflite.schema import ABSENT, NEWER_OPTIONS, OPTIONS, OperatorRecord, builtin_name
from armnn_parser_tflite.tensors import is_complex, is_half, unshaped_info_of


class Operation(ConvertedOperation):
    """An operator with its values.

    Attributes:
        record: Its record in the file.
        type: The name of the builtin operator, or that of a custom one.
        graph: The values by tensor.
        network: The network that the converter adds layers to.
    """

    def __init__(self, record: OperatorRecord, graph: Graph, file: FlatFile) -> None:
        self.record = record
        self.type = operator_type(record)
        self.graph = graph
        self.network = graph.network
        self._file = file

    def __str__(self) -> str:
        return f"{self.type} (operator {self.record.number})"

    # -- parameters ------------------------------------------------------------------------------

    def options(self, kind: str) -> FlatTable:
        """Return the parameters, by default those of the schema.

        Args:
            kind: Their table in the schema, ``Conv2DOptions`` for one.

        Raises:
            ParseError: The operator has those of another kind.
        """
        field, kinds = "BuiltinOptions", OPTIONS
        if kind in NEWER_OPTIONS.values():
            field, kinds = "BuiltinOptions2", NEWER_OPTIONS
        number = self.record.table.integer(f"{field}Type")
        found = kinds.get(number, f"options {number}")
        table = self.record.table.union(field, kind)
        if table is None or number == BuiltinOptions.NONE:
            return FlatTable.empty(kind, self._file)
        if found != kind:
            raise self.error(f"it has {found}: expected {kind}")
        return table

    def custom_options(self) -> bytes:
        """Return the parameters of a custom operator.

        Raises:
            ParseError: They are outside of the file.
        """
        table = self.record.table
        offset, size = (table.integer(f"LargeCustomOptions{part}") for part in ("Offset", "Size"))
        if offset > 1 and size:
            if offset + size > len(self._file.data):
                raise self.error("its options lie outside of the file")
            return self._file.data[offset : offset + size]
        return table.array("CustomOptions").tobytes()

    # -- inputs ----------------------------------------------------------------------------------

    def count(self) -> int:
        """Return how many inputs are listed, absent ones among them."""
        return len(self.record.inputs)

    def has_input(self, index: int) -> bool:
        """Return whether an optional input is present."""
        return index < self.count() and self.record.inputs[index] != ABSENT

    def input(self, index: int = 0) -> Value:
        """Return an input.

        Raises:
            ParseError: It is absent.
        """
        if not self.has_input(index):
            raise self.error(f"its input {index} is missing")
        return self.graph.value(self.record.inputs[index])

    def constant(self, index: int) -> NDArray[Any] | None:
        """Return an input's data without a layer, None if computed.

        Raises:
            ParseError: It is absent.
        """
        if not self.has_input(index):
            raise self.error(f"its input {index} is missing")
        return self.graph.constant(self.record.inputs[index])

    def input_name(self, index: int) -> str:
        """Return how messages name an input: by its number."""
        return str(index)

    def values(self) -> list[Value]:
        """Return all inputs of a variadic operator.

        Raises:
            ParseError: There is no such input, or one is absent.
        """
        if not self.count():
            raise self.error("it has no input")
        return [self.input(index) for index in range(self.count())]

    def integers(self, index: int) -> Value:
        """Return an input that holds axes, sizes or positions.

        Raises:
            ParseError: It is absent, or its elements are not integers.
        """
        value = self.input(index)
        if not value.info.data_type.is_integer:
            raise self.error(
                f"its input {index} is {value.info.data_type.arm_name}: expected integers"
            )
        return value

    def known_integers(self, index: int) -> tuple[int, ...]:
        """Return the data of a constant list of integers.

        Raises:
            NotKnownYetError: It is computed.
            ParseError: Its elements are not integers.
        """
        numbers = self.known(index)
        if numbers.dtype.kind not in "iu":
            raise self.error(f"its input {index} is {numbers.dtype}: expected integers")
        return tuple(int(number) for number in numbers.reshape(-1))

    def known_integer(self, index: int) -> int:
        """Return the only number of a constant.

        Raises:
            NotKnownYetError: It is computed.
            ParseError: It has another number of elements.
        """
        numbers = self.known_integers(index)
        if len(numbers) != 1:
            raise self.error(f"its input {index} has {len(numbers)} elements: expected one")
        return numbers[0]

    def is_complex(self, index: int = 0) -> bool:
        """Return whether an input is complex.

        Its value has one more axis then.
        """
        return self.has_input(index) and is_complex(self.graph.tensor(self.record.inputs[index]))

    def is_half(self, index: int) -> bool:
        """Return whether an input is in Float16."""
        return self.has_input(index) and is_half(self.graph.tensor(self.record.inputs[index]))

    def makes_complex(self) -> bool:
        """Return whether the first output is complex."""
        outputs = self.record.outputs
        return bool(outputs) and is_complex(self.graph.tensor(outputs[0]))

    def image_shape(self, index: int, rank: int) -> Shape:
        """Return an image's shape, completed by the file's.

        The file's counts where the shape depends on others.

        Raises:
            ParseError: It is of another rank.
            NotKnownYetError: Not even its rank is known.
        """
        shape = self.shape(index)
        if len(shape) != rank:
            raise self.error(f"its input {index} has rank {len(shape)}: expected {rank}")
        tensor = self.graph.tensor(self.record.inputs[index])
        declared = tensor.signature or tensor.shape
        if len(declared) != rank:
            return shape
        return tuple(
            ours if isinstance(ours, int) or theirs < 1 else theirs
            for ours, theirs in zip(shape, declared, strict=True)
        )

    # -- outputs ---------------------------------------------------------------------------------

    def info(self, index: int = 0) -> TensorInfo:
        """Return an output's type and quantization.

        Its shape is left to the layer.

        Raises:
            ParseError: There is no such output, or networks have no such tensor.
        """
        if index >= len(self.record.outputs):
            raise self.error(f"its output {index} is missing")
        tensor = self.graph.tensor(self.record.outputs[index])
        return unshaped_info_of(tensor)

    def layer_name(self, part: str = "") -> str:
        """Return a free layer name; ``part`` marks helpers.

        The base is the name of the first output.
        """
        outputs = self.record.outputs
        name = self.graph.tensor(outputs[0]).name if outputs else ""
        stem = name or f"{self.type}_{self.record.number}"
        return self.graph.unique_name(f"{stem}/{part}" if part else stem)


def operator_type(record: OperatorRecord) -> str:
    """Return an operator's name, a custom one's own."""
    if record.code.builtin == BuiltinOperator.CUSTOM:
        return record.code.custom or "CUSTOM"
    return builtin_name(record.code.builtin)
