# SPDX-License-Identifier: MIT
"""The backend class of OpenVino, named by the entry point."""

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
    ProfilingContext,
    ProfilingSink,
    SubgraphView,
    Support,
    Workload,
)
from armnn.errors import BackendError, InvalidArgumentError
from armnn.graph import Layer
from armnn_backend_openvino.compiled import CompiledSubgraph, CompiledWorkload
from armnn_backend_openvino.devices import OPTIONS, TRUST, CoreUser, core, device_of
from armnn_backend_openvino.kernel_times import KernelTimes
from armnn_backend_openvino.support import support_of
from armnn_parser_onnx.export import (
    NotExportableError,
    as_one_layer,
    computed_inputs,
    layer_view,
    not_compiled,
)


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
        return support_of(layer, device_of(model.options), trusting=trusting)

    def score(self) -> int:
        """Return 0: never chosen automatically."""
        return 0

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The available OpenVINO devices and the supported behaviours.

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
        return ModelContext(options)

    def create_profiling_context(self, sink: ProfilingSink) -> ProfilingContext:
        """Return what reports the times of OpenVINO's nodes."""
        return KernelTimes(sink)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Replace a subgraph by one PreCompiled layer, or fail it."""
        try:
            compiled = CompiledSubgraph(view, model)
        except (NotExportableError, BackendError) as error:
            return not_compiled(view, error)
        return as_one_layer(view, compiled, "openvino")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a compiled subgraph, or compile a single layer.

        Raises:
            BackendError: OpenVINO refused the layer.
        """
        if isinstance(layer.compiled, CompiledSubgraph):
            return CompiledWorkload(layer.compiled, range(len(layer.inputs)))
        compiled = CompiledSubgraph(layer_view(layer), model)
        return CompiledWorkload(compiled, computed_inputs(layer))
