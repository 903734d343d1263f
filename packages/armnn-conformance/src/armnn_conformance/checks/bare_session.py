# SPDX-License-Identifier: MIT
"""One life of a native backend with altered arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from armnn.backends.native import NativeGraph, tensor_of
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena, new_error, struct
from armnn_conformance.running import NonconformityError, layer_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends.native import NativeLibrary
    from armnn_conformance.cases import LayerCase

Outcome: TypeAlias = tuple[list[int], "list[NDArray[Any]] | None"]
"""The levels of the nodes, and what was computed."""


class BareSession:
    """One life of a backend, for one layer.

    Attributes:
        library: The backend's.
        arena: What the bent structs live in.
        host: The ``armnn_host`` that create gets.
        graph: Keeps the arrays of the graph.
        struct: The ``armnn_graph``.
        support_stride: Bytes from one answer of query to the next.
    """

    def __init__(self, library: NativeLibrary, case: LayerCase) -> None:
        self.library = library
        self.arena = Arena()
        self.host: Any = library.host.table
        self.layer = layer_of(case)
        self.graph = NativeGraph.of_layer(self.layer, library.api_version)
        self.struct = self.graph.struct
        self.support_stride = ctypes.sizeof(abi.Support)
        operands = [None if v is None else case.inputs[i] for i, v in enumerate(self.layer.inputs)]
        positions = [self.layer.inputs.index(value) for value in self.graph.inputs]
        chosen = [operands[at] for at in positions]
        self.inputs = [np.ascontiguousarray(each.stored) for each in chosen if each is not None]

    def play(self) -> Outcome:
        """Create, query, compile and execute; return levels and results."""
        backend = ctypes.c_void_p()
        if self._call("create", self.host, None, 0, ctypes.byref(backend)) != abi.OK:
            return [], None
        try:
            levels = self._query(backend)
            outputs = self._run(backend) if levels and all(levels) else None
        finally:
            self.library.required("destroy")(backend)
        return levels, outputs

    def _call(self, name: str, *args: Any) -> int:
        error = new_error()
        code: int = self.library.required(name)(*args, error)
        if code != abi.OK and bool(error.release):
            error.release(error)
        return code

    def _query(self, backend: ctypes.c_void_p) -> list[int]:
        count = self.struct.num_nodes
        rows = self.arena.array(ctypes.c_ubyte, self.support_stride * max(count, 1))
        start = ctypes.addressof(rows)
        supports = [
            abi.Support.from_address(start + index * self.support_stride) for index in range(count)
        ]
        for index, row in enumerate(supports):
            row.header = abi.Header(ctypes.sizeof(abi.Support), abi.STRUCT_IDS[abi.Support], None)
            row.node_id = index
        first = ctypes.cast(start, ctypes.POINTER(abi.Support))
        code = self._call("query", backend, None, self.struct, first, self.support_stride)
        if code != abi.OK:
            return []
        for row in supports:
            if row.level == abi.NOT_SUPPORTED and not row.reason.size:
                raise NonconformityError("the refusal has no reason")
        return [row.level for row in supports]

    def _run(self, backend: ctypes.c_void_p) -> list[NDArray[Any]] | None:
        program, context = ctypes.c_void_p(), ctypes.c_void_p()
        how = struct(abi.CompileArgs)
        code = self._call("compile", backend, None, self.struct, how, ctypes.byref(program))
        if code != abi.OK:
            return None
        try:
            if self._call("context_create", program, ctypes.byref(context)) != abi.OK:
                return None
            try:
                return self._execute(context)
            finally:
                self.library.required("context_destroy")(context)
        finally:
            self.library.required("program_destroy")(program)

    def _execute(self, context: ctypes.c_void_p) -> list[NDArray[Any]] | None:
        infos = self.layer.output_infos
        outputs = [np.empty(info.static_shape, info.data_type.numpy_dtype) for info in infos]
        args = struct(abi.ExecuteArgs)
        args.inputs, args.num_inputs = self._tensors(self.inputs), len(self.inputs)
        args.outputs, args.num_outputs = self._tensors(outputs), len(outputs)
        return outputs if self._call("execute", context, args) == abi.OK else None

    def _tensors(self, arrays: Sequence[NDArray[Any]]) -> Any:
        kind = ctypes.POINTER(abi.Tensor)
        pointers = self.arena.array(kind, len(arrays))
        for index, array in enumerate(arrays):
            pointers[index] = ctypes.pointer(tensor_of(array, self.arena))
        return pointers
