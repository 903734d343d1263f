# SPDX-License-Identifier: MIT
"""The workloads of Custom: prepared layers, bound to their tensors."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from armnn.backends import Step, TensorHandle, Workload
from armnn.errors import InvalidArgumentError
from armnn_backend_custom.pre_compiled import CustomPreCompiledObject


class AdditionWorkload(Workload):
    """One Addition layer (Arm NN's tutorial: ``CustomAdditionWorkload``)."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that adds."""
        first, second, total = (handle.map() for handle in (*inputs, *outputs) if handle)
        return functools.partial(np.add, first, second, out=total)


class PreCompiledWorkload(Workload):
    """One PreCompiled layer (Arm NN's tutorial: ``CustomPreCompiledWorkload``)."""

    def __init__(self, compiled: object) -> None:
        """Prepare the object that the layer holds.

        Raises:
            InvalidArgumentError: It is not one of Custom's.
        """
        if not isinstance(compiled, CustomPreCompiledObject):
            raise InvalidArgumentError(
                "CustomPreCompiledWorkload requires a valid pre-compiled object: "
                f"got {compiled!r}, expected a CustomPreCompiledObject."
            )
        self._compiled = compiled

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that runs the object."""
        first, second = (None if handle is None else handle.map() for handle in inputs)
        return functools.partial(self._compiled.add, first, second, outputs[0].map())


class CopyWorkload(Workload):
    """An Input, Output or MemCopy layer, which copies its input."""

    def __init__(self, layer_type: str) -> None:
        self._layer_type = layer_type

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that copies.

        Raises:
            InvalidArgumentError: There is nothing to copy, or nothing to copy to, or the two
                differ in size.
        """
        sources = [handle.map() for handle in inputs if handle is not None]
        targets = [handle.map() for handle in outputs]
        for side, arrays in (("Input", sources), ("Output", targets)):
            if not arrays:
                raise InvalidArgumentError(
                    f"Custom cannot copy for layer type {self._layer_type}: "
                    f"{side} cannot be zero length."
                )
        if sources[0].nbytes != targets[0].nbytes:
            raise InvalidArgumentError(
                f"Custom cannot copy for layer type {self._layer_type}: data input and output "
                f"differ in byte count: got {sources[0].nbytes} and {targets[0].nbytes}."
            )
        return functools.partial(np.copyto, targets[0], sources[0])
