# SPDX-License-Identifier: MIT
"""Runs a claimed layer as hosts may run it.

Twice in one context, in two contexts in two threads, with tensors that end where memory ends, and
on sizes that are not multiples of a register.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.device_memory import DeviceMemory
from armnn_backend_api.guarded import GuardLayout
from armnn_backend_api.structs import struct
from armnn_dynamic_loader.child import LARGEST_OUTPUT
from armnn_dynamic_loader.child.calls import DefectError
from armnn_dynamic_loader.child.graphs import Execution, ProbeGraph

if TYPE_CHECKING:
    from armnn_dynamic_loader.child.calls import Calls

_POISONS: Final = (0xC7, 0x5A)
_IN_THREADS: Final = 3
"""Executions in each of two threads."""
_LARGEST_ALIGNMENT: Final = 1 << 12
_TOLERANCE: Final = 1e-2


class ComputedLayer:
    """One claimed layer, compiled."""

    def __init__(
        self,
        calls: Calls,
        table: abi.BackendApi,
        backend: ctypes.c_void_p,
        layer: dict[str, Any],
        *,
        device: DeviceMemory | None,
        is_first: bool,
    ) -> None:
        """Compile it.

        Args:
            calls: Calls the file.
            table: Its functions.
            backend: The backend.
            layer: The description of the layer.
            device: The device whose tensors ``execute`` needs; None if it takes host memory.
            is_first: Whether the state of the process is compared after each step; else only when
                the next layer begins, as it is the same code.

        Raises:
            DefectError: The backend claims it, but does not compile it.
        """
        self._calls, self._table, self._layer = calls, table, layer
        self._device, self._is_first = device, is_first
        self._executions: list[Execution] = []
        self._claims = f"claims {layer['type']}, but then"
        self.program = ctypes.c_void_p()
        calls.channel.send(layer=layer["type"])
        graph, arguments = ProbeGraph([layer]), struct(abi.CompileArgs)
        calls.enter("compile")
        self._call(table.compile, backend, None, graph.struct, arguments, self.program)
        calls.check_made("compile", self.program)

    def run(self) -> None:
        """Run it in every way.

        Raises:
            DefectError: A way fails, damages memory, or computes something else than the others.
        """
        first, second = self._context(), self._context()
        self._enter("execute")
        canaries = self._execution(GuardLayout(poison=_POISONS[0]))
        right = self._run_once(first, canaries)
        if self._is_first:
            self._calls.check_process()
        unwritten = canaries.unwritten()
        canaries.poison(_POISONS[1])
        again = self._run_once(first, canaries)
        for index, (one, other) in enumerate(zip(unwritten, canaries.unwritten(), strict=True)):
            if one & other:
                raise DefectError(
                    f"leaves element {min(one & other)} of output {index} of {self._type} unwritten"
                )
        self._check_same(right, again, "in a second run")
        self._enter("guarded")
        guarded = self._execution(GuardLayout(is_at_end=True, is_read_only=True))
        self._check_same(right, self._run_once(first, guarded), "in other memory")
        self._enter("threads")
        self._run_in_threads((first, second), right)
        self._enter("end")
        for execution in self._executions:
            execution.close()
        for context in (first, second):
            self._table.context_destroy(context)

    def _enter(self, step: str) -> None:
        if self._is_first:
            self._calls.enter(step)
        else:
            self._calls.channel.send(step=step)

    @property
    def _type(self) -> str:
        return str(self._layer["type"])

    def _context(self) -> ctypes.c_void_p:
        context = ctypes.c_void_p()
        self._call(self._table.context_create, self.program, context)
        self._calls.check_made("context_create", context)
        return context

    def _execution(self, layout: GuardLayout) -> Execution:
        made = Execution(self._layer, self._need, layout, self._device)
        self._executions.append(made)
        return made

    def _run_once(self, context: ctypes.c_void_p, execution: Execution) -> list[float]:
        execution.send()
        self._call(self._table.execute, context, execution.arguments)
        execution.fetch()
        damage = execution.damage()
        if damage:
            raise DefectError(f"{damage} of {self._type}")
        return execution.results()

    def _run_in_threads(self, contexts: tuple[ctypes.c_void_p, ...], right: list[float]) -> None:
        failures: list[Exception] = []

        def work(context: ctypes.c_void_p, execution: Execution) -> None:
            try:
                for _ in range(_IN_THREADS):
                    got = self._run_once(context, execution)
                    self._check_same(right, got, "in two threads at once")
            except Exception as error:
                failures.append(error)

        threads = [
            threading.Thread(target=work, args=(context, self._execution(GuardLayout())))
            for context in contexts
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failures:
            raise failures[0]

    def _check_same(self, right: list[float], got: list[float], when: str) -> None:
        pairs = zip(right, got, strict=True)
        if not all(
            math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE) or a != a for a, b in pairs
        ):
            raise DefectError(f"computes something else {when} of {self._type}")

    def _call(self, function: Callable[..., int], *arguments: object) -> None:
        self._calls.call(function, *arguments, claims=self._claims)

    def _need(self, is_output: bool, index: int) -> abi.IoRequirement:
        """Return the requirement on the memory of a tensor."""
        need = struct(abi.IoRequirement)
        if bool(self._table.io_requirement):
            self._call(self._table.io_requirement, self.program, int(is_output), index, need)
        if need.min_bytes > LARGEST_OUTPUT:
            raise DefectError(f"asks for {need.min_bytes} bytes for a small tensor")
        if need.min_align > _LARGEST_ALIGNMENT or need.min_align & (need.min_align - 1):
            raise DefectError(
                f"asks for memory aligned to {need.min_align}, expected a power of two up to "
                f"{_LARGEST_ALIGNMENT}"
            )
        return need
