# SPDX-License-Identifier: MIT
"""The backend class of GpuAcc; the entry point names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, cast

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
    SubgraphView,
    Substitution,
    Support,
    TensorHandleFactories,
    Workload,
)
from armnn.errors import BackendError, InvalidArgumentError
from armnn.graph import Layer
from armnn.layers.activation import ActivationDescriptor
from armnn.types import DataLayout
from armnn_backend_cl.device import Device, Queue, open_device
from armnn_backend_cl.launches import Launch, LaunchingWorkload, Refused
from armnn_backend_cl.layers import WrongLayout, launches_of
from armnn_backend_cl.layers.convolution import (
    convolution2d,
    depthwise_convolution2d,
    fully_connected,
    transpose_convolution2d,
)
from armnn_backend_cl.memory import DeviceMemory

DEVICE: Final = "Device"
"""The option of a runtime that says which device it uses."""

_WEIGHTED: Final[dict[str, Callable[[Layer, ActivationDescriptor | None], Sequence[Launch]]]] = {
    "Convolution2d": convolution2d,
    "DepthwiseConvolution2d": depthwise_convolution2d,
    "TransposeConvolution2d": transpose_convolution2d,
    "FullyConnected": fully_connected,
}
"""Layers whose weights are packed, and which apply an activation to their results."""


class GpuAccBackend(Backend):
    """Runs layers as kernels of an OpenCL device.

    Option of a runtime: ``Device``, an index, "gpu", "cpu", "accelerator" or a part of a name; the
    first GPU by default.
    """

    id: ClassVar[str] = "GpuAcc"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 3)

    def __init__(self) -> None:
        self._chosen: Device | None = None

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
        """What the backend can do, and the device and its driver, once one is open."""
        chosen = self._chosen
        opened = {} if chosen is None else {"Device": chosen.name, "Driver": chosen.driver}
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
            "HasFp16": False,
            "PropagatesNaN": True,
            "KeepsExtremes": False,
            "Disturbs": "descriptors, environment, signals, threads",  # PoCL and pyopencl do
        }

    def create_context(self, options: CreationOptions) -> BackendContext:
        """Open the device.

        Raises:
            BackendUnavailableError: There is no driver or device.
            InvalidArgumentError: There is no such device or option.
        """
        given = dict(options.backend_options.get(self.id, {}))
        wanted = given.pop(DEVICE, "")
        if given:
            raise InvalidArgumentError(
                f"backend {self.id!r} does not know the option {min(given)!r} of a runtime: "
                f"expected {DEVICE}"
            )
        if isinstance(wanted, bool) or not isinstance(wanted, (int, str)):
            raise InvalidArgumentError(
                f"the option {DEVICE} of backend {self.id!r} is {wanted!r}: expected an index or a "
                "text"
            )
        self._chosen = open_device(wanted)
        return BackendContext()

    def supports(self, layer: Layer, model: ModelContext) -> Support:  # noqa: ARG002  # no options
        """Return whether a layer has kernels, or why not."""
        try:
            launches_of(layer)
        except WrongLayout as reason:
            return Support.no(str(reason), DataLayout.NHWC)
        except Refused as reason:
            return Support.no(str(reason))
        return SUPPORTED

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:  # noqa: ARG002  # as above
        """Join layers with weights and the activations behind them.

        They become PreCompiled layers, which do not have the weights among their inputs: the device
        holds them only as the kernels read them.
        """
        views = OptimizationViews()
        inside = set(view.layers)
        joined: set[Layer] = set()
        for layer in view.layers:
            if layer in joined:
                continue
            if layer.type not in _WEIGHTED:
                views.untouched.append(view.part(layer))
                continue
            follower = _activation_behind(layer)
            part = [layer]
            if follower is not None and follower in inside:
                part.append(follower)
                joined.add(follower)
            views.substitutions.append(_compiled(view.part(*part), layer, part[1:]))
        return views

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a layer."""
        if layer.type == "PreCompiled":
            launches = cast("_Compiled", layer.compiled).launches
        else:
            try:
                launches = launches_of(layer)
            except Refused as reason:
                raise BackendError(f"layer {layer.name!r} ({layer.type}): {reason}") from None
        return LaunchingWorkload(self.device, launches, model)

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


class _Compiled:
    """The launches of a PreCompiled layer."""

    def __init__(self, launches: Sequence[Launch]) -> None:
        self.launches = launches


def _activation_behind(layer: Layer) -> Layer | None:
    """Return the only reader of a layer's output if it is an activation."""
    uses = layer.output.uses
    if len(uses) != 1:
        return None
    ((reader, _),) = uses
    return reader if reader.type == "Activation" else None


def _compiled(part: SubgraphView, layer: Layer, followers: Sequence[Layer]) -> Substitution:
    activation = cast("ActivationDescriptor", followers[0].descriptor) if followers else None
    replacement = part.replacement()
    read = [
        each.output
        for each, value in zip(replacement.inputs, part.inputs, strict=True)
        if value.constant is None
    ]
    made = replacement.add_pre_compiled(
        read,
        num_output_slots=1,
        outputs=[value.info for value in part.outputs],
        name=layer.name,
    )
    outputs: Any = made if isinstance(made, Sequence) else [made]
    for index, value in enumerate(outputs):
        value.producer.compiled = _Compiled(_WEIGHTED[str(layer.type)](layer, activation))
        replacement.add_output(f"output {index}", value)
    return Substitution(part, replacement)
