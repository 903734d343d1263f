# SPDX-License-Identifier: MIT
"""A subgraph as an onnxruntime session, and its workload."""

from __future__ import annotations

from collections.abc import Sequence

from armnn.backends import ModelContext, Step, SubgraphView, TensorHandle, Workload
from armnn.errors import BackendError
from armnn_backend_onnxruntime.devices import device_of
from armnn_backend_onnxruntime.library import onnxruntime
from armnn_backend_onnxruntime.sessions import first_line, make_session
from armnn_parser_onnx.export import onnx_type_of, to_onnx


class CompiledSubgraph:
    """A session, its inputs and outputs ordered as the view's.

    Attributes:
        session: onnxruntime's session, which threads share.
        place: Where the layers are and run, for messages.
    """

    def __init__(self, view: SubgraphView, context: ModelContext) -> None:
        """Make a session of a view for the options' device.

        Raises:
            NotExportableError: ONNX cannot say one of the layers.
            BackendError: onnxruntime refused the model.
        """
        content = to_onnx(view)
        first, device = view.layers[0].name, device_of(context.options)
        self.place = f"{len(view.layers)} layers from {first!r} on for {device}"
        try:
            self.session = make_session(content, context.options)
        except Exception as error:
            raise BackendError(
                f"onnxruntime cannot compile {self.place}: {first_line(error)}"
            ) from error


class CompiledWorkload(Workload):
    """Runs a session, with one binding per execution context."""

    def __init__(self, compiled: CompiledSubgraph, inputs: Sequence[int]) -> None:
        """Make a workload.

        Args:
            compiled: What to run.
            inputs: Which inputs of the layer the model reads, in the model's order.
        """
        self._compiled = compiled
        self._inputs = tuple(inputs)

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that runs the session on these tensors."""
        session = self._compiled.session
        binding = session.io_binding()
        read = [inputs[index] for index in self._inputs]
        for argument, handle in zip(session.get_inputs(), read, strict=True):
            if handle is not None:
                binding.bind_input(argument.name, *_memory(handle))
        for argument, handle in zip(session.get_outputs(), outputs, strict=True):
            binding.bind_output(argument.name, *_memory(handle))
        kept = [*read, *outputs]
        return _Step(self._compiled, binding, kept)


class _Step:
    """A bound run of a session; it keeps the memory."""

    def __init__(
        self,
        compiled: CompiledSubgraph,
        binding: onnxruntime.IOBinding,
        kept: Sequence[TensorHandle | None],
    ) -> None:
        self._compiled = compiled
        self._binding = binding
        self._kept = kept

    def __call__(self) -> None:
        try:
            self._compiled.session.run_with_iobinding(self._binding)
        except Exception as error:
            raise BackendError(
                f"onnxruntime failed in {self._compiled.place}: {first_line(error)}"
            ) from error


def _memory(handle: TensorHandle) -> tuple[str, int, object, tuple[int, ...], int]:
    """Return a tensor's device, device number, type, shape and address."""
    array, data_type = handle.map(), handle.info.data_type
    # Releases before 1.20 know NumPy's own types only, which BFloat16 is none of.
    element = array.dtype if array.dtype.isbuiltin == 1 else onnx_type_of(data_type)
    return "cpu", 0, element, array.shape, array.ctypes.data
