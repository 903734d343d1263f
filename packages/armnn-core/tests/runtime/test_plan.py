# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armnn import Network, TensorInfo
from armnn.backends import ArrayHandle, MemoryManager, TensorHandle, TensorHandleFactory
from armnn.runtime.planner import STRATEGIES
from armnn.types import MemorySource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn import Runtime

INFO = TensorInfo((4,))
X = np.array([1, -2, 3, 5], np.float32)
BACKENDS = ("Host", "Importer", "Copier")
LAYERS = ("addition", "subtraction", "maximum", "minimum")


class SharedFactory(TensorHandleFactory):
    """Host memory under another name, exportable and importing."""

    def __init__(self, factory_id: str, *, imports: bool) -> None:
        self.id = factory_id
        malloc = frozenset({MemorySource.MALLOC})
        self.export_sources = malloc
        self.import_sources = malloc if imports else frozenset()

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:
        return ArrayHandle(info, np.zeros(info.static_shape, info.data_type.numpy_dtype))

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> TensorHandle | None:
        return ArrayHandle(info, handle.map())


@pytest.fixture(params=STRATEGIES)
def runtime(request, make_backend, make_runtime) -> Runtime:
    """Return runtimes of each strategy, with three memory kinds."""

    def with_memory_of_its_own(backend_id: str, *, imports: bool) -> Any:
        factory = SharedFactory(f"{backend_id}.memory", imports=imports)
        return make_backend(
            backend_id,
            handle_factory_preferences=(factory.id,),
            register_tensor_handle_factories=lambda _, registry: registry.register(factory),
        )

    return make_runtime(
        make_backend("Host"),
        with_memory_of_its_own("Importer", imports=True),
        with_memory_of_its_own("Copier", imports=False),
        memory_strategy=request.param,
    )


def network_of(layers: Sequence[tuple[str, int, int]], kept: Sequence[int]) -> Network:
    """Return a network whose layers read earlier values.

    Number 0 is the input.
    """
    network = Network("random")
    values = [network.add_input("x", INFO)]
    for index, (kind, first, second) in enumerate(layers):
        operands = [values[number % len(values)] for number in (first, second)]
        values.append(getattr(network, f"add_{kind}")(*operands, name=f"layer{index}"))
    for number in dict.fromkeys((*(number % len(values) for number in kept), len(layers))):
        network.add_output(f"y{number}", values[number])
    return network


def test_memory_lives_until_the_last_reader_of_what_is_imported_from_it(runtime: Runtime) -> None:
    network = Network()
    x = network.add_input("x", INFO)
    a = network.add_addition(x, x, name="a")
    d1 = network.add_addition(a, a, name="d1")
    h2 = network.add_addition(d1, x, name="h2")
    network.add_output("y", network.add_addition(a, h2, name="d2"))
    on = {"a": "Host", "d1": "Importer", "h2": "Host", "d2": "Importer"}
    model = runtime.load_model(network, list(BACKENDS), layer_backends=on)
    np.testing.assert_array_equal(model.run({"x": X})["y"], 7 * X)


LAST = -1
number = st.integers(0, 12)
# Reading the value before keeps most values alive for a short time, so that memory is used again.
layer = st.tuples(st.sampled_from(LAYERS), st.just(LAST) | number, number)


def test_no_tensor_is_overwritten_before_its_last_reader(runtime: Runtime, compute: Any) -> None:
    @settings(max_examples=150)
    @given(
        st.lists(st.tuples(layer, st.sampled_from(BACKENDS)), min_size=6, max_size=12),
        st.lists(number, max_size=2),
    )
    def computes_what_the_layers_mean(chosen: Any, kept: list[int]) -> None:
        network = network_of([each for each, _ in chosen], kept)
        on = {f"layer{index}": backend for index, (_, backend) in enumerate(chosen)}
        with runtime.load_model(network, list(BACKENDS), layer_backends=on) as model:
            for inputs in ({"x": X}, {"x": X[::-1]}):
                outputs = model.run(inputs)
                for name, expected in compute(network, inputs).items():
                    np.testing.assert_array_equal(outputs[name], expected, name)

    computes_what_the_layers_mean()
