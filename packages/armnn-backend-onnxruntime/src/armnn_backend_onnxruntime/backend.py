# SPDX-License-Identifier: MIT
"""The backend class of OnnxRuntime, named by the entry point, its subgraphs and workloads."""

from __future__ import annotations

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
    Step,
    SubgraphView,
    Support,
    TensorHandle,
    Workload,
)
from armnn.errors import BackendError, InvalidArgumentError
from armnn.graph import Layer
from armnn.types import ActivationFunction, DataLayout, DataType, ResizeMethod
from armnn_backend_onnxruntime.sessions import (
    OPTIONS,
    TRUST,
    check_options,
    device_of,
    devices,
    first_line,
    make_session,
    onnxruntime,
    with_usable_threads,
)
from armnn_parser_onnx.export import (
    NotExportableError,
    as_one_layer,
    computed_inputs,
    layer_view,
    not_compiled,
    onnx_type_of,
    to_onnx,
)


def _support_of(layer: Layer, model: ModelContext) -> Support:
    """Return whether a device runs a layer, or why not."""
    for name, values in (("input", layer.inputs), ("output", layer.outputs)):
        for index, value in enumerate(values):
            if value is not None and not value.info.is_static:
                return Support.no(f"the shape of {name} {index} depends on computed values.")
    if not model.options.get(TRUST, False) and (reason := _different(layer)):
        return Support.no(reason)
    try:
        make_session(to_onnx(layer_view(layer)), model.options, optimize=False)
    except NotExportableError as error:
        return Support.no(str(error))
    except Exception as error:  # onnxruntime's have no common class
        return Support.no(
            f"{device_of(model.options)} of onnxruntime does not run it: {first_line(error)}"
        )
    return SUPPORTED


def _different(layer: Layer) -> str:
    """Return why a layer's result would be another one, or "".

    The conformance kit found each of these; no session refuses them.
    """
    d: Any = layer.descriptor
    types = [value.info.data_type for value in layer.inputs if value is not None]
    is_double = DataType.FLOAT64 in types[:1]
    function = getattr(d, "function", None)
    cubic = layer.type == "Resize" and d.method is ResizeMethod.CUBIC
    reasons = {
        "it clips, and onnxruntime does not clip the cell state before its activation.": getattr(
            d, "clip", 0
        ),
        "onnxruntime moves cubic samples to channels last, where it cannot compute them.": cubic
        and d.data_layout is not DataLayout.NCHW,
        "onnxruntime computes Shrink in Float32.": function is ActivationFunction.SHRINK
        and types[0] not in (DataType.FLOAT32, DataType.FLOAT16),
        "onnxruntime computes GeluTanH of Float64 with constants of Float32.": is_double
        and function is ActivationFunction.GELU_TANH,
        f"onnxruntime has no {layer.type} of Float64, and notices when it runs.": is_double
        and layer.type in ("Gru", "SequenceLstm"),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")


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


class _CompiledWorkload(Workload):
    """Runs a session, with one binding per execution context."""

    def __init__(self, compiled: CompiledSubgraph, inputs: Sequence[int]) -> None:
        """Make a workload.

        Args:
            compiled: The program to run.
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


class OnnxRuntimeBackend(Backend):
    """Hands whole subgraphs to onnxruntime, as ONNX models.

    Options of a model:

    - ``Device``: an execution provider, by default "CPUExecutionProvider".
    - ``NumberOfThreads``: by default onnxruntime's choice.
    - ``GraphOptimization``: "none", "basic", "extended" or "all", the default.
    - ``ProviderOptions``: pairs for the provider, such as "device_id=1,enable_cuda_graph=1".
    - ``ProviderPackage``: a module with a plug-in provider; those whose names begin with
      "onnxruntime_ep" are found without it.
    - ``TrustResults``: runs layers that onnxruntime is known to compute wrongly, too.
    """

    id: ClassVar[str] = "OnnxRuntime"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 0)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return whether onnxruntime runs a layer on the model's device."""
        return _support_of(layer, model)

    def score(self) -> int:
        """Return 0: never chosen automatically."""
        return 0

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The available execution providers and the supported behaviors.

        Softmax multiplies by beta first, which overflows.
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
            "Devices": ",".join(devices()),
        }

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        """Return None: sessions belong to networks.

        Raises:
            InvalidArgumentError: The runtime has options for OnnxRuntime, which takes a model's
                only.
        """
        given = sorted(options.backend_options.get(self.id, {}))
        if given:
            raise InvalidArgumentError(
                f"backend 'OnnxRuntime' has no options for a runtime: got {', '.join(given)}; "
                f"those of a model are {', '.join(OPTIONS)}."
            )
        return None

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Check the options of a model.

        Raises:
            InvalidArgumentError: An option is unknown or has no such value, or the device is not
                here.
        """
        check_options(options)
        return ModelContext(with_usable_threads(options))

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Replace a subgraph by one PreCompiled layer, or fail it."""
        try:
            compiled = CompiledSubgraph(view, model)
        except (NotExportableError, BackendError) as error:
            return not_compiled(view, error)
        return as_one_layer(view, compiled, "onnxruntime")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a compiled subgraph, or compile a single layer.

        Raises:
            BackendError: onnxruntime refused the layer.
        """
        if isinstance(layer.compiled, CompiledSubgraph):
            return _CompiledWorkload(layer.compiled, range(len(layer.inputs)))
        compiled = CompiledSubgraph(layer_view(layer), model)
        return _CompiledWorkload(compiled, computed_inputs(layer))
