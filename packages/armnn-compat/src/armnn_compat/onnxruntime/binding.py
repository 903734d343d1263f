# SPDX-License-Identifier: MIT
"""``IOBinding``: inputs and outputs that stay bound between runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from armnn_compat.onnxruntime.model import NodeArg
from armnn_compat.onnxruntime.options import RunOptions
from armnn_compat.onnxruntime.values import OrtValue, array_at, check_on_processor


class BoundSession(Protocol):
    """An ``InferenceSession``, as its bindings use it."""

    def get_inputs(self) -> list[NodeArg]:
        """Return the inputs that every run needs."""

    def get_outputs(self) -> list[NodeArg]:
        """Return the outputs."""

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None,
    ) -> list[NDArray[Any]]:
        """Run the model."""


class IOBinding:
    """Arrays by name, which runs read and write.

    Args:
        session: The session; ``InferenceSession.io_binding()`` makes one, too.
    """

    def __init__(self, session: BoundSession) -> None:
        self._session = session
        self._inputs: dict[str, NDArray[Any]] = {}
        self._outputs: dict[str, NDArray[Any] | None] = {}
        self._results: dict[str, OrtValue] = {}

    def bind_cpu_input(self, name: str, arr_on_cpu: NDArray[Any]) -> None:
        """Bind an input to an array.

        Raises:
            RuntimeError: The model has no such input.
        """
        self._check_name(name, [*self._session.get_inputs()])
        self._inputs[name] = arr_on_cpu

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: int | DTypeLike,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Bind an input to the memory at an address.

        Raises:
            RuntimeError: The model has no such input, or the memory is not the processor's.
        """
        del device_id
        check_on_processor(device_type, f"the input {name!r}")
        self.bind_cpu_input(name, array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Bind an input to a value.

        Raises:
            RuntimeError: The model has no such input.
        """
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: int | DTypeLike | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Request an output, in new or in given memory.

        Raises:
            RuntimeError: The model has no such output, or the memory is not the processor's.
            ValueError: There is an address but no type or shape.
        """
        del device_id
        check_on_processor(device_type, f"the output {name!r}")
        self._check_name(name, [*self._session.get_outputs()])
        if buffer_ptr is None:
            self._outputs[name] = None
        elif element_type is None or shape is None:
            raise ValueError(
                "`element_type` and `shape` are to be provided if pre-allocated memory is provided"
            )
        else:
            self._outputs[name] = array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Ask for an output in a value's memory.

        Raises:
            RuntimeError: The model has no such output.
        """
        self._check_name(name, [*self._session.get_outputs()])
        self._outputs[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Do nothing: all memory is the processor's."""

    def synchronize_outputs(self) -> None:
        """Do nothing: all memory is the processor's."""

    def get_outputs(self) -> list[OrtValue]:
        """Return the last run's outputs in the order of binding."""
        return list(self._results.values())

    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]:
        """Return the same as :meth:`get_outputs`."""
        return self.get_outputs()

    def copy_outputs_to_cpu(self) -> list[NDArray[Any]]:
        """Return copies of the outputs of the last run."""
        return [value.numpy().copy() for value in self._results.values()]

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._outputs.clear()
        self._results.clear()

    def run(self, run_options: RunOptions | None) -> None:
        """Run the session; ``InferenceSession.run_with_iobinding`` calls it.

        Raises:
            RuntimeError: No output is bound, or one has other dimensions than its memory.
        """
        if not self._outputs:
            raise RuntimeError("no output is bound: call bind_output() for those that are wanted")
        arrays = self._session.run(list(self._outputs), self._inputs, run_options)
        for (name, target), array in zip(self._outputs.items(), arrays, strict=True):
            if target is not None:
                if target.shape != array.shape or target.dtype != array.dtype:
                    raise RuntimeError(
                        f"the output {name!r} is {array.dtype} {list(array.shape)}: the memory "
                        f"that is bound to it is {target.dtype} {list(target.shape)}"
                    )
                np.copyto(target, array)
            self._results[name] = OrtValue(array if target is None else target)

    def _check_name(self, name: str, known: Sequence[Any]) -> None:
        names = [each.name for each in known]
        if name not in names:
            raise RuntimeError(
                f"Failed to find NodeArg with name: {name} in the def list {', '.join(names)}"
            )
