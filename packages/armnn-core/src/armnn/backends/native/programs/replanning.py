# SPDX-License-Identifier: MIT
"""Graphs that are kept, to be compiled for other shapes."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from armnn.backends.ffi.constants import constants
from armnn.backends.ffi.values import attributes_of
from armnn.backends.native.programs.graph import take_back_all
from armnn_backend_api.structs import Arena

if TYPE_CHECKING:
    from collections.abc import Callable

    from armnn.backends.native.programs.graph import NativeGraph
    from armnn.backends.replanning import Changes
    from armnn_backend_api import BackendVersion


_P = TypeVar("_P")


class KeptGraph(Generic[_P]):
    """A graph as backends read it, for further compilations.

    Its constants stay lent, so that the backend finds what it packed of them.
    """

    def __init__(
        self,
        graph: NativeGraph,
        version: BackendVersion,
        compile_now: Callable[[NativeGraph], _P | None],
    ) -> None:
        """Keep a graph, which is not left.

        Args:
            graph: The graph.
            version: The Backend API version of the backend.
            compile_now: Compiles the graph; returns None if a layer is refused.
        """
        self.graph = graph
        self._version = version
        self._compile = compile_now
        self._lock = threading.Lock()
        self._arena = Arena()
        graph.leave_with(self)

    def compile(self, changes: Changes) -> _P | None:
        """Return the program for other shapes; None if refused.

        Raises:
            ArmnnError: The backend failed.
        """
        with self._lock:
            lent = self._describe(changes)
            try:
                return self._compile(self.graph)
            finally:
                take_back_all(lent)

    def _describe(self, changes: Changes) -> list[int]:
        """Write the changes into the graph; return the lent constants."""
        arena = Arena()  # the one before lives until nothing refers to it any more
        lent = []
        for value, row in self.graph.rows.items():
            info = changes.infos.get(value)
            if info is not None:
                row.shape = arena.filled(ctypes.c_int64, info.static_shape)
            data = changes.constants.get(value)
            if data is not None:
                row.constant_ref, row.constant = constants.lend(data)
                lent.append(row.constant_ref)
        for layer, node in self.graph.nodes.items():
            descriptor = changes.descriptors.get(layer)
            if descriptor is not None:
                attributes = attributes_of(descriptor, self._version, arena)
                node.attributes, node.num_attributes = attributes, len(attributes)
        self._arena = arena
        return lent
