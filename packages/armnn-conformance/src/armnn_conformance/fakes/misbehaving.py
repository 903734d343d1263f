# SPDX-License-Identifier: MIT
"""Backends that break the contract in one way each.

They prove that the conformance kit notices it. All of them are kinds of :class:`SmallBackend`,
which breaks nothing.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armnn.backends import (
    BACKEND_API_VERSION,
    SUPPORTED,
    Allocator,
    ArrayHandle,
    Backend,
    BackendContext,
    BackendVersion,
    CreationOptions,
    ModelContext,
    Step,
    Support,
    TensorHandle,
    Workload,
)
from armnn.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer

Function = Callable[..., Any]
"""From descriptor and input arrays to the output array."""


def _softmax(d: Any, x: NDArray[Any]) -> NDArray[Any]:
    powers = np.exp(d.beta * (x - x.max(axis=d.axis, keepdims=True)))
    result: NDArray[Any] = powers / powers.sum(axis=d.axis, keepdims=True)
    return result


FUNCTIONS: dict[str, Function] = {
    "Addition": lambda _, x, y: x + y,
    "Softmax": _softmax,
    "Transpose": lambda d, x: np.transpose(x, d.dim_mappings),
}


class SmallWorkload(Workload):
    """Computes a layer by its function."""

    def __init__(self, layer: Layer, function: Function) -> None:
        """Keep the parameters and the function."""
        self.descriptor = layer.descriptor
        self.function = function
        self._count = len(layer.inputs)

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step; the count of tensors must fit."""
        if len(inputs) != self._count or len(outputs) != 1:
            raise ValueError(f"got {len(inputs)} inputs and {len(outputs)} outputs")
        arrays = [handle.map() for handle in inputs if handle is not None]
        target = outputs[0].map()

        def step() -> None:
            with np.errstate(all="ignore"):  # infinity is a result like others
                target[...] = self.function(self.descriptor, *arrays)

        return step


class SmallBackend(Backend):
    """Computes a few layers of Float32, and does it well."""

    id: ClassVar[str] = "Small"
    api_version: ClassVar[BackendVersion] = BACKEND_API_VERSION
    functions: ClassVar[dict[str, Function]] = FUNCTIONS

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Claim Float32 layers that it has a function for."""
        if layer.type not in self.functions:
            return Support.no(f"no function for {layer.type}, only for {', '.join(self.functions)}")
        for index, info in enumerate((*layer.input_infos, *layer.output_infos)):
            if info is not None and info.data_type is not DataType.FLOAT32:
                return Support.no(f"tensor {index} is {info.data_type.arm_name}, expected Float32")
        return SUPPORTED

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload of the layer's function."""
        return SmallWorkload(layer, self.functions[layer.type])


class InaccurateBackend(SmallBackend):
    """Computes softmax a little wrongly."""

    functions: ClassVar = {**FUNCTIONS, "Softmax": lambda d, x: _softmax(d, x) + np.float32(0.001)}


class InattentiveBackend(SmallBackend):
    """Ignores an attribute: softmax is always along the last axis."""

    functions: ClassVar = {
        **FUNCTIONS,
        "Softmax": lambda d, x: _softmax(type(d)(beta=d.beta), x),
    }


class OverclaimingBackend(SmallBackend):
    """Claims data types that it does not compute."""

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Look at the type of the layer only."""
        return SUPPORTED if layer.type in self.functions else Support.no("no function for it")


class SilentBackend(SmallBackend):
    """Refuses without a reason, layers and allocators."""

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Take the reason away."""
        return Support(super().supports(layer, model).supported)

    def accepts_allocator(self, allocator: Allocator) -> Support:
        """Say no, and nothing more."""
        return Support(False)


class FickleBackend(SmallBackend):
    """Gives another answer each time."""

    def __init__(self) -> None:
        self._says_yes = False

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Change its mind."""
        self._says_yes = not self._says_yes
        return super().supports(layer, model) if self._says_yes else Support.no("not now")


class CrashingBackend(SmallBackend):
    """Fails when it is asked about an unknown layer."""

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Look the layer up, whether or not it is there."""
        self.functions[layer.type]
        return super().supports(layer, model)


