# SPDX-License-Identifier: MIT
"""The backend class of OnnxRuntime, named by the entry point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from armnn.backends import (
    Backend,
    BackendContext,
    BackendVersion,
    CreationOptions,
    ModelContext,
    OptimizationViews,
    OptionValue,
    SubgraphView,
    Support,
    Workload,
)
from armnn.errors import BackendError, InvalidArgumentError
from armnn.graph import Layer
from armnn_backend_onnxruntime.compiled import CompiledSubgraph, CompiledWorkload
from armnn_backend_onnxruntime.devices import devices
from armnn_backend_onnxruntime.sessions import OPTIONS, check_options
from armnn_backend_onnxruntime.support import support_of
from armnn_parser_onnx.export import (
    NotExportableError,
    as_one_layer,
    computed_inputs,
    layer_view,
    not_compiled,
)


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
        return support_of(layer, model)

    def score(self) -> int:
        """Return 0: never chosen automatically."""
        return 0

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The available execution providers and the supported behaviours.

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
        return ModelContext(options)

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
            return CompiledWorkload(layer.compiled, range(len(layer.inputs)))
        compiled = CompiledSubgraph(layer_view(layer), model)
        return CompiledWorkload(compiled, computed_inputs(layer))
