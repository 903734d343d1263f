# SPDX-License-Identifier: MIT
"""IProfiler, and the times in its text."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol

import armnn
from armnn.profiling import Recorder, arm_nn_profile

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
        """What a run reports to, None while nothing is recorded."""
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
        per_workload_execution_data: The same of each workload by name, and its "backend".
    """

    inference_data: dict[str, Any]
    per_workload_execution_data: dict[str, dict[str, Any]]


class HasProfile(Protocol):
    """What has a profile as JSON."""

    def as_json(self) -> str:
        """Return the profile."""
        ...


def get_profiling_data(profiler: HasProfile) -> ProfilerData:
    """Return the times in a profile.

    Args:
        profiler: What ``GetProfiler`` returned, after a run that it recorded.

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
