# SPDX-License-Identifier: MIT
"""The bound steps of a context; failures name their layers."""

from __future__ import annotations

import time
from operator import length_hint
from typing import TYPE_CHECKING

from armnn.errors import CancelledError, DeadlineExceededError, ExecutionError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from armnn.backends import Step
    from armnn.backends.control import RunControl
    from armnn.graph import Layer
    from armnn.optimizer.single_program import ProgramLayer


class BoundSteps:
    """Runs steps one after the other.

    Attributes:
        run: Runs all of them; raises ExecutionError, which names the layer, if one failed.
    """

    def __init__(self, steps: Sequence[tuple[Layer | ProgramLayer, Step]]) -> None:
        """Keep the steps.

        Args:
            steps: Each with its layer.
        """
        self._layers = [layer for layer, _ in steps]
        self._steps = [step for _, step in steps]
        one = len(steps) == 1
        self.run = _one(*steps[0]) if one else _each(self._layers, self._steps)

    def run_watched(self, control: RunControl) -> None:
        """Run all of them while the caller watches.

        Raises:
            ExecutionError: A layer failed; the message names it.
            CancelledError: The caller cancelled the run.
            DeadlineExceededError: The time was up before the last layer.
        """
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


def _one(layer: Layer | ProgramLayer, step: Step) -> Callable[[], None]:
    """Return what runs a single step, quicker than a loop."""

    def run() -> None:
        try:
            step()
        except Exception as error:
            raise _failure(layer, error) from error

    return run


def _each(layers: Sequence[Layer | ProgramLayer], steps: Sequence[Step]) -> Callable[[], None]:
    """Return what runs steps one after the other.

    A bound method in its place would be a cycle, which keeps the memory of a context.
    """

    def run() -> None:
        remaining = iter(steps)
        try:
            for step in remaining:
                step()
        except Exception as error:
            index = len(steps) - length_hint(remaining) - 1
            raise _failure(layers[index], error) from error

    return run


def _failure(layer: Layer | ProgramLayer, error: Exception) -> ExecutionError:
    """Return the error of a failed layer, naming it."""
    kind = type(error) if isinstance(error, ExecutionError) else ExecutionError
    return kind(
        f"layer {layer.name!r} ({layer.type}) failed on {layer.backend or 'the host'}: {error}"
    )
