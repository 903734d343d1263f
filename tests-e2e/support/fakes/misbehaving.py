# SPDX-License-Identifier: MIT
"""Backends that break the contract in one way each, or state a capability that they lack.

They prove that the conformance kit notices it. All of them are kinds of :class:`SmallBackend`,
which breaks nothing.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armnn.backends import (
    ASYNC_EXECUTION,
    BACKEND_API_VERSION,
    SUPPORTED,
    Allocator,
    ArrayHandle,
    AsyncExecution,
    Backend,
    BackendContext,
    BackendVersion,
    CreationOptions,
    ModelContext,
    OptionValue,
    Step,
    Support,
    Task,
    TensorHandle,
    Workload,
)
from armnn.types import DataType, MemorySource

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


_FUNCTIONS: dict[str, Function] = {
    **FUNCTIONS,
    "Maximum": lambda _, x, y: np.maximum(x, y),
    "FullyConnected": lambda d, x, w, b=0: (
        x.reshape(len(x), -1) @ (w.T if d.transpose_weight_matrix else w) + b
    ),
}


def _naive_softmax(d: Any, x: NDArray[Any]) -> NDArray[Any]:
    powers = np.exp(d.beta * x)
    result: NDArray[Any] = powers / powers.sum(d.axis, keepdims=True)
    return result


HONEST: tuple[str, ...] = (
    "NonConstWeights",
    "ConstantTensorsAsInputs",
    "PreImportIOTensors",
    "ExternallyManagedMemory",
    "MultiAxisPacking",
    "SingleAxisPacking",
    "PropagatesNaN",
    "KeepsExtremes",
)
"""What :class:`CapableBackend` states, and what holds of it."""


class CapableBackend(SmallBackend):
    """States what it can do, and nothing else."""

    functions: ClassVar = _FUNCTIONS
    stated: ClassVar[tuple[str, ...]] = HONEST

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """Each of what is stated as true."""
        return dict.fromkeys(self.stated, True)


class ConstWeightsBackend(CapableBackend):
    """States NonConstWeights, and wants constant weights."""

    stated: ClassVar = ("NonConstWeights",)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Refuse weights that are computed."""
        weights = layer.inputs[1] if layer.type == "FullyConnected" else None
        if weights is not None and weights.constant is None:
            return Support.no("the weights are not constant")
        return super().supports(layer, model)


class NoWeightsBackend(SmallBackend):
    """States NonConstWeights, and has no layer with weights."""

    capabilities: ClassVar = {"NonConstWeights": True}


class NoAsyncBackend(CapableBackend):
    """States AsyncExecution, and lacks the extension."""

    stated: ClassVar = ("AsyncExecution",)


class _Forgetful(AsyncExecution, Task):
    """Says that a step has ended which it never began."""

    def submit(self, step: Step, *, deadline_ns: int | None = None) -> Task:
        return self

    def wait(self, timeout: float | None = None) -> bool:
        return True

    def close(self) -> None:
        """Do nothing."""


class ForgetfulBackend(CapableBackend):
    """States AsyncExecution, and never runs what is submitted."""

    stated: ClassVar = ("AsyncExecution",)

    def extension(self, name: str) -> object | None:
        """Return what runs nothing."""
        return _Forgetful() if name == ASYNC_EXECUTION else None


class UnprotectedBackend(CapableBackend):
    """States ProtectedContentAllocation, and takes host memory only."""

    stated: ClassVar = ("ProtectedContentAllocation",)

    def accepts_allocator(self, allocator: Allocator) -> Support:
        """Refuse all but host memory."""
        if allocator.memory_source is not MemorySource.MALLOC:
            return Support.no("it is not host memory")
        return Support(True)


