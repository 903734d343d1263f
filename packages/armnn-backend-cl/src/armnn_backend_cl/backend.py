# SPDX-License-Identifier: MIT
"""The backend class of GpuAcc; the entry point names it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from armnn.backends import (
    SUPPORTED,
    Backend,
    BackendContext,
    BackendVersion,
    CreationOptions,
    MemoryManager,
    ModelContext,
    OptimizationViews,
    OptionValue,
    ProfilingSink,
    SubgraphView,
    Support,
    TensorHandleFactories,
    Workload,
)
from armnn.errors import BackendError
from armnn.graph import Layer
from armnn.types import DataLayout
from armnn_backend_cl.device import Device, Queue, open_device
from armnn_backend_cl.fusion import Compiled, parts_of, substituted
from armnn_backend_cl.launches import LaunchingWorkload, Refused
from armnn_backend_cl.layers import WrongLayout, launches_of
from armnn_backend_cl.memory import DeviceMemory
from armnn_backend_cl.options import GpuAccModel, RuntimeOptions, runtime_options
from armnn_backend_cl.profiling import DeviceTimes


class GpuAccBackend(Backend):
    """Runs layers as kernels of an OpenCL device.

    Options of a runtime: ``Device``, an index, "gpu", "cpu", "accelerator" or a part of a name, the
    first GPU by default; ``KernelProfilingEnabled``, without which profiles have no kernels. Of a
    model: ``FastMathEnabled``, ``SaveCachedNetwork`` and ``CachedNetworkFilePath``. Of both:
    ``TuningLevel``, 0 to 3, and ``TuningFile``, which keeps what was measured.
    """

    id: ClassVar[str] = "GpuAcc"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 3)

    def __init__(self) -> None:
        self._chosen: Device | None = None
        self._options = RuntimeOptions()

    @property
    def device(self) -> Device:
        """The device of this backend's runtime, opened when it is first needed."""
        if self._chosen is None:
            self._chosen = open_device()
        return self._chosen

    def score(self) -> int:
        """Return 0: it is used where a list of backends names it."""
        return 0

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The capabilities of the backend, and the device and its driver, once one is open."""
        chosen = self._chosen
        opened = {} if chosen is None else chosen.facts
        return {
            **opened,
            "NonConstWeights": False,
            "AsyncExecution": False,
            "ProtectedContentAllocation": False,
            "ConstantTensorsAsInputs": True,
            "PreImportIOTensors": True,
            "ExternallyManagedMemory": False,
            "MultiAxisPacking": True,
            "SingleAxisPacking": True,
            "HasFp16": True,
            "PropagatesNaN": True,
            "KeepsExtremes": False,
            "Disturbs": "descriptors, environment, signals, threads",  # PoCL and pyopencl do
            "CopyLatencyBytes": 128 * 1024,  # 20 us on Intel's CPU runtime, at 8 GB/s
        }

    def create_context(self, options: CreationOptions) -> BackendContext:
        """Open the device.

        Raises:
            BackendUnavailableError: There is no driver or device.
            InvalidArgumentError: There is no such device or option.
        """
        self._options = runtime_options(options.backend_options.get(self.id, {}))
        self._chosen = open_device(self._options.device)
        return BackendContext()

    def create_model_context(self, options: Mapping[str, OptionValue]) -> GpuAccModel:
        """Check the options of a network.

        Raises:
            InvalidArgumentError: One is not known, or of a wrong type, or its file cannot be used.
        """
        return GpuAccModel(options)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return whether a layer has kernels, or why not."""
        try:
            launches_of(layer, model.quantized_arithmetic)
        except WrongLayout as reason:
            return Support.no(str(reason), DataLayout.NHWC)
        except Refused as reason:
            return Support.no(str(reason))
        return SUPPORTED

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Join products and the functions of elements behind them, and functions alone.

        They become PreCompiled layers, which do not have the weights among their inputs: the device
        holds them only as the kernels read them.
        """
        views = OptimizationViews()
        for part in parts_of(view):
            substitution = substituted(part, model.quantized_arithmetic)
            if substitution is None:
                views.untouched.append(part)
            else:
                views.substitutions.append(substitution)
        return views

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a layer."""
        if layer.type == "PreCompiled":
            compiled = cast("Compiled", layer.compiled)
            launches, kind = compiled.launches, compiled.head
        else:
            kind = str(layer.type)
            try:
                launches = launches_of(layer, model.quantized_arithmetic)
            except Refused as reason:
                raise BackendError(f"layer {layer.name!r} ({layer.type}): {reason}") from None
        own = cast("GpuAccModel", model)
        tuner = own.tuner or self._options.tuner
        if tuner is not None:
            infos = layer.input_infos, layer.output_infos
            launches = tuner.tuned(self.device, launches, *infos, own)
        return LaunchingWorkload(self.device, launches, model, (layer.name, kind))

    def create_profiling_context(self, sink: ProfilingSink) -> DeviceTimes | None:
        """Return the context that reports the kernels of a run, with the times of the device."""
        return DeviceTimes(sink, self.id) if self._options.has_kernel_times else None

    def create_memory_manager(self) -> MemoryManager:
        """Return the queue of an execution context."""
        return Queue(self.device)

    @property
    def handle_factory_preferences(self) -> Sequence[str]:
        """The memory of the device."""
        return (f"opencl:{self.device.index}",)

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        """Register the memory of the device."""
        registry.register(DeviceMemory(self.device))
