# SPDX-License-Identifier: MIT
"""IRuntime, which runs networks in the caller's tensors, and IProfiler, which tells the times."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from numpy.typing import NDArray

import armnn
from armnn.profiling import Recorder, arm_nn_profile
from armnn.runtime import LoadedNetwork, NetworkProperties, Runtime
from armnn_compat.pyarmnn.constants import CONSTANTS
from armnn_compat.pyarmnn.errors import arm_nn_errors
from armnn_compat.pyarmnn.network import Built
from armnn_compat.pyarmnn.optimization import IDeviceSpec, IOptimizedNetwork
from armnn_compat.pyarmnn.tensors import ConstTensor, Tensor, TensorInfo

_NANOSECONDS = 1e-6
"""In milliseconds."""

_BACKENDS = {"Ref": "CpuRef", "Neon": "CpuAcc", "Cl": "GpuAcc", "EthosN": "EthosNAcc"}
"""Backends by the beginning of Arm NN's workload names."""


class IProfiler:
    """Records the runs of a network; ``GetProfiler`` returns one.

    Args:
        network: Its layers are described in the profile; None for no description.
    """

    def __init__(self, network: armnn.Network | None) -> None:
        self._recorder = Recorder(is_recording=False)
        self._network = network

    @property
    def sink(self) -> Recorder | None:
        """The profiler that a run reports to, None while nothing is recorded."""
        return self._recorder if self._recorder.is_recording else None

    def EnableProfiling(self, enableProfiling: bool) -> None:
        """Record from now on, or no more."""
        self._recorder.is_recording = bool(enableProfiling)

    def IsProfilingEnabled(self) -> bool:
        """Return whether runs are recorded."""
        return self._recorder.is_recording

    def as_json(self) -> str:
        """Return the profile in the structure of Arm NN's."""
        return json.dumps(arm_nn_profile(self._recorder.events, self._network), indent="\t")

    def event_log(self) -> str:
        """Return a line for each event.

        It has the times in ms and the backend.
        """
        events = sorted(self._recorder.events, key=lambda event: event.start_ns)
        origin = events[0].start_ns if events else 0
        lines = ["Event Sequence - Name | Duration (ms) | Start (ms) | Stop (ms) | Device"]
        for event in events:
            start, end = event.start_ns - origin, event.end_ns - origin
            times = (f"{each * _NANOSECONDS:.6f}" for each in (end - start, start, end))
            lines.append(" | ".join([event.name, *times, str(event.details.get("backend", ""))]))
        return "\n".join([*lines, ""])


class ProfilerData(NamedTuple):
    """Times of runs and workloads.

    Attributes:
        inference_data: "time_unit", and "execution_time": one number per run.
        per_workload_execution_data: The times of each workload by name, and its "backend".
    """

    inference_data: dict[str, Any]
    per_workload_execution_data: dict[str, dict[str, Any]]


def get_profiling_data(profiler: IProfiler) -> ProfilerData:
    """Return the times in a profile.

    Args:
        profiler: The result of ``GetProfiler``, after a run that it recorded.

    Raises:
        ValueError: No run was recorded.
    """
    events = json.loads(profiler.as_json())["ArmNN"]
    runs = _starting(events, "inference_measurements_")
    executions = [each for run in runs for each in _starting(run, "Execute_")]
    if not executions:
        raise ValueError(
            "the profile has no run: EnableProfiling(True) before EnqueueWorkload() records one"
        )
    workloads = {
        name: _times(event) | {"backend": event.get("backend") or _backend_of(name)}
        for name, event in executions[0].items()
        if isinstance(event, dict) and event.get("type") == "Event"
    }
    return ProfilerData(_times(executions[0]), workloads)


def _starting(events: dict[str, Any], start: str) -> list[dict[str, Any]]:
    return [event for name, event in events.items() if name.startswith(start)]


def _times(event: dict[str, Any]) -> dict[str, Any]:
    (clock,) = _starting(event, "Wall clock time_#")
    return {"time_unit": clock["unit"], "execution_time": list(clock["raw"])}


