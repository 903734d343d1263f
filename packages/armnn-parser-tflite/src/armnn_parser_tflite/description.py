# SPDX-License-Identifier: MIT
"""A file's tensors, signatures and variables, and the file resized.

For programs that need more of a model than the network that ``armnn.parse`` makes of it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

from armnn_parser_tflite._bindings import BuiltinOperator
from armnn_parser_tflite.model_file import read_model
from armnn_parser_tflite.schema import (
    OperatorRecord,
    Quantization,
    Signature,
    Subgraph,
    Tensor,
    read_signatures,
    read_subgraph,
)
from armnn_parser_tflite.tensors import Buffers

_MAIN = 0


class Description:
    """A file that the parser has accepted.

    Attributes:
        content: Its bytes.
        main: The main subgraph: its tensors, inputs and outputs.
        signatures: Its signatures, in the order of the file.
        subgraphs: How many subgraphs there are.
    """

    def __init__(self, content: bytes) -> None:
        self._model = read_model(content)
        self._model.file.trust()
        self._buffers = Buffers(self._model)
        self.content = content
        self.main: Subgraph = read_subgraph(self._model, _MAIN)
        self.signatures: tuple[Signature, ...] = tuple(read_signatures(self._model))
        self.subgraphs = len(self._model.root.tables("Subgraphs"))

    def data(self, tensor: Tensor) -> memoryview | None:
        """Return a tensor's bytes in the file, None without any."""
        return self._buffers.data(tensor.buffer)

    def first_values(self) -> dict[str, Tensor]:
        """Return the tensors that variables start with, by variable name."""
        values: dict[str, Tensor] = {}
        for once in _operators(self.main, BuiltinOperator.CALL_ONCE):
            options = once.table.union("BuiltinOptions", "CallOnceOptions")
            index = 0 if options is None else options.integer("InitSubgraphIndex")
            subgraph = read_subgraph(self._model, index)
            handles: dict[int, str] = {}
            for handle in _operators(subgraph, BuiltinOperator.VAR_HANDLE):
                named = handle.table.union("BuiltinOptions", "VarHandleOptions")
                name = "" if named is None else named.text("SharedName")
                handles.update(dict.fromkeys(handle.outputs, name))
            for assignment in _operators(subgraph, BuiltinOperator.ASSIGN_VARIABLE):
                variable, value = assignment.inputs[:2]
                values[handles.get(variable, "")] = subgraph.tensors[value]
        return values

    def resized(self, shapes: Mapping[int, Sequence[int]]) -> bytes:
        """Return the file with other dimensions of main tensors.

        Args:
            shapes: By the index of the tensor; each has as many dimensions as the tensor.
        """
        content = bytearray(self.content)
        tensors = self._model.root.tables("Subgraphs")[_MAIN].tables("Tensors")
        for index, shape in shapes.items():
            for field in ("Shape", "ShapeSignature"):
                start, count = tensors[index].vector_place(field)
                if count:
                    struct.pack_into(f"<{count}i", content, start, *shape)
        return bytes(content)


def _operators(subgraph: Subgraph, code: int) -> Iterator[OperatorRecord]:
    return (record for record in subgraph.operators if record.code.builtin == code)


__all__ = ["Description", "Quantization", "Signature", "Subgraph", "Tensor"]
