# SPDX-License-Identifier: MIT
"""The parts of a plan, measured alone on every backend.

It is the work of a child process: what crashes here ends nothing else.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.backends import HOST_FACTORY_ID, ArrayHandle
from armnn.debugging.bench import fragment
from armnn.errors import ArmnnError, OptimizationError
from armnn.optimizer import OptimizerOptions
from armnn.optimizer.assignment.assign import UNASSIGNED
from armnn.optimizer.assignment.partition import partition
from armnn.placement.worker import (
    burst,
    creation_of,
    inputs_of,
    network_of,
    options_of,
    whole_before_backends,
)
from armnn.quantization import dequantize
from armnn.runtime import Runtime
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn.verdicts.parts import CopyCost
from armnn_backend_api.processes import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends import TensorHandle
    from armnn.graph import Layer, Network, Value
    from armnn.optimizer import Participants
    from armnn_backend_api.processes import Channel

    Arrays = dict[str, NDArray[Any]]

SIZES: Final = (1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 19, 1 << 21)
"""Bytes of the copies that are timed for each pair of memories."""
TOLERANCE: Final = 0.1
"""How much of their size two outputs may differ by."""
_COPIES: Final = 9
_BURST_SECONDS: Final = 0.05


def measure_parts(request: Mapping[str, Any], channel: Channel) -> None:
    """Send each part, then its cost per backend."""
    with Runtime(creation_of(request)) as runtime:
        model = network_of(request)
        inputs = inputs_of(request, {layer.name: layer.output.info for layer in model.inputs})
        plan = runtime.optimize(model, request["backends"], options=options_of(request))
        network = whole_before_backends(model, inputs, plan)
        if network is None:
            return
        parts = Parts(runtime, network, request, Borders(plan.participants))
        known = {layer.output: inputs[layer.name] for layer in network.inputs}
        parts.measure(partition(network, _backend), known, channel.send)


def _backend(layer: Layer) -> str | None:
    return None if layer.type in UNASSIGNED else layer.backend


class Parts:
    """Groups of layers of one network, on several backends."""

    def __init__(
        self, runtime: Runtime, network: Network, request: Mapping[str, Any], borders: Borders
    ) -> None:
        """Measure nothing yet.

        Args:
            runtime: Loads the groups.
            network: Its layers know their backends.
            request: Has the ids of the backends as "among", and the "options" of the network.
            borders: Knows what copies cost.
        """
        self._runtime = runtime
        self._network = network
        self._request = request
        self._borders = borders

    def measure(
        self,
        groups: Sequence[Sequence[Layer]],
        known: dict[Value, NDArray[Any]],
        say: Callable[..., None],
    ) -> None:
        """Run group after group, each with what those before computed.

        Args:
            groups: In an order in which they can run.
            known: The data of the network's inputs; that of the groups' outputs is added.
            say: Gets the answers.
        """
        for group in groups:
            network, sources = fragment(self._network, group)
            inputs = {name: known[value] for name, value in sources.items()}
            made = {value.name: value for layer in group for value in layer.outputs}
            own = group[0].backend or ""
            others = [each for each in self._request["among"] if each != own]
            expected: Arrays | None = None
            say(name=group[0].name, layers=len(group))
            for each in (own, *others):
                border = sum(self._borders.cost(v, each) for v in sources.values())
                try:
                    outputs, seconds = self._run(network, inputs, each)
                except OptimizationError:
                    say(backend=each, fault="does not run all of it")
                    continue
                except ArmnnError as error:
                    say(backend=each, fault=one_line(error))
                    continue
                expected = expected or outputs
                is_right = all(_agree(outputs[n], expected[n], made[n].info) for n in outputs)
                fault = "" if is_right else "computes it otherwise"
                say(backend=each, seconds=seconds, border_microseconds=border, fault=fault)
            if expected is None:
                return  # the groups behind it have no inputs
            known.update({made[name]: array for name, array in expected.items()})

    def _run(self, network: Network, inputs: Arrays, backend: str) -> tuple[Arrays, float]:
        given = self._request["options"]["model_options"].get(backend)
        options = OptimizerOptions(
            rewrite=False, model_options={} if given is None else {backend: given}
        )
        loaded = self._runtime.load_model(network, [backend], options=options)
        outputs = loaded.run(inputs)
        return outputs, burst(loaded, inputs, _BURST_SECONDS)


class Borders:
    """The time of copies between the memories of backends."""

    def __init__(self, participants: Participants) -> None:
        self._factories = participants.factories
        self._wishes = {
            each.id: tuple(each.backend.handle_factory_preferences) or (HOST_FACTORY_ID,)
            for each in participants.all
        }
        self._known: dict[tuple[str, str], CopyCost] = {}

    def cost(self, value: Value, reader: str) -> float:
        """Return the microseconds that a backend's border costs."""
        wishes = self._wishes.get(reader, (HOST_FACTORY_ID,))
        source = self._wishes.get(value.producer.backend or "", wishes)[0]
        if source in wishes or not value.info.is_static:
            return 0.0
        pair = source, wishes[0]
        if pair not in self._known:
            self._known[pair] = CopyCost.fitted(self._times(*pair))
        return self._known[pair].of(value.info.size_bytes)

    def _times(self, source: str, target: str) -> dict[int, float]:
        found = {}
        for size in SIZES:
            info = TensorInfo((size,), DataType.SIGNED8)
            made, place = self._handle(source, info), self._handle(target, info)
            made.copy_from(np.ones(size, np.int8))
            found[size] = 1e6 * statistics.median(
                _copy_seconds(made, place) for _ in range(_COPIES)
            )
        return found

    def _handle(self, factory: str, info: TensorInfo) -> TensorHandle:
        if factory not in self._factories:
            return ArrayHandle(info, np.zeros(info.static_shape, info.data_type.numpy_dtype))
        return self._factories[factory].create(info, None)


def _agree(one: NDArray[Any], other: NDArray[Any], info: TensorInfo) -> bool:
    """Return whether two outputs differ by rounding at most.

    A backend that rounds otherwise is no wrong one: the choice as a whole is compared layer by
    layer.
    """
    real = [dequantize(each, info) if info.is_quantized else each for each in (one, other)]
    first, second = (np.asarray(each, np.float64).ravel() for each in real)
    usable = np.isfinite(first) & np.isfinite(second)
    difference = np.linalg.norm(first[usable] - second[usable])
    same = np.array_equal(first[~usable], second[~usable], equal_nan=True)
    return same and bool(difference <= TOLERANCE * np.linalg.norm(second[usable]))


def _copy_seconds(source: TensorHandle, target: TensorHandle) -> float:
    began = time.perf_counter()
    target.copy_from(source.map())
    source.unmap()
    return time.perf_counter() - began