def _backend_of(workload: str) -> str:
    found = (backend for start, backend in _BACKENDS.items() if workload.startswith(start))
    return next(found, "Unknown")


_NO_DETAILS = CONSTANTS["ProfilingDetailsMethod_Undefined"]


@dataclass
class ExternalProfilingOptions:
    """Profiling by another program, which armnn does not have."""

    m_EnableProfiling: bool = False
    m_OutgoingCaptureFile: str = ""
    m_IncomingCaptureFile: str = ""
    m_FileOnly: bool = False
    m_CapturePeriod: int = 10000
    m_FileFormat: str = "binary"
    m_TimelineEnabled: bool = False


@dataclass
class CreationOptions:
    """The options that a runtime is made with.

    Attributes:
        m_GpuAccTunedParameters: Must be None.
        m_EnableGpuProfiling: Must be false.
        m_DynamicBackendsPath: The directory to scan for dynamic backends; "" for the usual ones.
        m_ProfilingOptions: Of them, ``m_EnableProfiling`` must be false.
    """

    m_GpuAccTunedParameters: Any = None
    m_EnableGpuProfiling: bool = False
    m_DynamicBackendsPath: str = ""
    m_ProfilingOptions: ExternalProfilingOptions = field(default_factory=ExternalProfilingOptions)


@dataclass(frozen=True)
class INetworkProperties:
    """The properties that a network is loaded with.

    Attributes:
        m_AsyncEnabled: Has no effect: any thread may run the network.
        m_InputSource: The source of imported inputs' memory.
        m_OutputSource: The source of imported outputs' memory.
        m_ProfilingEnabled: Whether its profiler is on from the start.
        m_OutputNetworkDetailsMethod: Whether the profile describes the layers.
    """

    m_AsyncEnabled: bool
    m_InputSource: int
    m_OutputSource: int
    m_ProfilingEnabled: bool = False
    m_OutputNetworkDetailsMethod: int = _NO_DETAILS


@dataclass(frozen=True)
class _Loaded:
    """A loaded network with ids and profiler."""

    network: LoadedNetwork
    built: Built
    profiler: IProfiler