class NoConstantsBackend(CapableBackend):
    """States ConstantTensorsAsInputs, and refuses constants."""

    stated: ClassVar = ("ConstantTensorsAsInputs",)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Refuse what is constant."""
        if any(value is not None and value.constant is not None for value in layer.inputs):
            return Support.no("an input is constant")
        return super().supports(layer, model)


class _CopyingWorkload(SmallWorkload):
    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        arrays = [handle.map().copy() for handle in inputs if handle is not None]
        target = outputs[0].map()

        def step() -> None:
            target[...] = self.function(self.descriptor, *arrays)

        return step


class _LongWorkload(SmallWorkload):
    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        step = super().bind(inputs, outputs)
        target = outputs[0].map().reshape(-1)
        beyond = np.lib.stride_tricks.as_strided(target, (target.size + 1,))

        def overrun() -> None:
            step()
            beyond[-1] = 0

        return overrun


class _AddingWorkload(SmallWorkload):
    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        arrays = [handle.map() for handle in inputs if handle is not None]
        target = outputs[0].map()

        def step() -> None:
            with np.errstate(invalid="ignore"):
                target[...] += self.function(self.descriptor, *arrays)

        return step


def _of(kind: Callable[..., Workload]) -> Callable[..., Workload]:
    def create_workload(self: SmallBackend, layer: Layer, _: ModelContext) -> Workload:
        return kind(layer, self.functions[layer.type])

    return create_workload


class CopyingBackend(CapableBackend):
    """States PreImportIOTensors, and copies its inputs when bound."""

    stated: ClassVar = ("PreImportIOTensors",)
    create_workload: ClassVar[Any] = _of(_CopyingWorkload)


class OwnMemoryBackend(CapableBackend):
    """States ExternallyManagedMemory, and refuses every allocator."""

    stated: ClassVar = ("ExternallyManagedMemory",)

    def accepts_allocator(self, allocator: Allocator) -> Support:
        """Say no."""
        return Support.no(f"it is an allocator: {type(allocator).__name__}")


class LongBackend(CapableBackend):
    """States MultiAxisPacking, and writes to its neighbor."""

    stated: ClassVar = ("MultiAxisPacking",)
    create_workload: ClassVar[Any] = _of(_LongWorkload)


class AddingBackend(CapableBackend):
    """States SingleAxisPacking, and wants outputs of zeros."""

    stated: ClassVar = ("SingleAxisPacking",)
    create_workload: ClassVar[Any] = _of(_AddingWorkload)


class NoHalvesBackend(CapableBackend):
    """States HasFp16, and computes Float32 only."""

    stated: ClassVar = ("HasFp16",)


class HalvesBackend(CapableBackend):
    """States HasFp16, and computes Float16 with eight bits."""

    stated: ClassVar = ("HasFp16",)
    functions: ClassVar = {
        "Softmax": lambda d, x: np.round(FUNCTIONS["Softmax"](d, x), 1),
    }

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Claim layers of Float16."""
        types = {info.data_type for info in layer.output_infos}
        if layer.type not in self.functions or types != {DataType.FLOAT16}:
            return Support.no("it takes Softmax of Float16")
        return Support(True)


class NumberingBackend(CapableBackend):
    """States PropagatesNaN, and makes numbers of NaN."""

    stated: ClassVar = ("PropagatesNaN",)
    functions: ClassVar = {**_FUNCTIONS, "Maximum": lambda _, x, y: np.fmax(x, y)}


class OverflowingBackend(CapableBackend):
    """States KeepsExtremes, and lets exponentials overflow."""

    stated: ClassVar = ("KeepsExtremes",)
    functions: ClassVar = {**_FUNCTIONS, "Softmax": _naive_softmax}


class ReleasingBackend(CapableBackend):
    """States ReleasesConstants, and is not in C."""

    stated: ClassVar = ("ReleasesConstants",)


LIARS: dict[type[SmallBackend], str] = {
    ConstWeightsBackend: "FullyConnected with weights that are fed is refused: ",
    NoWeightsBackend: "none of FullyConnected, .* is claimed",
    NoAsyncBackend: r"extension\('armnn.async/1'\) is None",
    ForgetfulBackend: "a submitted step's output 0 is wrong",
    UnprotectedBackend: r"accepts_allocator\(\) refuses an allocator of DmaBufProtected memory: ",
    NoConstantsBackend: "Addition with a constant input is refused: ",
    CopyingBackend: "with inputs changed in place, the first run's output 0 is wrong",
    OwnMemoryBackend: r"accepts_allocator\(\) refuses an allocator of Malloc memory: it is an",
    LongBackend: "the step wrote to a neighbor of its output in the same block",
    AddingBackend: "in a block that held the bytes 0xff, the step's output 0 is wrong",
    NoHalvesBackend: "no layer that computes is claimed for Float16",
    HalvesBackend: "the workload's output 0 is wrong",
    NumberingBackend: "the workload's output 0 is wrong",
    OverflowingBackend: "the workload's output 0 is wrong",
    ReleasingBackend: "it is about `compile` of a backend in C, and this one is not",
}
"""Backends that state one capability each, and how the kit tells that they lack it."""
