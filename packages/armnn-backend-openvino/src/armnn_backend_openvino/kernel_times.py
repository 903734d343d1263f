# SPDX-License-Identifier: MIT
"""OpenVINO's times of nodes as events of the network's layers."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from armnn.backends import ProfilingContext, ProfilingSink
from armnn_backend_openvino.library import openvino


class _Current(threading.local):
    """The sink of a thread's profiled run."""

    sink: ProfilingSink | None = None


CURRENT = _Current()


class KernelTimes(ProfilingContext):
    """Lets the steps of a run report times of nodes."""

    def __init__(self, sink: ProfilingSink) -> None:
        self._sink = sink

    def begin_run(self, network_id: int) -> None:  # noqa: ARG002  # one sink serves all networks
        """Report from now on, in this thread."""
        CURRENT.sink = self._sink

    def end_run(self, network_id: int) -> None:  # noqa: ARG002  # as above
        """Report no more."""
        CURRENT.sink = None


def layers_of_nodes(
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
