# SPDX-License-Identifier: MIT
"""One execution context: working memory and bound steps, used by one thread at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from operator import length_hint
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends import ArrayHandle
from armnn.backends.control import current_control
from armnn.errors import CancelledError, DeadlineExceededError, ExecutionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends import Allocator, MemoryManager, Step, TensorHandle
    from armnn.backends.control import RunControl
    from armnn.graph import Layer


class ExecutionContext:
    """The tensors of one run at a time, and the steps that are bound to them."""

    def __init__(
        self,
        inputs: Sequence[tuple[str, TensorHandle]],
        outputs: Sequence[tuple[str, TensorHandle | None]],
        steps: Sequence[tuple[Layer, Step]],
        managers: Sequence[MemoryManager],
        memory: Sequence[tuple[Allocator, NDArray[np.uint8]]],
    ) -> None:
        self._inputs = tuple(handle for _, handle in inputs)
        # The arrays of host memory stay the same; other memory is mapped anew for each run.
        self._arrays = tuple(h.map() if isinstance(h, ArrayHandle) else None for h in self._inputs)
        self._outputs = tuple(
            (name, handle, handle.map() if isinstance(handle, ArrayHandle) else None)
            for name, handle in outputs
            if handle is not None
        )
        self._layers = tuple(layer for layer, _ in steps)
        self._steps = tuple(step for _, step in steps)
        self._managers = tuple(managers)
        self._memory = list(memory)

    def run(
        self, inputs: Sequence[NDArray[Any]], control: RunControl | None
    ) -> dict[str, NDArray[Any]]:
        """Run all steps.

        Args:
            inputs: One array per input, of the right shape and type; they are copied.
            control: What the caller watches or limits.

        Returns:
            A new array per output.

        Raises:
            ExecutionError: A layer failed; the message names it.
            CancelledError: The caller cancelled the run.
            DeadlineExceededError: The time was up before the last layer.
        """
        for manager in self._managers:
            manager.acquire()
        try:
            for array, handle, source in zip(self._arrays, self._inputs, inputs, strict=True):
                if array is None:
                    _fill(handle, source)
                else:
                    array[...] = source
            if control is None:
                self._run_steps()
            else:
                token = current_control.set(control)
                try:
                    self._run_watched_steps(control)
                finally:
                    current_control.reset(token)
            return {
                name: _copy_out(handle) if array is None else array.copy()
                for name, handle, array in self._outputs
            }
        finally:
            for manager in self._managers:
                manager.release()

    def close(self) -> None:
        """Give the working memory back."""
        self._steps = self._inputs = self._arrays = self._outputs = ()
        while self._memory:
            allocator, block = self._memory.pop()
            allocator.free(block)

    def _run_steps(self) -> None:
        remaining = iter(self._steps)
        try:
            for step in remaining:
                step()
        except Exception as error:
            index = len(self._steps) - length_hint(remaining) - 1
            raise _failure(self._layers[index], error) from error

    def _run_watched_steps(self, control: RunControl) -> None:
        for layer, step in zip(self._layers, self._steps, strict=True):
            if control.cancel is not None and control.cancel.is_set():
                raise CancelledError(f"the run was cancelled before layer {layer.name!r}")
            start = time.perf_counter_ns()
            if control.deadline_ns is not None and start > control.deadline_ns:
                raise DeadlineExceededError(f"the time was up before layer {layer.name!r}")
            try:
                step()
            except Exception as error:
                raise _failure(layer, error) from error
            if control.profiler is not None:
                control.profiler.event(
                    layer.name,
                    start,
                    time.perf_counter_ns(),
                    category="layer",
                    type=layer.type,
                    backend=layer.backend or "",
                )


def _fill(handle: TensorHandle, source: NDArray[Any]) -> None:
    try:
        np.copyto(handle.map(), source)
    finally:
        handle.unmap()


def _copy_out(handle: TensorHandle) -> NDArray[Any]:
    try:
        return handle.map().copy()
    finally:
        handle.unmap()


def _failure(layer: Layer, error: Exception) -> ExecutionError:
    """Return the error of a failed layer, of the same kind if it says more than that it failed."""
    kind = type(error) if isinstance(error, ExecutionError) else ExecutionError
    return kind(f"layer {layer.name!r} ({layer.type}) failed on {layer.backend}: {error}")
