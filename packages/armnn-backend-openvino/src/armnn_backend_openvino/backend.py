# SPDX-License-Identifier: MIT
"""The backend class of OpenVino, which the entry point names, its subgraphs and times of nodes."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from armnn.backends import (
    SUPPORTED,
    Backend,
    BackendContext,
    BackendVersion,
    CreationOptions,
    ModelContext,
    OptimizationViews,
    OptionValue,
    ProfilingContext,
    ProfilingSink,
    Step,
    SubgraphView,
    Support,
    TensorHandle,
    Workload,
)
from armnn.errors import BackendError, InvalidArgumentError
from armnn.graph import Layer
from armnn.types import ActivationFunction, BinaryOperation, DataType
from armnn_backend_openvino.devices import (
    OPTIONS,
    TRUST,
    CoreUser,
    core,
    device_of,
    openvino,
    properties_of,
    with_usable_threads,
)
from armnn_parser_onnx.export import (
    NotExportableError,
    as_one_layer,
    computed_inputs,
    layer_view,
    not_compiled,
    to_onnx,
)

_TYPES = (DataType.FLOAT32, DataType.FLOAT16, DataType.SIGNED32, DataType.BOOLEAN)
"""The types that OpenVINO's CPU device computes in; 64-bit types become 32-bit ones there."""

_THROUGH_FLOAT = ("Activation", "BatchMatMul", "Comparison", "Division", "Mean", "Reduce")
"""Layers of integers that OpenVINO computes in Float32, found by `armnn compare`."""

_ZERO_IS_DEFAULT = (ActivationFunction.HARD_SIGMOID, ActivationFunction.SELU)
"""Activations whose parameters become ONNX's defaults if they are 0."""

_ACTIVATIONS = {"Rnn": 1, "Gru": 2, "SequenceLstm": 3}
"""How many activations a direction has."""

_DIFFERENT_PARAMETERS = {
    "clip": "it clips, and OpenVINO clips the cell state, too.",
    "exclude_outside": "OpenVINO does not exclude samples outside of the picture.",
    "input_forget": "OpenVINO does not couple the gates of an LSTM.",
}
"""Fields of descriptors that, if they are set, OpenVINO takes differently."""


def _support_of(layer: Layer, device: str, *, trusting: bool = False) -> Support:
    """Return whether a device runs a layer, or why not.

    Args:
        layer: The layer.
        device: OpenVINO's name of it.
        trusting: Whether layers with results that are known to be wrong are run, too.
    """
    values = [
        *((f"input {index}", value) for index, value in enumerate(layer.inputs)),
        *((f"output {index}", value) for index, value in enumerate(layer.outputs)),
    ]
    for name, value in values:
        if value is None:
            continue
        if value.info.data_type not in _TYPES:
            expected = ", ".join(data_type.arm_name for data_type in _TYPES)
            return Support.no(f"{name} is {value.info.data_type.arm_name}, expected {expected}.")
        if not value.info.is_static:
            return Support.no(f"the shape of {name} depends on computed values.")
        if 0 in value.info.static_shape:
            return Support.no(f"{name} is empty, which OpenVINO does not run.")
    if not trusting and (reason := _different(layer)):
        return Support.no(reason)
    try:
        model = core().read_model(to_onnx(layer_view(layer)))
        refused = {node.get_friendly_name() for node in model.get_ordered_ops()}
        refused -= core().query_model(model, device).keys()
    except NotExportableError as error:
        return Support.no(str(error))
    except RuntimeError as error:
        # OpenVINO numbers its nodes anew each time; a question has one answer.
        words = re.sub(r"(\w)[-_]\d+\b", r"\1", " ".join(str(error).split()))
        return Support.no(f"OpenVINO does not read it: {words}")
    if refused:
        return Support.no(f"device {device} of OpenVINO does not run {', '.join(sorted(refused))}.")
    return SUPPORTED


def _different(layer: Layer) -> str:
    """Return why a layer's result would be another one, or ""."""
    d: Any = layer.descriptor
    for field, reason in _DIFFERENT_PARAMETERS.items():
        if getattr(d, field, False):
            return reason
    if layer.type == "SequenceLstm" and layer.input("peephole_weights") is not None:
        return "OpenVINO does not run an LSTM with peepholes."
    count = _ACTIVATIONS.get(layer.type, 0)
    if count and d.activations[:count] != d.activations[-count:]:
        return "OpenVINO takes the activations of the first direction for both."
    if layer.type == "Normalization" and d.k != int(d.k):
        return f"OpenVINO cuts k, which is {d.k}, to a whole number."
    if getattr(d, "function", None) in _ZERO_IS_DEFAULT and not (d.a and d.b):
        return "OpenVINO takes a parameter of 0 for one that is not given."
    (first, *_) = layer.inputs
    if first is None or first.info.data_type is not DataType.SIGNED32:
        return ""
    inexact = getattr(d, "operation", None) in (BinaryOperation.DIV, BinaryOperation.POWER)
    if inexact or layer.type in _THROUGH_FLOAT:
        return "OpenVINO computes it in Float32, which does not hold all numbers of Signed32."
    return ""


class _Current(threading.local):
    """The sink of a thread's profiled run."""

    sink: ProfilingSink | None = None


_CURRENT = _Current()


class _KernelTimes(ProfilingContext):
    """Lets the steps of a run report times of nodes."""

    def __init__(self, sink: ProfilingSink) -> None:
        self._sink = sink

    def begin_run(self, network_id: int) -> None:  # noqa: ARG002  # one sink serves all networks
        """Report from now on, in this thread."""
        _CURRENT.sink = self._sink

    def end_run(self, network_id: int) -> None:  # noqa: ARG002  # as above
        """Report no more."""
        _CURRENT.sink = None


