# SPDX-License-Identifier: MIT
"""The work of child processes for a verdict.

Each function gets a request and the channel for its replies.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends import CreationOptions
from armnn.graph import Network
from armnn.installing import CPU_REF
from armnn.optimizer import Candidate, OptimizedNetwork, OptimizerOptions
from armnn.optimizer.assignment.assign import UNASSIGNED
from armnn.optimizer.phases import layers_before_backends
from armnn.parsing import parse
from armnn.profiling import Recorder, timed_runs
from armnn.runtime import LoadedNetwork, Runtime
from armnn_backend_api.processes import Channel, one_line
from armnn_tools.debugging import CompareOptions, compare
from armnn_tools.modules import run_modules

Arrays = dict[str, NDArray[Any]]

_FEWEST_RUNS: Final = 3
_CARRIERS: Final = ("MemCopy", "MemImport")


def ask(request: Mapping[str, Any], channel: Channel) -> None:
    """Send the layers that each backend runs.

    Where shapes depend on computed data it says of no layer that it does.
    """
    model = _network_of(request)
    inputs = _inputs_of(request, model)
    with Runtime(_creation_of(request)) as runtime:
        network = _whole_before_backends(model, inputs, runtime.optimize(model, [CPU_REF]))
    for backend_id in request["backends"]:
        try:
            runs = _runs(request, network, backend_id)
        except Exception as error:
            channel.send(fault=one_line(error))
        else:
            channel.send(runs=runs)


def serve(request: Mapping[str, Any], channel: Channel) -> None:
    """Load the model; measure it as often as asked."""
    with Runtime(_creation_of(request)) as runtime:
        try:
            network = _network_of(request)
            inputs = _inputs_of(request, network)
            began = time.perf_counter()
            loaded = runtime.load_model(
                network, request["backends"], options=_options_of(request), shapes=[inputs]
            )
            took = time.perf_counter() - began
            channel.send(load_seconds=took, layers=dict(loaded.report.layers_by_backend))
            channel.send(border_seconds=_border_seconds(loaded, inputs))
            gc.disable()  # a collection in one candidate's turn would count against it
            for seconds in channel.requests():
                channel.send(times=_burst(loaded, inputs, seconds))
        except Exception as error:
            channel.send(fault=one_line(error))


def check(request: Mapping[str, Any], channel: Channel) -> None:
    """Compare the model on its backends with the reference."""
    try:
        network = _network_of(request)
        findings = compare(
            network,
            request["backends"],
            inputs=[_inputs_of(request, network)],
            options=_options_of(request),
            creation_options=_creation_of(request),
            thoroughness=CompareOptions(repeats=request["repeats"]),
        )
    except Exception as error:
        channel.send(fault=one_line(error))
        return
    wrong = findings.first
    named = "" if wrong is None else f"computes {' + '.join(wrong.layers)} wrongly"
    channel.send(fault=named)


def _runs(request: Mapping[str, Any], network: Network | None, backend_id: str) -> list[bool]:
    """Return whether a backend runs each layer."""
    with Runtime(replace(_creation_of(request), backends=[backend_id])) as runtime:
        backend = runtime.registry.get(backend_id)
        if network is None:
            return []
        given = request["options"]["model_options"].get(backend_id, {})
        candidate = Candidate.of(backend, given)
        candidate.model.quantized_arithmetic = network.quantized_arithmetic
        layers = [
            each
            for each in network.topological_order()
            if each.type not in UNASSIGNED and each.call is None
        ]
        known = candidate.query(network, layers)
        return [bool(known.get(each) or candidate.supports(each)) for each in layers]


def _whole_before_backends(
    model: Network, inputs: Arrays, plan: OptimizedNetwork
) -> Network | None:
    """Return a network as backends get it for inputs.

    None if only a run tells some of its shapes.
    """
    limits = plan.value_inputs
    head, rest = layers_before_backends(
        model,
        {name: array.shape for name, array in inputs.items()},
        plan.participants,
        plan.options,
        {name: inputs[name] for name in limits if inputs[name].size <= limits[name]},
    )
    return head if rest is None else None


def _network_of(request: Mapping[str, Any]) -> Network:
    """Return the network of the model file that a request names."""
    run_modules(request.get("modules", ()))
    return parse(request["model"], parser_options=request["parser_options"])


def _creation_of(request: Mapping[str, Any]) -> CreationOptions:
    """Return the options of the runtime that a request holds."""
    return CreationOptions(**request["creation_options"])


def _options_of(request: Mapping[str, Any]) -> OptimizerOptions:
    """Return the options of the optimizer that a request holds."""
    return OptimizerOptions(**request["options"])


def _inputs_of(request: Mapping[str, Any], network: Network) -> Arrays:
    """Return the stored inputs with the types of the network."""
    infos = {layer.name: layer.output.info for layer in network.inputs}
    with np.load(Path(request["inputs"]), allow_pickle=False) as stored:
        arrays = [stored[f"input{number}"] for number in range(len(infos))]
    return {
        name: array.view(info.data_type.numpy_dtype) if array.dtype.kind == "V" else array
        for (name, info), array in zip(infos.items(), arrays, strict=True)
    }


def _burst(loaded: LoadedNetwork, inputs: Arrays, seconds: float) -> float:
    """Return the median time of runs that take some seconds."""
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < _FEWEST_RUNS or time.perf_counter() < until:
        began = time.perf_counter()
        loaded.run(inputs)
        times.append(time.perf_counter() - began)
        if times[0] > seconds * _FEWEST_RUNS:
            break  # one run is as long as a turn
    return statistics.median(times)


def _border_seconds(loaded: LoadedNetwork, inputs: Arrays) -> float:
    """Return how long copies between backends take in one run."""
    loaded.run(inputs)  # the first run is not like the others
    recorder = Recorder()
    loaded.run(inputs, profiler=recorder)
    copies = [
        layer.event.duration_ns
        for run in timed_runs(recorder.events)
        for layer in run.layers
        if layer.event.details.get("type") in _CARRIERS
    ]
    return sum(copies) / 1e9
