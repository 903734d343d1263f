# SPDX-License-Identifier: MIT
"""A synthetic accelerator, and a fast and wrong backend.

The accelerator has no hardware: onnxruntime computes a part once, and later runs with the same
inputs take as long as the modelled device would take, without the processor.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from armnn.backends import (
    ModelContext,
    OptimizationViews,
    Step,
    SubgraphView,
    Support,
    TensorHandle,
    Workload,
)
from armnn.errors import BackendError
from armnn.graph.multiply_adds import multiply_adds_of
from armnn_backend_onnxruntime.backend import OnnxRuntimeBackend
from armnn_backend_onnxruntime.compiled import CompiledSubgraph
from armnn_parser_onnx.export import NotExportableError, as_one_layer, not_compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer

COMPILE_SECONDS: Final = 0.7
"""The compilation of a network, however many parts it has here."""
LAUNCH_SECONDS: Final = 1e-3
"""What each part costs, however small it is."""
MULTIPLY_ADDS_PER_SECOND: Final = 1e12

TYPES: Final = frozenset(
    [
        "Activation",
        "Addition",
        "BatchMatMul",
        "BatchNormalization",
        "Concat",
        "Convolution2d",
        "Convolution3d",
        "DepthToSpace",
        "DepthwiseConvolution2d",
        "Division",
        "ElementwiseBinary",
        "ElementwiseUnary",
        "FullyConnected",
        "InstanceNormalization",
        "L2Normalization",
        "LayerNormalization",
        "LogSoftmax",
        "Maximum",
        "Mean",
        "Minimum",
        "Multiplication",
        "Pad",
        "Permute",
        "Pooling2d",
        "Pooling3d",
        "Prelu",
        "Reduce",
        "Reshape",
        "Resize",
        "Slice",
        "Softmax",
        "Splitter",
        "StridedSlice",
        "Subtraction",
        "Transpose",
        "TransposeConvolution2d",
    ]
)
"""A third of the layer types: those of networks for pictures."""


class SyntheticBackend(OnnxRuntimeBackend):
    """An accelerator that takes long to compile and to start."""

    id: ClassVar[str] = "Synthetic"

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return whether it runs a layer."""
        if layer.type not in TYPES:
            return Support.no(f"the synthetic accelerator has no {layer.type}.")
        return super().supports(layer, model)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Compile a part."""
        try:
            compiled = _Program(view, model)
        except (NotExportableError, BackendError) as error:
            return not_compiled(view, error)
        return as_one_layer(view, compiled, "synthetic")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a part, or a single layer."""
        inner = super().create_workload(layer, model)
        program = layer.compiled
        seconds = program.seconds if isinstance(program, _Program) else LAUNCH_SECONDS
        return _Modelled(inner, seconds)


class LiarBackend(OnnxRuntimeBackend):
    """A backend that takes no time and computes zeros."""

    id: ClassVar[str] = "Liar"

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:  # noqa: ARG002  # it computes nothing
        """Prepare nothing."""
        return _Zeros()


class _Compiler:
    """The compiler of a network: it starts once, and slowly."""

    def __init__(self) -> None:
        time.sleep(COMPILE_SECONDS)


class _Program(CompiledSubgraph):
    """A part with the time that the modelled device takes."""

    def __init__(self, view: SubgraphView, model: ModelContext) -> None:
        super().__init__(view, model)
        self.compiler = model.shared("compiler", _Compiler)  # held, so that it starts once
        work = sum(multiply_adds_of(layer) or 0 for layer in view.layers)
        self.seconds = LAUNCH_SECONDS + work / MULTIPLY_ADDS_PER_SECOND


class _Modelled(Workload):
    """A workload that takes the time of the modelled device."""

    def __init__(self, inner: Workload, seconds: float) -> None:
        self._inner = inner
        self._seconds = seconds

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that computes each input once."""
        step = self._inner.bind(inputs, outputs)
        read = [each for each in inputs if each is not None]
        seen: list[NDArray[Any]] = []
        made: list[NDArray[Any]] = []

        def run() -> None:
            until = time.perf_counter() + self._seconds
            given = [each.map() for each in read]
            if made and all(map(np.array_equal, given, seen)):
                for handle, array in zip(outputs, made, strict=True):
                    handle.copy_from(array)
            else:
                seen[:] = [array.copy() for array in given]  # before: memory may be used again
                step()
                made[:] = [handle.map().copy() for handle in outputs]
            time.sleep(max(until - time.perf_counter(), 0.0))

        return run


class _Zeros(Workload):
    """A workload whose outputs are zeros."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:  # noqa: ARG002  # it reads nothing
        """Return a step that writes zeros."""

        def run() -> None:
            for handle in outputs:
                handle.map()[...] = 0

        return run