def _layers_of_nodes(
    model: openvino.CompiledModel, layers: Mapping[str, str]
) -> dict[str, tuple[str, str]]:
    """Return each executed node's layer and its type.

    A node that came from several layers has the first one.

    Args:
        model: Its nodes say which ones of the ONNX model they came from.
        layers: The types of layers by name; a node of a layer begins with the layer's name.
    """
    found: dict[str, tuple[str, str]] = {}
    for node in model.get_runtime_model().get_ordered_ops():
        info = node.get_rt_info()
        if "originalLayersNames" not in info:
            continue
        origins = str(info["originalLayersNames"].astype(str)).split(",")
        names = (origin.rpartition("/")[0] for origin in origins)
        name = next((name for name in names if name in layers), None)
        if name is not None:
            found[node.get_friendly_name()] = (name, layers[name])
    return found


def report(
    sink: ProfilingSink,
    request: openvino.InferRequest,
    began_ns: int,
    layers: Mapping[str, tuple[str, str]],
) -> None:
    """Report the nodes of a request that ran.

    OpenVINO knows how long a node took and not when: their events follow each other.
    """
    for node in request.profiling_info:
        duration = int(node.real_time.total_seconds() * 1e9)
        if duration:
            name, kind = layers.get(node.node_name, (node.node_name, node.node_type))
            details = {"category": "kernel", "type": kind, "backend": "OpenVino"}
            sink.event(name, began_ns, began_ns + duration, **details)
            began_ns += duration


class _CompiledSubgraph:
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
                f"OpenVINO cannot compile a part of {len(view.layers)} layers, the first of which "
                f"is {view.layers[0].name!r}, for {device}: {_first_line(error)}"
            ) from error
        if not context.options.get(TRUST, False):
            _check_shapes(self.model, view)
        types = {layer.name: str(layer.type) for layer in view.layers}
        self.layers = _layers_of_nodes(self.model, types)


class _CompiledWorkload(Workload):
    """Runs a compiled subgraph, one inference request per execution context."""

    def __init__(self, compiled: _CompiledSubgraph, inputs: Sequence[int]) -> None:
        """Make a workload.

        Args:
            compiled: The program to run.
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
            sink, began_ns = _CURRENT.sink, time.perf_counter_ns()
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


class OpenVinoBackend(Backend):
    """Hands whole subgraphs to OpenVINO, as ONNX models.

    Options of a model: ``Device`` (default "CPU"), ``NumberOfThreads``, ``FastMathEnabled`` (lets
    OpenVINO compute in less than float32), ``TrustResults`` (runs layers that OpenVINO is known to
    compute wrongly, too, to examine them).
    """

    id: ClassVar[str] = "OpenVino"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 0)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return whether OpenVINO runs a layer on the model's device."""
        trusting = bool(model.options.get(TRUST, False))
        return _support_of(layer, device_of(model.options), trusting=trusting)

    def score(self) -> int:
        """Return 0: never chosen automatically."""
        return 0

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The available OpenVINO devices and the supported behaviors.

        Relu and Maximum lose NaN; averages of large numbers overflow.
        """
        return {
            "NonConstWeights": True,
            "AsyncExecution": False,
            "ProtectedContentAllocation": False,
            "ConstantTensorsAsInputs": True,
            "PreImportIOTensors": True,
            "ExternallyManagedMemory": True,
            "MultiAxisPacking": True,
            "SingleAxisPacking": True,
            "HasFp16": True,
            "PropagatesNaN": False,
            "KeepsExtremes": False,
            "Devices": ",".join(core().available_devices),
        }

    def create_context(self, options: CreationOptions) -> BackendContext:
        """Return a context that keeps OpenVINO's core for a runtime.

        Raises:
            InvalidArgumentError: The runtime has options for OpenVino, which takes a model's only.
        """
        given = sorted(options.backend_options.get(self.id, {}))
        if given:
            raise InvalidArgumentError(
                f"backend 'OpenVino' has no options for a runtime: got {', '.join(given)}; those "
                f"of a model are {', '.join(OPTIONS)}."
            )
        return CoreUser()

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Check the options of a model.

        Raises:
            InvalidArgumentError: An option is unknown, or the device is not here.
        """
        unknown = sorted(options.keys() - set(OPTIONS))
        if unknown:
            raise InvalidArgumentError(
                f"backend 'OpenVino' does not know the option {unknown[0]!r}: expected some of "
                f"{', '.join(OPTIONS)}."
            )
        device_of(options)
        return ModelContext(with_usable_threads(options))

    def create_profiling_context(self, sink: ProfilingSink) -> ProfilingContext:
        """Return a profiling context that reports the times of OpenVINO's nodes."""
        return _KernelTimes(sink)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Replace a subgraph by one PreCompiled layer, or fail it."""
        try:
            compiled = _CompiledSubgraph(view, model)
        except (NotExportableError, BackendError) as error:
            return not_compiled(view, error)
        return as_one_layer(view, compiled, "openvino")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a compiled subgraph, or compile a single layer.

        Raises:
            BackendError: OpenVINO refused the layer.
        """
        if isinstance(layer.compiled, _CompiledSubgraph):
            return _CompiledWorkload(layer.compiled, range(len(layer.inputs)))
        compiled = _CompiledSubgraph(layer_view(layer), model)
        return _CompiledWorkload(compiled, computed_inputs(layer))
