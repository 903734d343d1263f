# SPDX-License-Identifier: MIT
"""Graphs that are kept, to be compiled for other shapes."""

from __future__ import annotations

import ctypes
import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from armnn._symbolic import Symbolic
from armnn.backends.cache import Footprint
from armnn.backends.ffi.calls import compile_details
from armnn.backends.ffi.constants import constants
from armnn.backends.ffi.values import elements_of, unfilled_attributes
from armnn.backends.native.programs.graph import NativeGraph, take_back_all
from armnn.backends.replanning import Changes
from armnn.graph import Layer, Value
from armnn.layers import Descriptor
from armnn.tensor import TensorInfo
from armnn_backend_api import BackendVersion
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.structs import Arena

_P = TypeVar("_P")


class KeptGraph(Generic[_P]):
    """A graph as backends read it, for further compilations.

    Its constants stay lent, so that the backend finds what it packed of them.
    """

    def __init__(
        self,
        graph: NativeGraph,
        version: BackendVersion,
        compile_now: Callable[[NativeGraph, _P], _P | None],
    ) -> None:
        """Keep a graph, which is not left.

        Args:
            graph: The graph.
            version: The Backend API version of the backend.
            compile_now: Compiles the graph like an earlier program; returns None if a layer is
                refused.
        """
        self.graph = graph
        self._version = version
        self._compile = compile_now
        self._lock = threading.Lock()
        self._numbers: _GraphNumbers | None = None
        graph.leave_with(self)

    def compile(self, changes: Changes, earlier: _P) -> _P | None:
        """Return the program for other shapes; None if refused.

        Args:
            changes: What is different for these shapes.
            earlier: A program of the graph.

        Raises:
            ArmnnError: The backend failed.
        """
        with self._lock:
            if self._numbers is None or not self._numbers.are_of(changes):
                self._numbers = _GraphNumbers(self.graph, changes, self._version)
            self._numbers.write(changes.numbers)
            lent: list[int] = []
            try:
                self._lend(changes.constants, lent)
                return self._compile(self.graph, earlier)
            finally:
                take_back_all(lent)

    def weighed(self, changes: Changes, earlier: _P) -> Footprint | None:
        """Return the footprint for other shapes, if reported.

        That is compiled once more: to tell takes a tenth of a further shape, and few ask.

        Args:
            changes: See :meth:`compile`.
            earlier: See :meth:`compile`.

        Raises:
            ArmnnError: The backend failed.
        """
        with compile_details() as details:
            self.compile(changes, earlier)
        return Footprint.from_details(details)

    def _lend(self, changed: Mapping[Value, Any], lent: list[int]) -> None:
        for value, data in changed.items():
            row = self.graph.rows.get(value)
            if row is not None:
                row.constant_ref, row.constant = constants.lend(data)
                lent.append(row.constant_ref)


class _GraphNumbers:
    """The numbers in a graph that depend on the shapes.

    They are next to each other in memory, where shapes and attributes of the graph point, so that
    other shapes are one copy.
    """

    def __init__(self, graph: NativeGraph, changes: Changes, version: BackendVersion) -> None:
        self._infos, self._descriptors = changes.infos, changes.descriptors
        self._arena = Arena()
        self._integers: list[Any] = []
        self._reals: list[Any] = []
        shapes = self._places_of_shapes(graph, changes.infos)
        rows = self._attributes(graph, changes.descriptors, version)
        integer_memory = self._arena.array(ctypes.c_int64, len(self._integers))
        real_memory = self._arena.array(ctypes.c_double, len(self._reals))
        blocks = [_Block(integer_memory, self._integers), _Block(real_memory, self._reals)]
        self._blocks = [block for block in blocks if block.changes]
        start = ctypes.addressof(integer_memory)
        for value, place in shapes:
            dims = ctypes.c_int64.from_address(start + 8 * place)
            graph.rows[value].shape = ctypes.pointer(dims)
        for attribute, place in rows:
            memory = real_memory if _is_real(attribute) else integer_memory
            attribute.data = ctypes.addressof(memory) + 8 * place

    def are_of(self, changes: Changes) -> bool:
        """Return whether they were laid out for such changes."""
        return self._infos is changes.infos and self._descriptors is changes.descriptors

    def write(self, numbers: Sequence[Any]) -> None:
        """Write the numbers for some shapes."""
        for block in self._blocks:
            block.write(numbers)

    def _places_of_shapes(
        self, graph: NativeGraph, infos: Mapping[Value, TensorInfo]
    ) -> list[tuple[Value, int]]:
        places = []
        for value in graph.rows:
            info = infos.get(value)
            if info is not None and info.shape:
                places.append((value, len(self._integers)))
                self._integers += info.shape
        return places

    def _attributes(
        self, graph: NativeGraph, descriptors: Mapping[Layer, Descriptor], version: BackendVersion
    ) -> list[tuple[abi.Attribute, int]]:
        """Give nodes own attributes; return where their data is."""
        places = []
        for layer, node in graph.nodes.items():
            descriptor = descriptors.get(layer)
            if descriptor is None:
                continue
            attributes = unfilled_attributes(descriptor, version, self._arena)
            for attribute, elements in zip(
                attributes, elements_of(descriptor, version), strict=True
            ):
                if attribute.type == abi.ATTRIBUTE_STRING:
                    attribute.data = self._arena.elements(attribute.type, elements)
                    continue
                numbers = self._reals if _is_real(attribute) else self._integers
                places.append((attribute, len(numbers)))
                numbers += elements
            node.attributes, node.num_attributes = attributes, len(attributes)
        return places


class _Block:
    """Numbers of one type; the symbolic ones are written together.

    Attributes:
        changes: Whether there are symbolic ones.
    """

    def __init__(self, memory: ctypes.Array[Any], elements: Sequence[Any]) -> None:
        positions: dict[int, int] = {}
        places, which = [], []
        for place, each in enumerate(elements):
            if type(each) is Symbolic:
                places.append(place)
                which.append(positions.setdefault(each.position, len(positions)))
            else:
                memory[place] = each
        self._view = np.frombuffer(memoryview(memory), memory._type_)
        self._places, self._which = np.array(places, np.intp), np.array(which, np.intp)
        self.changes = bool(positions)
        # Of one place it would return no tuple.
        self._pick = operator.itemgetter(*positions, *positions) if positions else tuple

    def write(self, numbers: Sequence[Any]) -> None:
        """Write the numbers for some shapes."""
        picked = np.array(self._pick(numbers), self._view.dtype)
        self._view[self._places] = picked[self._which]


def _is_real(attribute: abi.Attribute) -> bool:
    return bool(attribute.type == abi.ATTRIBUTE_FLOAT64)
