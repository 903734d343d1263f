# SPDX-License-Identifier: MIT
"""Backends for workers, one of them with every fault."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from armnn.backends import (
    BACKEND_API_VERSION,
    SUPPORTED,
    Backend,
    BackendContext,
    CreationOptions,
    ModelContext,
    OptimizationViews,
    Step,
    SubgraphView,
    Substitution,
    Support,
    TensorHandle,
    Workload,
)
from armnn.backends.contract import current_control
from armnn.errors import DeviceLostError, ExecutionError, InvalidArgumentError
from armnn_backend_ref.backend import RefBackend

if TYPE_CHECKING:
    from armnn.graph import Layer

GOOD = 0.0
"""The first element of an input with which Hostile computes what it should."""


class Rectified(Workload):
    """Computes the positive part."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        (source,), (target,) = inputs, outputs
        assert source is not None
        return lambda: self.run(source.map(), target.map())

    def run(self, source, target) -> None:
        np.maximum(source, 0, out=target)


class Honest(Backend):
    """Takes ReLu and constants in Float32, in host memory."""

    id = "Honest"
    api_version = BACKEND_API_VERSION

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        if layer.type == "Activation":
            return SUPPORTED
        return Support.no(f"{layer.type} is too hard")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        return Rectified()

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        given = options.backend_options.get(self.id, {})
        unknown = [name for name in given if name != "Speed"]
        if unknown:
            raise InvalidArgumentError(f"Honest has no option {unknown[0]!r}")
        return None

    def create_model_context(self, options) -> ModelContext:
        return ModelContext(options)


class Adding(Honest):
    """Takes what Honest leaves."""

    id = "Adding"

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        return SUPPORTED

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        return Rectified() if layer.type == "Activation" else Sum()


class Sum(Workload):
    """Adds."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        first, second = (each for each in inputs if each is not None)
        return lambda: np.add(first.map(), second.map(), out=outputs[0].map())


class Compiling(Honest):
    """Compiles each part to one program."""

    id = "Compiling"

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        replacement = view.replacement()
        made = replacement.add_pre_compiled(
            [each.output for each in replacement.inputs],
            num_output_slots=1,
            outputs=[view.outputs[0].info],
            name="compiled",
        )
        made[0].producer.compiled = "a program"
        replacement.add_output("out", made[0])
        return OptimizationViews(substitutions=[Substitution(view, replacement)])


def _beyond(target) -> None:
    address = target.ctypes.data
    ctypes.memset(address + target.nbytes, 0, 8)


def _lose_device() -> None:
    raise DeviceLostError("it is off the bus")


def _closing() -> None:
    os.closerange(0, 21)


def _spin() -> None:
    while True:
        pass


def _hoard() -> None:
    kept = []
    while True:
        kept.append(np.ones(1 << 22))


def _round_up() -> None:
    ctypes.CDLL("libm.so.6").fesetround(0x800)


def _handlers() -> None:
    library = ctypes.CDLL(None)
    library.signal(signal.SIGTERM, 1)
    library.signal(signal.SIGINT, 1)
    os.chdir("/")


ENDING = {
    "SIGSEGV": lambda *_: ctypes.memset(0, 0, 1),
    "exit code 0": lambda *_: os._exit(0),
    "SIGTERM": lambda *_: os.kill(os.getpid(), signal.SIGTERM),
    "wrote outside of its outputs": lambda _, target: _beyond(target),
    "lost its device: it is off the bus": lambda *_: _lose_device(),
}
"""Faults after which the worker cannot be believed, by a part of the message.

The tests of the dynamic loader have all of them, in C.
"""

ENDLESS = {"spins": lambda *_: _spin()}
"""A fault that a limit of time ends."""

LIVING = {
    "raises": lambda *_: (_ for _ in ()).throw(ValueError("a bad value")),
    "sys.exit(3)": lambda *_: sys.exit(3),
    "memory": lambda *_: _hoard(),
}
"""Faults that the worker reports."""

QUIET = {
    "closes descriptors": lambda *_: _closing(),
    "rounds up": lambda *_: _round_up(),
    "signal handlers and cwd": lambda *_: _handlers(),
}
"""Faults that only the worker sees."""

FAULTS = {**ENDING, **ENDLESS, **LIVING, **QUIET}
CODES = {name: float(number) for number, name in enumerate(FAULTS, 1)}


class Faulty(Rectified):
    """Does what the first element of its input says."""

    def run(self, source, target) -> None:
        code = float(source.ravel()[0])
        if code > 0:
            [*FAULTS.values()][int(code) - 1](source, target)
        super().run(source, target)


class Hostile(Honest):
    """Has every fault in execute."""

    id = "Hostile"

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        return Faulty()


class Slow(Rectified):
    """Waits until it is told to stop."""

    def run(self, source, target) -> None:
        control = current_control.get()
        assert control is not None
        assert control.cancel is not None
        while not control.cancel.is_set():
            pass
        raise ExecutionError("it was stopped")


class Patient(Honest):
    """Has steps that wait for the host."""

    id = "Patient"

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        return Slow()


class Lying(Honest):
    """Ends its process on a question about "crash", and with the workload of "crash at work"."""

    id = "Lying"

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        if layer.name == "crash at work":
            os.abort()
        return super().create_workload(layer, model)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        if layer.name == "crash":
            os.abort()
        return SUPPORTED


class Fatal(Workload):
    """Ends its process in a step of the second call of a network, each time in the next step.

    Before that it does the work or damages the output, by turns. The file "deaths" in the folder of
    caches counts.
    """

    steps = 0

    def __init__(self, inner: Workload, layer: Layer) -> None:
        self._inner = inner
        self._is_in_place = layer.type == "TensorScatter"
        self._deaths = Path(os.environ["XDG_CACHE_HOME"]) / "deaths"

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        step = self._inner.bind(inputs, outputs)

        def run() -> None:
            Fatal.steps += 1
            step()
            deaths = self._deaths.stat().st_size
            if Fatal.steps > MORTAL_LAYERS + deaths % MORTAL_LAYERS:
                if deaths % 2 and not self._is_in_place:
                    for each in outputs:
                        each.map()[...] = -1
                self._deaths.write_bytes(bytes(deaths + 1))
                os.kill(os.getpid(), signal.SIGKILL)

        return run


MORTAL_LAYERS = 7
"""How many layers a network on Mortal has."""


class Mortal(RefBackend):
    """Computes as CpuRef does until its process ends."""

    id = "Mortal"

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        return Fatal(super().create_workload(layer, model), layer)
