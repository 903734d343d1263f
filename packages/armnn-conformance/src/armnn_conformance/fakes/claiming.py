# SPDX-License-Identifier: MIT
"""Backends that state a capability that they lack.

They prove that the conformance kit notices it. All of them are kinds of :class:`SmallBackend`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from armnn.backends import (
    ASYNC_EXECUTION,
    Allocator,
    AsyncExecution,
    ModelContext,
    OptionValue,
    Step,
    Support,
    Task,
    TensorHandle,
    Workload,
)
from armnn.types import DataType, MemorySource
from armnn_conformance.fakes.misbehaving import FUNCTIONS, Function, SmallBackend, SmallWorkload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer

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
    """States MultiAxisPacking, and writes to its neighbour."""

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
    UnprotectedBackend: r"accepts_allocator\(\) refuses one of DmaBufProtected memory: it is n",
    NoConstantsBackend: "Addition with a constant input is refused: ",
    CopyingBackend: "with inputs changed in place, the first run's output 0 is wrong",
    OwnMemoryBackend: r"accepts_allocator\(\) refuses one of Malloc memory: it is an allocator",
    LongBackend: "the step wrote to a neighbour of its output in the same block",
    AddingBackend: "in a block that held the bytes 0xff, the step's output 0 is wrong",
    NoHalvesBackend: "no layer that computes is claimed for Float16",
    HalvesBackend: "the workload's output 0 is wrong",
    NumberingBackend: "the workload's output 0 is wrong",
    OverflowingBackend: "the workload's output 0 is wrong",
    ReleasingBackend: "it is about `compile` of a backend in C, and this one is not",
}
"""Backends that state one capability each, and how the kit tells that they lack it."""
