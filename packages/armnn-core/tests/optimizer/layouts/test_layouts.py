# SPDX-License-Identifier: MIT
"""Regions are transposed into the layout that a backend wishes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import DataLayout, Network, TensorInfo
from armnn.backends import SUPPORTED, Support
from armnn.backends.contract import NetworkBackend
from armnn.errors import OptimizationError
from armnn.optimizer import OptimizedNetwork, OptimizerOptions, Report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from armnn.graph import Layer, Value

IMAGE = TensorInfo((1, 3, 6, 5))
NHWC, NCHW = DataLayout.NHWC, DataLayout.NCHW


def weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def convolved(network: Network, x: Value, channels: int, name: str) -> Value:
    """Add a convolution in NCHW that keeps the size."""
    read = x.info.static_shape[1]
    padding = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}
    return network.add_convolution2d(
        x, weights(channels, read, 3, 3), weights(channels), name=name, **padding
    )


def refusal(layer: Layer, layout: DataLayout = NHWC) -> Support:
    """Answer as a backend with one layout."""
    own = getattr(layer.descriptor, "data_layout", layout)
    if own is layout:
        return SUPPORTED
    return Support.no(f"only {layout.name}: {layer.name} is {own.name}", layout)


@pytest.fixture
def npu(make_backend):
    """Return a function that makes a backend of NHWC only."""

    def make(backend_id: str = "Npu", refused: Sequence[str] = (), **members: Any) -> Any:
        class OneLayout(make_backend(backend_id, dict.fromkeys(refused, "not there"), **members)):
            def supports(self, layer: Layer, model: Any) -> Support:
                return super().supports(layer, model) and refusal(layer)

        OneLayout.__name__ = backend_id
        return OneLayout

    return make


def report_of(network: Network, parties: Any, **options: Any) -> Report:
    return OptimizedNetwork(network, parties, OptimizerOptions(**options)).report


def types_on(report: Report, backend: str) -> dict[str, int]:
    return Counter(row.type for row in report if row.backend == backend)


def two_convolutions() -> Network:
    network = Network("two")
    x = network.add_input("x", IMAGE)
    first = network.add_activation(
        convolved(network, x, 4, "first"), function="Sigmoid", name="act"
    )
    network.add_output("y", convolved(network, first, 4, "second"))
    return network


def check_equal(network: Network, runtime: Any, backends: Sequence[str], **options: Any) -> Any:
    """Check results against those of the last backend."""
    feeds = {
        layer.name: np.random.default_rng(1)
        .standard_normal(layer.output.info.static_shape)
        .astype(np.float32)
        for layer in network.inputs
    }
    expected = runtime.load_model(network, [backends[-1]]).run(feeds)
    model = runtime.load_model(network, list(backends), **options)
    for name, found in model.run(feeds).items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=1e-5)
    return model.report


def test_convolutions_of_the_other_layout_come_with_two_transposes(
    npu, make_backend, make_runtime
) -> None:
    runtime = make_runtime(npu(), make_backend("Cpu"))
    report = check_equal(two_convolutions(), runtime, ["Npu", "Cpu"])
    assert types_on(report, "Npu") == {"Convolution2d": 2, "Activation": 1, "Transpose": 2}
    assert [row.layer for row in report] == [
        "transpose_to_NHWC-0-first",
        "first",
        "act",
        "second",
        "transpose_from_NHWC-0-second",
    ]
    assert report.rows[1].conversion == "computes in NHWC, as Npu wishes"
    assert str(report.rows[1]) == ("first: Convolution2d on Npu  (computes in NHWC, as Npu wishes)")
    assert report.fallbacks == ()


def test_a_backend_alone_runs_a_model_of_the_other_layout(npu, make_backend, make_runtime) -> None:
    runtime = make_runtime(npu(), make_backend("Cpu"))
    assert runtime.load_model(two_convolutions(), ["Npu"]).report.layers_by_backend == {"Npu": 5}


def test_without_a_wish_nothing_changes(make_backend, participants) -> None:
    def supports(_self: Any, layer: Layer, _model: Any) -> Support:
        return Support.no("no NCHW") if refusal(layer).layout else SUPPORTED

    parties = participants(make_backend("Npu", supports=supports), make_backend("Cpu"))
    report = report_of(two_convolutions(), parties)
    assert types_on(report, "Cpu") == {"Convolution2d": 2}
    assert not any(row.conversion for row in report)


def test_a_backend_of_both_layouts_may_wish_one(make_backend, make_runtime) -> None:
    def supports(_self: Any, layer: Layer, _model: Any) -> Support:
        return Support(True, layout=refusal(layer).layout)

    runtime = make_runtime(make_backend("Npu", supports=supports), make_backend("Cpu"))
    report = check_equal(two_convolutions(), runtime, ["Npu", "Cpu"])
    assert types_on(report, "Npu")["Transpose"] == 2


def test_channels_first_may_be_wished_as_well(make_backend, make_runtime) -> None:
    def supports(_self: Any, layer: Layer, _model: Any) -> Support:
        return refusal(layer, NCHW)

    network = Network("last")
    x = network.add_input("x", TensorInfo((1, 6, 5, 3)))
    value = network.add_convolution2d(x, weights(4, 3, 3, 3), data_layout=NHWC)
    network.add_output("y", network.add_convolution2d(value, weights(4, 2, 2, 4), data_layout=NHWC))
    runtime = make_runtime(make_backend("Npu", supports=supports), make_backend("Cpu"))
    report = check_equal(network, runtime, ["Npu", "Cpu"])
    assert types_on(report, "Npu") == {"Convolution2d": 2, "Transpose": 2}


def test_all_that_is_between_convolutions_is_in_the_layout(
    npu, make_backend, make_runtime, meanings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def concat(layer: Layer, *inputs: np.ndarray) -> np.ndarray:
        return np.concatenate(inputs, layer.descriptor.axis)

    monkeypatch.setitem(meanings, "Concat", concat)
    network = Network("fire")
    x = network.add_input("x", IMAGE)
    left, right = (convolved(network, x, 4, name) for name in ("left", "right"))
    joined = network.add_concat([left, right], axis=1, name="joined")
    scaled = network.add_multiplication(joined, weights(8, 1, 1), name="scaled")
    padded = network.add_pad(scaled, pad_list=((0, 0), (0, 0), (1, 0), (0, 2)), name="padded")
    network.add_output("y", convolved(network, padded, 2, "last"))
    report = check_equal(network, make_runtime(npu(), make_backend("Cpu")), ["Npu", "Cpu"])
    assert types_on(report, "Npu")["Transpose"] == 2  # x once, and y
    assert len(report.parts) == 1


def test_a_mean_over_the_image_ends_the_region_without_a_transpose(
    npu, make_backend, make_runtime
) -> None:
    network = Network("mean")
    x = network.add_input("x", IMAGE)
    value = network.add_activation(convolved(network, x, 4, "conv"), function="Sigmoid")
    network.add_output("y", network.add_mean(value, axis=(2, 3)))
    report = check_equal(network, make_runtime(npu(), make_backend("Cpu")), ["Npu", "Cpu"])
    assert types_on(report, "Npu")["Transpose"] == 1


def test_layers_that_save_no_transpose_stay(npu, make_backend, make_runtime) -> None:
    network = Network("tail")
    x = network.add_input("x", IMAGE)
    value = network.add_activation(convolved(network, x, 4, "conv"), function="Sigmoid", name="a")
    network.add_output("y", network.add_activation(value, function="Square", name="b"))
    report = check_equal(network, make_runtime(npu(), make_backend("Cpu")), ["Npu", "Cpu"])
    changed = [row.layer for row in report if row.conversion]
    assert changed == ["conv"]


def test_a_region_that_moves_more_than_it_computes_stays(npu, make_backend, participants) -> None:
    network = Network("pool")
    x = network.add_input("x", IMAGE)
    network.add_output("y", network.add_pooling2d(x, pool_width=2, pool_height=2, name="pool"))
    # 90 elements come, 4 * 30 go, and the products are 90 * 4.
    second = network.add_input("z", IMAGE)
    network.add_output("w", network.add_convolution2d(second, weights(4, 3, 1, 1), name="conv"))
    report = report_of(network, participants(npu(), make_backend("Cpu")))
    assert {row.layer: row.backend for row in report if "transpose" not in row.layer} == {
        "pool": "Cpu",
        "conv": "Npu",
    }
    assert report.fallbacks[0].reason == "Npu: only NHWC: pool is NCHW"


def test_borders_between_backends_count_as_well(npu, make_backend, participants) -> None:
    network = Network("between")
    x = network.add_input("x", TensorInfo((1, 2, 5, 5)))
    value = network.add_activation(x, function="Square", name="before")
    value = network.add_convolution2d(value, weights(2, 2, 1, 1), name="conv")
    network.add_output("y", network.add_activation(value, function="Sigmoid"))
    # The products are 100, and 50 elements are transposed before and 50 after.
    parties = participants(npu(refused=["Activation"]), make_backend("Cpu"))
    assert types_on(report_of(network, parties), "Npu") == {}


def test_transposes_of_the_model_are_not_done_twice(npu, make_backend, make_runtime) -> None:
    network = Network("exported")
    x = network.add_input("x", TensorInfo((1, 6, 5, 3)))
    first = network.add_transpose(x, dim_mappings=(0, 3, 1, 2), name="in")
    value = convolved(network, first, 4, "conv")
    network.add_output("y", network.add_permute(value, dim_mappings=(0, 3, 1, 2), name="out"))
    network.add_output("z", network.add_activation(value, function="Sigmoid", name="act"))
    report = check_equal(network, make_runtime(npu(), make_backend("Cpu")), ["Npu", "Cpu"])
    assert types_on(report, "Npu") == {"Convolution2d": 1, "Activation": 1, "Transpose": 1}


def test_axes_of_one_element_are_reshaped(npu, make_backend, make_runtime) -> None:
    network = Network("flat")
    x = network.add_input("x", TensorInfo((1, 3, 1, 1)))
    network.add_output("y", network.add_convolution2d(x, weights(4, 3, 1, 1)))
    report = check_equal(network, make_runtime(npu(), make_backend("Cpu")), ["Npu", "Cpu"])
    assert types_on(report, "Npu") == {"Convolution2d": 1, "Reshape": 2}


def test_weights_that_are_fed_are_transposed_too(npu, make_backend, make_runtime) -> None:
    network = Network("fed")
    x, kernel = network.add_input("x", IMAGE), network.add_input("w", TensorInfo((4, 3, 2, 2)))
    network.add_output("y", network.add_convolution2d(x, kernel, name="conv"))
    report = check_equal(network, make_runtime(npu(), make_backend("Cpu")), ["Npu", "Cpu"])
    assert types_on(report, "Npu") == {"Convolution2d": 1, "Transpose": 3}


def test_another_backend_may_transpose(npu, make_backend, make_runtime) -> None:
    runtime = make_runtime(npu(refused=["Transpose"]), make_backend("Cpu"))
    report = check_equal(two_convolutions(), runtime, ["Npu", "Cpu"])
    assert types_on(report, "Cpu") == {"Transpose": 2}


def test_where_no_backend_transposes_the_layers_stay(npu, make_backend, participants) -> None:
    refused = {"Transpose": "no"}
    parties = participants(npu(refused=["Transpose"]), make_backend("Cpu", refused))
    assert types_on(report_of(two_convolutions(), parties), "Npu") == {"Activation": 1}


def test_a_layer_that_is_refused_in_the_wished_layout_stays(make_backend, participants) -> None:
    def supports(_self: Any, layer: Layer, _model: Any) -> Support:
        if layer.name == "second":
            return Support.no("never", NHWC)
        return refusal(layer)

    parties = participants(make_backend("Npu", supports=supports), make_backend("Cpu"))
    report = report_of(two_convolutions(), parties)
    assert {row.layer: row.backend for row in report}["second"] == "Cpu"
    assert types_on(report, "Npu")["Convolution2d"] == 1


def test_a_layer_that_was_placed_elsewhere_stays(npu, make_backend, participants) -> None:
    parties = participants(npu(), make_backend("Cpu"))
    report = report_of(two_convolutions(), parties, layer_backends={"first": "Cpu"})
    backends = {row.layer: row.backend for row in report}
    assert (backends["first"], backends["second"]) == ("Cpu", "Npu")


def test_who_refused_the_layer_before_is_reported(npu, make_backend, participants) -> None:
    first = make_backend("First", {"Convolution2d": "no convolutions"})
    report = report_of(two_convolutions(), participants(first, npu(), make_backend("Cpu")))
    rows = {row.layer: row for row in report}
    assert (rows["first"].backend, rows["first"].reason) == ("Npu", "First: no convolutions")
    with pytest.raises(OptimizationError, match="strict mode: 2 layer"):
        report_of(two_convolutions(), participants(first, npu(), make_backend("Cpu")), strict=True)


def test_a_region_below_min_part_stays(npu, make_backend, participants) -> None:
    parties = participants(npu(refused=["Activation"]), make_backend("Cpu"))
    assert types_on(report_of(two_convolutions(), parties), "Npu")["Convolution2d"] == 2
    assert types_on(report_of(two_convolutions(), parties, min_part=2), "Npu") == {}


def test_a_backend_is_asked_about_the_network_and_once_about_the_region(
    npu, make_backend, make_runtime
) -> None:
    asked: list[list[str]] = []
    single: list[str] = []

    class Asked(npu(), NetworkBackend):
        def query(self, view: Any, model: Any) -> list[Support]:
            asked.append([layer.type for layer in view.layers])
            return [super(Asked, self).supports(layer, model) for layer in view.layers]

        def supports(self, layer: Layer, model: Any) -> Support:
            single.append(layer.name)
            return super().supports(layer, model)

    Asked.__name__ = "Npu"
    runtime = make_runtime(Asked, make_backend("Cpu"))
    runtime.load_model(two_convolutions(), ["Npu", "Cpu"])
    assert asked[0] == ["Convolution2d", "Activation", "Convolution2d"]
    assert asked[1][:3] == asked[0]
    assert set(asked[1][3:]) == {"Transpose"}
    assert (len(asked), single) == (2, [])


def test_specializations_share_transposed_weights(npu, make_backend, make_runtime) -> None:
    network = Network("open")
    x = network.add_input("x", TensorInfo(("n", 3, 6, 5)))
    network.add_output("y", network.add_convolution2d(x, weights(16, 3, 3, 3)))
    runtime = make_runtime(npu(), make_backend("Cpu"))
    model = runtime.load_model(network, ["Npu", "Cpu"])
    for count in (1, 2):
        model.run({"x": np.ones((count, 3, 6, 5), np.float32)})
    constants = [
        [layer.data for layer in each.plan.network.layers if layer.data is not None]
        for each in model._plans.plans
    ]
    assert [len(each) for each in constants] == [1, 1]
    assert constants[0][0] is constants[1][0]


def test_the_layout_is_chosen_for_each_set_of_shapes(npu, participants, make_backend) -> None:
    network = Network("images of any size")
    x = network.add_input("x", TensorInfo((1, 3, "h", "w")))
    padding = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}
    made = network.add_convolution2d(x, weights(8, 3, 3, 3), weights(8), name="c", **padding)
    network.add_output("y", made)

    def prepared() -> OptimizedNetwork:
        parties = participants(npu(), make_backend("Other"))
        return OptimizedNetwork(network, parties, OptimizerOptions())

    one = prepared()
    for shape in [(1, 3, 6, 5), (1, 3, 8, 9), (1, 3, 7, 7)]:
        found, fresh = one.specialize({"x": shape}, {}), prepared().specialize({"x": shape}, {})
        assert [row.as_dict() for row in found.report] == [row.as_dict() for row in fresh.report]
        assert "Transpose" in [row.type for row in found.report]
