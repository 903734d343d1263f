# SPDX-License-Identifier: MIT
"""What a load says of backends where dimensions of the model are open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import armnn
from armnn import Network, Runtime, TensorInfo
from armnn.backends import ModelContext, OptimizationViews, OptionValue, SubgraphView
from armnn.errors import InvalidArgumentError, OptimizationError

MakeRuntime = Callable[..., Runtime]
OPEN, CLOSED = (None, 4), (1, 4)


def rectified(shape: tuple[int | None, int]) -> Network:
    network = Network("rectified")
    x = network.add_input("x", TensorInfo(shape))
    network.add_output("y", network.add_activation(x, function="ReLu", name="relu"))
    return network


def check(model: armnn.LoadedNetwork) -> None:
    x = np.float32([[-1, 2, -3, 4], [5, -6, 7, -8]])
    np.testing.assert_array_equal(model.run({"x": x})["y"], np.maximum(x, 0))


@pytest.mark.parametrize("shape", [OPEN, CLOSED], ids=["open", "closed"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"backends": ["Picky"]}, r"no backend of \[Picky\] runs 1 layer"),
        ({"backends": ["Picky", "Whole"], "strict": True}, "strict mode: 1 layer"),
    ],
    ids=["list", "strict"],
)
def test_backends_that_do_not_run_the_model_are_told_at_load(
    make_backend: Any,
    make_runtime: MakeRuntime,
    arguments: dict[str, Any],
    said: str,
    shape: tuple[int | None, int],
) -> None:
    picky = make_backend("Picky", {"Activation": "not this one"})
    runtime = make_runtime(picky, make_backend("Whole"))
    with pytest.raises(OptimizationError, match=f"(?s){said}.*'relu'.*not this one"):
        runtime.load_model(rectified(shape), **arguments)
    if shape is OPEN:
        check(runtime.load_model(rectified(shape), ["Picky", "Whole"]))
        check(runtime.load_model(rectified(shape), ["Whole", "Picky"], strict=True))


@pytest.mark.parametrize("shape", [OPEN, CLOSED], ids=["open", "closed"])
def test_options_that_a_backend_lacks_are_told_at_load(
    make_backend: Any, make_runtime: MakeRuntime, shape: tuple[int | None, int]
) -> None:
    class Asked(make_backend("Asked")):
        def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
            return ModelContext(options)

        def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
            if unknown := [*{*model.options} - {"Known"}]:  # as a table in C does
                raise InvalidArgumentError(f"there is no option {unknown[0]}")
            return super().optimize_subgraph(view, model)

    runtime = make_runtime(Asked)
    given = {"Asked": {"Unknown": 1}}
    with pytest.raises(Exception, match="there is no option Unknown"):
        runtime.load_model(rectified(shape), ["Asked"], backend_options=given)
    if shape is OPEN:
        given = {"Asked": {"Known": 1}}
        check(runtime.load_model(rectified(shape), ["Asked"], backend_options=given))


@pytest.mark.parametrize("compiled", ["Addition", "Activation"])
def test_options_are_checked_before_any_layer_of_the_model_is_asked_about(
    make_backend: Any, make_runtime: MakeRuntime, compiled: str
) -> None:
    asked: list[str] = []

    def supports(self: Any, layer: Any, model: Any) -> armnn.backends.Support:
        asked.append(layer.name)
        return armnn.backends.Support(layer.type == compiled, "another type")

    def refuse(self: Any, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        raise InvalidArgumentError(f"{view.layers[0].type}: options {list(model.options)}")

    members = {
        "supports": supports,
        "create_model_context": lambda self, options: ModelContext(options),
        "optimize_subgraph": refuse,
    }
    runtime = make_runtime(make_backend("Asked", **members), make_backend("CpuRef"))
    with pytest.raises(InvalidArgumentError, match=rf"{compiled}: options \['Unknown'\]"):
        runtime.load_model(
            rectified(OPEN), ["Asked", "CpuRef"], backend_options={"Asked": {"Unknown": 1}}
        )
    assert asked
    assert "relu" not in asked


def test_a_backend_that_takes_some_sizes_only_is_loaded(
    make_backend: Any, make_runtime: MakeRuntime
) -> None:
    def supports(self: Any, layer: Any, model: Any) -> armnn.backends.Support:
        wide = layer.output_infos[0].shape[1] % 16 == 0
        return armnn.backends.SUPPORTED if wide else armnn.backends.Support.no("not so narrow")

    runtime = make_runtime(make_backend("Wide", supports=supports))
    network = Network("open")
    x = network.add_input("x", TensorInfo((2, None)))
    network.add_output("y", network.add_activation(x, function="ReLu"))
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32)
    model = runtime.load_model(network, ["Wide"])
    np.testing.assert_array_equal(model.run({"x": x})["y"], np.maximum(x, 0))


def test_given_shapes_are_asked_about_and_no_others(
    make_backend: Any, make_runtime: MakeRuntime
) -> None:
    def supports(self: Any, layer: Any, model: Any) -> armnn.backends.Support:
        batch = layer.output_infos[0].shape[0]
        return armnn.backends.SUPPORTED if batch == 2 else armnn.backends.Support.no(f"{batch}")

    runtime = make_runtime(make_backend("Two", supports=supports))
    with pytest.raises(OptimizationError) as caught:
        runtime.load_model(rectified(OPEN), ["Two"])
    assert "shapes=[...] names those that are to be run" in "".join(caught.value.__notes__)
    check(runtime.load_model(rectified(OPEN), ["Two"], shapes=[{"x": (2, 4)}]))