class CredulousBackend(SmallBackend):
    """Claims every layer type, even those that do not exist."""

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Say yes."""
        return SUPPORTED


class _RacyWorkload(SmallWorkload):
    """Keeps an intermediate result where all contexts share it."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        target = outputs[0].map()
        arrays = [handle.map() for handle in inputs if handle is not None]

        def step() -> None:
            with np.errstate(all="ignore"):
                self._scratch = self.function(self.descriptor, *arrays)
            time.sleep(0)  # another thread runs here
            target[...] = self._scratch

        return step


class RacyBackend(SmallBackend):
    """Is right as long as one thread runs a network."""

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload that is not immutable."""
        return _RacyWorkload(layer, self.functions[layer.type])


class _SpoilingWorkload(SmallWorkload):
    """Writes to its first input afterwards."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        step = super().bind(inputs, outputs)
        first = inputs[0]

        def spoil() -> None:
            step()
            if first is not None:
                first.map()[...] = 0

        return spoil


class SpoilingBackend(SmallBackend):
    """Uses an input as working memory."""

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload that changes its input."""
        return _SpoilingWorkload(layer, self.functions[layer.type])


class _OverrunningWorkload(SmallWorkload):
    """Writes one element too many, like a loop without tail."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        step = super().bind(inputs, outputs)
        target = outputs[0].map().reshape(-1)
        beyond = np.lib.stride_tricks.as_strided(target, (target.size + 1,))

        def overrun() -> None:
            step()
            beyond[-1] = 0

        return overrun if isinstance(outputs[0], ArrayHandle) else step


class OverrunningBackend(SmallBackend):
    """Writes past the end of its output."""

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload that writes too much."""
        return _OverrunningWorkload(layer, self.functions[layer.type])


class _NegligentWorkload(SmallWorkload):
    """Does nothing when it is not given what it needs."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        complete = len(inputs) == self._count and outputs
        return super().bind(inputs, outputs) if complete else lambda: None


class NegligentBackend(SmallBackend):
    """Does not notice that tensors are missing."""

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload that lets it pass."""
        return _NegligentWorkload(layer, self.functions[layer.type])


class TalkativeBackend(SmallBackend):
    """Writes to stdout's file descriptor, as native code does."""

    def __init__(self) -> None:
        os.write(1, b"Small backend 1.0, all rights reserved\n")


class ThreadLeavingBackend(SmallBackend):
    """Starts a thread with each runtime and never ends it."""

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        """Start the thread."""
        threading.Thread(target=threading.Event().wait, name="small worker", daemon=True).start()
        return super().create_context(options)


class DescriptorLeavingBackend(SmallBackend):
    """Opens a file with each runtime and never closes it."""

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        """Open the file."""
        os.open(os.devnull, os.O_RDONLY)
        return super().create_context(options)


class MaskingBackend(SmallBackend):
    """Changes the umask of the process with each runtime."""

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        """Set the umask."""
        os.umask(0o777 ^ os.umask(0))
        return super().create_context(options)


class DyingBackend(SmallBackend):
    """Takes the process with it."""

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        """End the process."""
        os._exit(3)


def _softmax_that_segfaults(d: Any, x: NDArray[Any]) -> NDArray[Any]:
    return _softmax(d, x) if d.beta >= 1 else np.frombuffer(ctypes.string_at(0))


class SegfaultingBackend(SmallBackend):
    """Reads unmapped memory if softmax is scaled down."""

    functions: ClassVar = {**FUNCTIONS, "Softmax": _softmax_that_segfaults}


class SegfaultingAnswerBackend(SmallBackend):
    """Reads unmapped memory when it is asked about Floor."""

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Crash, or answer."""
        if layer.type == "Floor":
            ctypes.string_at(0)
        return super().supports(layer, model)
