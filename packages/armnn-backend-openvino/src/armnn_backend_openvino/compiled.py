# SPDX-License-Identifier: MIT
"""A subgraph compiled by OpenVINO, and the workload running it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from armnn.backends import ModelContext, Step, SubgraphView, TensorHandle, Workload
from armnn.errors import BackendError, InvalidArgumentError
from armnn_backend_openvino.devices import TRUST, core, device_of, properties_of
from armnn_backend_openvino.kernel_times import CURRENT, layers_of_nodes, report
from armnn_backend_openvino.library import openvino
from armnn_parser_onnx.export import to_onnx


class CompiledSubgraph:
    """A compiled model, its inputs ordered as the view's.

    Its outputs are, too.

    Attributes:
        model: OpenVINO's compiled model. Threads share it; each has a request of its own.
        layers: The name and type of the layer that an executed node came from, by the node's name.
    """

    def __init__(self, view: SubgraphView, context: ModelContext) -> None:
        """Compile a view for the options' device and properties.

        Raises:
            NotExportableError: ONNX cannot say one of the layers.
            BackendError: OpenVINO refused the model, or changed the shape of an output.
        """
        content = to_onnx(view)
        device, properties = device_of(context.options), properties_of(context.options)
        try:
            self.model = core().compile_model(core().read_model(content), device, properties)
        except RuntimeError as error:
            raise BackendError(
                f"OpenVINO cannot compile {len(view.layers)} layers from "
                f"{view.layers[0].name!r} on for {device}: {_first_line(error)}"
            ) from error
        if not context.options.get(TRUST, False):
            _check_shapes(self.model, view)
        types = {layer.name: str(layer.type) for layer in view.layers}
        self.layers = layers_of_nodes(self.model, types)


class CompiledWorkload(Workload):
    """Runs a compiled subgraph, one inference request per execution context."""

    def __init__(self, compiled: CompiledSubgraph, inputs: Sequence[int]) -> None:
        """Make a workload.

        Args:
            compiled: What to run.
            inputs: Which inputs of the layer the model reads, in the model's order.
        """
        self._compiled = compiled
        self._inputs = tuple(inputs)

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that runs a request on these tensors."""
        request = self._compiled.model.create_infer_request()
        read = (inputs[index] for index in self._inputs)
        for index, handle in enumerate(handle for handle in read if handle is not None):
            request.set_input_tensor(index, _tensor(handle))
        if len(outputs) != len(self._compiled.model.outputs):
            raise InvalidArgumentError(
                f"an OpenVINO model writes {len(self._compiled.model.outputs)} tensors: got "
                f"{len(outputs)}."
            )
        for index, handle in enumerate(outputs):
            request.set_output_tensor(index, _tensor(handle))

        def step() -> None:
            sink, began_ns = CURRENT.sink, time.perf_counter_ns()
            # The results are in the outputs' memory already; sharing them would save no copy.
            request.infer(share_outputs=True)
            if sink is not None:
                report(sink, request, began_ns, self._compiled.layers)

        return step


def _check_shapes(model: openvino.CompiledModel, view: SubgraphView) -> None:
    """Raise BackendError if an output has another shape."""
    for made, slot in zip(model.outputs, view.outputs, strict=True):
        shape = tuple(made.get_partial_shape().to_shape())
        if shape != slot.info.static_shape:
            raise BackendError(
                f"OpenVINO computes {slot.name!r} with the shape {list(shape)}, expected "
                f"{list(slot.info.static_shape)}"
            )


def _tensor(handle: TensorHandle) -> openvino.Tensor:
    return openvino.Tensor(handle.map(), shared_memory=True)


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
