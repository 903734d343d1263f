# SPDX-License-Identifier: MIT
"""Cuts of a network into segments for different backends.

An order of preference gives a layer to the first backend that runs it, everywhere. A cut gives a
stretch of the network to another one: an accelerator that gains on the convolutions may lose more
than that on what is behind them. Stretches are measured as wholes, so that what starting a part
costs and what copies at its ends cost are counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from armnn.debugging.bench import fragment
from armnn.errors import ArmnnError
from armnn.graph.multiply_adds import multiply_adds_of
from armnn.optimizer import OptimizerOptions
from armnn.optimizer.assignment.assign import UNASSIGNED
from armnn.placement.worker import (
    burst,
    creation_of,
    inputs_of,
    network_of,
    options_of,
    whole_before_backends,
)
from armnn.runtime import Runtime

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Network, Value
    from armnn.verdicts import Trial
    from armnn_backend_api.processes import Channel

    Arrays = dict[str, NDArray[Any]]

MOST_SEGMENTS: Final = 5
MOST_LEADING: Final = 3
"""Backends that stretches are tried on."""
LEAST_MICROSECONDS: Final = 300.0
"""The time of a run from which on cuts are looked for: each costs tens of microseconds."""
PROMISING: Final = 0.95
"""The part of the best time that the sum over stretches must stay below to be measured."""
MOST_CROSSING: Final = 3
"""Tensors that may cross a cut, such as a mask beside what is computed."""
_LAYER_WORK: Final = 1000
"""Multiply-adds that a layer without any counts as."""
_BURST_SECONDS: Final = 0.05


@dataclass(frozen=True, slots=True)
class Stretch:
    """Segments in a row, on one backend first.

    Attributes:
        begin: The number of its first segment.
        end: The number behind its last one.
        backend: Who is asked first about each layer.
        microseconds: The median time of a run.
    """

    begin: int
    end: int
    backend: str
    microseconds: float


def measure_cuts(request: Mapping[str, Any], channel: Channel) -> None:
    """Send the segments, then the time of each stretch."""
    with Runtime(creation_of(request)) as runtime:
        model = network_of(request)
        inputs = inputs_of(request, {layer.name: layer.output.info for layer in model.inputs})
        plain = replace(options_of(request), rewrite=False)
        plan = runtime.optimize(model, request["backends"], options=plain)
        network = whole_before_backends(model, inputs, plan)
        if network is None:
            return
        order = [each for each in network.topological_order() if each.type not in UNASSIGNED]
        segments = cut([each for each in order if each.data is None])
        names = {layer.name for layer in model.layers}
        channel.send(
            segments=[[each.name for each in one if each.name in names] for one in segments]
        )
        known = {layer.output: inputs[layer.name] for layer in network.inputs}
        _Stretches(runtime, network, segments, known, request, channel.send).measure()


class _Stretches:
    """Stretches of one network, measured on several backends."""

    def __init__(
        self,
        runtime: Runtime,
        network: Network,
        segments: Sequence[Sequence[Layer]],
        known: dict[Value, NDArray[Any]],
        request: Mapping[str, Any],
        say: Callable[..., None],
    ) -> None:
        self._runtime, self._network, self._segments = runtime, network, segments
        self._known, self._request, self._say = known, request, say
        self._alone: list[dict[str, float]] = []

    def measure(self) -> None:
        """Measure each segment, then longer and longer stretches."""
        count = len(self._segments)
        leading = self._request["leading"]
        for at in range(count):
            outputs, times = self._times(at, at + 1, leading)
            if not times or count < 2:
                return  # what is behind it has no inputs
            made = {value.name: value for layer in self._segments[at] for value in layer.outputs}
            self._known.update({made[name]: array for name, array in outputs.items()})
            self._alone.append(times)
        for length in range(2, count):  # all of it was measured as an order of preference
            for begin in range(count - length + 1):
                end = begin + length
                self._times(begin, end, [b for b in leading if self._may_win(begin, end, b)])

    def _may_win(self, begin: int, end: int, backend: str) -> bool:
        """Return whether a backend can be fastest on a stretch.

        A stretch saves what starting its segments takes, which is at most the time of the shortest.
        """
        rows = self._alone[begin:end]
        if not all(backend in row for row in rows):
            return False
        saved = (end - begin - 1) * min(row[backend] for row in self._alone if backend in row)
        least = sum(row[backend] for row in rows) - saved
        return least < sum(min(row.values()) for row in rows)

    def _times(
        self, begin: int, end: int, backends: Sequence[str]
    ) -> tuple[Arrays, dict[str, float]]:
        """Return outputs and times of a stretch; send the times."""
        layers = [layer for one in self._segments[begin:end] for layer in one]
        part, sources = fragment(self._network, layers)
        feeds = {name: self._known[value] for name, value in sources.items()}
        outputs: Arrays = {}
        times: dict[str, float] = {}
        for leading in backends:
            order = [leading, *(each for each in self._request["backends"] if each != leading)]
            given = self._request["options"]["model_options"]
            options = OptimizerOptions(model_options={k: v for k, v in given.items() if k in order})
            try:
                loaded = self._runtime.load_model(part, order, options=options)
                outputs = outputs or loaded.run(feeds)
                times[leading] = burst(loaded, feeds, _BURST_SECONDS)
            except ArmnnError:
                continue  # a plan that needs it is not found
            self._say(begin=begin, end=end, backend=leading, seconds=times[leading])
            self._runtime.unload_network(loaded)
        return outputs, times


def cut(order: Sequence[Layer]) -> list[list[Layer]]:
    """Return segments of like work between which few tensors cross.

    Args:
        order: Layers in an order in which they can run.
    """
    work = [_LAYER_WORK + (multiply_adds_of(each) or 0) for each in order]
    share = sum(work) / MOST_SEGMENTS
    position = {layer: at for at, layer in enumerate(order)}
    last_reader = {
        value: max((position.get(reader, -1) for reader in value.consumers), default=-1)
        for layer in order
        for value in layer.outputs
    }
    found: list[list[Layer]] = [[]]
    crossing: set[Any] = set()
    done = 0.0
    for at, layer in enumerate(order):
        found[-1].append(layer)
        done += work[at]
        crossing = {value for value in (*crossing, *layer.outputs) if last_reader[value] > at}
        may_cut = 0 < len(crossing) <= MOST_CROSSING and at + 1 < len(order)
        if may_cut and done >= share * len(found):
            found.append([])
    return found


def cheapest(stretches: Collection[Stretch], segments: int) -> list[Stretch]:
    """Return stretches that cover all segments in least time.

    Nothing if none do.
    """
    best: list[tuple[float, list[Stretch]]] = [(0.0, [])]
    for end in range(1, segments + 1):
        ways = [
            (best[each.begin][0] + each.microseconds, [*best[each.begin][1], each])
            for each in stretches
            if each.end == end
        ]
        best.append(min(ways, key=lambda way: way[0], default=(math.inf, [])))
    time, way = best[segments]
    return way if math.isfinite(time) else []


def leading_backends(trials: Sequence[Trial]) -> list[str]:
    """Return the backends to try stretches on, the fastest first.

    Args:
        trials: Those with a time and without a fault, the fastest first.
    """
    return list(dict.fromkeys(each.backends[0] for each in trials))[:MOST_LEADING]


def cut_trial(best: Trial, rows: Sequence[Mapping[str, Any]]) -> Trial | None:
    """Return the plan with cuts to measure, if any.

    Args:
        best: The fastest order of preference.
        rows: What :func:`measure_cuts` has sent.
    """
    if not rows or best.microseconds is None:
        return None
    segments = [[str(name) for name in one] for one in rows[0]["segments"]]
    stretches = [
        Stretch(
            int(row["begin"]), int(row["end"]), str(row["backend"]), 1e6 * float(row["seconds"])
        )
        for row in rows[1:]
    ]
    way = cheapest(stretches, len(segments))
    if not way or sum(each.microseconds for each in way) > PROMISING * best.microseconds:
        return None
    moved = {
        name: each.backend
        for each in way
        if each.backend != best.backends[0]
        for segment in segments[each.begin : each.end]
        for name in segment
    }
    if not moved:
        return None  # it is the order itself, which was measured as a whole
    backends = tuple(dict.fromkeys((*best.backends, *moved.values())))
    return replace(best, backends=backends, layer_backends=moved, microseconds=None, layers={})