class IRuntime:
    """Loads networks and runs them.

    Args:
        options: The options that it is made with.

    Raises:
        RuntimeError: An option asks for something that armnn does not have.
    """

    def __init__(self, options: CreationOptions) -> None:
        _check(options)
        with arm_nn_errors():
            self._runtime = Runtime(
                armnn.CreationOptions(dynamic_backends_path=options.m_DynamicBackendsPath or None)
            )
        self._loaded: dict[int, _Loaded] = {}
        weakref.finalize(self, self._runtime.close).atexit = False

    def GetDeviceSpec(self) -> IDeviceSpec:
        """Return the backends that it can use."""
        return IDeviceSpec(self._runtime)

    def LoadNetwork(
        self, network: IOptimizedNetwork, networkProperties: INetworkProperties | None = None
    ) -> tuple[int, str]:
        """Load a network; return its id and "".

        Raises:
            RuntimeError: It cannot be loaded; the message says why.
        """
        given, properties = networkProperties, None
        with arm_nn_errors():
            if given is not None:
                properties = NetworkProperties(
                    input_source=given.m_InputSource,  # type: ignore[arg-type] # a number will do
                    output_source=given.m_OutputSource,  # type: ignore[arg-type] # the same
                )
            loaded = self._runtime.load_network(network.optimized, properties)
        details = given is not None and given.m_OutputNetworkDetailsMethod != _NO_DETAILS
        profiler = IProfiler(network.optimized.network if details else None)
        profiler.EnableProfiling(given is not None and given.m_ProfilingEnabled)
        self._loaded[loaded.id] = _Loaded(loaded, network.built, profiler)
        network.thisown = False  # as in PyArmNN, whose runtime takes it over
        return loaded.id, ""

    def UnloadNetwork(self, networkId: int) -> None:
        """Unload a network.

        Raises:
            RuntimeError: No network has that id.
        """
        found = self._found(networkId, "Failed to unload network.")
        del self._loaded[networkId]
        with arm_nn_errors():
            found.network.unload()

    def EnqueueWorkload(
        self,
        networkId: int,
        inputTensors: Sequence[tuple[int, ConstTensor]],
        outputTensors: Sequence[tuple[int, Tensor]],
    ) -> None:
        """Run a network once, into the output tensors.

        Raises:
            RuntimeError: There is no network with that id, inputs are missing, a tensor does not
                fit, or a layer failed.
        """
        found = self._found(networkId, "Failed to enqueue workload for network.")
        if len(inputTensors) != len(found.built.inputs):
            raise RuntimeError(
                f"Number of inputs provided does not match network. Got {len(inputTensors)}, "
                f"expected {len(found.built.inputs)}: {_shown(found.built.inputs)}."
            )
        inputs = _arrays(inputTensors, found.built.inputs, "input")
        outputs = _arrays(outputTensors, found.built.outputs, "output")
        with arm_nn_errors():
            found.network.run(inputs, outputs, profiler=found.profiler.sink)

    def GetProfiler(self, networkId: int) -> IProfiler:
        """Return the profiler of a network; off at first.

        Raises:
            RuntimeError: There is no network with that id.
        """
        return self._found(networkId, "Failed to get profiler").profiler

    def GetInputTensorInfo(self, networkId: int, layerId: int) -> TensorInfo:
        """Return the description of an input.

        Raises:
            RuntimeError: No network has that id.
        """
        found = self._found(networkId, "Failed to get the input.")
        return _info(found.network.inputs, found.built.inputs, layerId, "input")

    def GetOutputTensorInfo(self, networkId: int, layerId: int) -> TensorInfo:
        """Return the description of an output.

        Raises:
            RuntimeError: No network has that id.
        """
        found = self._found(networkId, "Failed to get the output.")
        return _info(found.network.outputs, found.built.outputs, layerId, "output")

    def _found(self, network: int, failure: str) -> _Loaded:
        if network not in self._loaded:
            raise RuntimeError(
                f"{failure} There is no network with the id {network}: loaded are "
                f"{list(self._loaded)}."
            )
        return self._loaded[network]


def _check(options: CreationOptions) -> None:
    """Raise RuntimeError for options that nothing could honor."""
    profiling = options.m_ProfilingOptions
    if profiling.m_TimelineEnabled and not profiling.m_EnableProfiling:
        raise RuntimeError(
            "It is not possible to enable timeline reporting without profiling being enabled"
        )
    if profiling.m_EnableProfiling:
        raise RuntimeError(
            "m_ProfilingOptions.m_EnableProfiling is True: there is no external profiling; "
            "runtime.GetProfiler(net_id).EnableProfiling(True) records runs"
        )
    if options.m_EnableGpuProfiling or options.m_GpuAccTunedParameters is not None:
        raise RuntimeError(
            "m_EnableGpuProfiling or m_GpuAccTunedParameters is set: both are of Arm NN's own "
            "GpuAcc backend, so leave them as they are"
        )


def _arrays(
    tensors: Sequence[tuple[int, Any]], names: Mapping[int, str], what: str
) -> dict[str, NDArray[Any]]:
    found = {}
    for binding, tensor in tensors:
        if binding not in names:
            raise RuntimeError(f"No {what} has the id {binding}: the network has {_shown(names)}")
        found[names[binding]] = tensor.get_memory_area().reshape(tuple(tensor.GetShape()))
    return found


def _info(
    infos: Mapping[str, armnn.TensorInfo], names: Mapping[int, str], binding: int, what: str
) -> TensorInfo:
    if binding not in names:
        raise RuntimeError(f"No {what} has the id {binding}: the network has {_shown(names)}")
    with arm_nn_errors():
        return TensorInfo.of(infos[names[binding]])


def _shown(names: Mapping[int, str]) -> str:
    return ", ".join(f"{binding} ({name!r})" for binding, name in names.items())
