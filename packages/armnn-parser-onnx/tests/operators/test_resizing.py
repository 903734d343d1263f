# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

node = helper.make_node
Model = Callable[..., onnx.ModelProto]
X = np.random.default_rng(3).standard_normal((1, 2, 4, 6)).astype(np.float32)
UP = np.array([1, 1, 2, 3], np.float32)
DOWN = np.array([1, 1, 0.5, 0.5], np.float32)
ROI = np.zeros(0, np.float32)


@pytest.fixture
def compare(model: Model, run: Callable[..., Any]) -> Callable[..., None]:
    def compare(
        made: onnx.NodeProto, constants: dict[str, Any], opset: int, *, dynamic: bool = False
    ) -> None:
        given = model(made, {"x": X}, constants=constants, opset=opset, output_types={"y": 1})
        (expected,) = ort.InferenceSession(given.SerializeToString()).run(None, {"x": X})
        if dynamic:
            for dim in given.graph.input[0].type.tensor_type.shape.dim[2:]:
                dim.ClearField("value")
        (result,) = run(given, {"x": X})
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)

    return compare


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_the_old_forms(compare: Callable[..., None], mode: str, dynamic: bool) -> None:
    made = node("Upsample", ["x"], ["y"], mode=mode, scales=UP.tolist())
    compare(made, {}, 7, dynamic=dynamic)
    for op_type, opset in (("Upsample", 9), ("Resize", 10)):
        made = node(op_type, ["x", "s"], ["y"], mode=mode)
        compare(made, {"s": UP}, opset, dynamic=dynamic)


@pytest.mark.parametrize(("scales", "dynamic"), [(UP, True), (UP, False), (DOWN, False)])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners"])
def test_linear_by_scales(
    compare: Callable[..., None], coordinates: str, scales: np.ndarray, dynamic: bool
) -> None:
    made = node(
        "Resize", ["x", "r", "s"], ["y"], mode="linear", coordinate_transformation_mode=coordinates
    )
    compare(made, {"r": ROI, "s": scales}, 11, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize(
    ("coordinates", "nearest", "sizes"),
    [
        ("asymmetric", "floor", [1, 2, 7, 5]),
        ("half_pixel", "round_prefer_ceil", [1, 2, 7, 5]),
        ("align_corners", "round_prefer_ceil", [1, 2, 7, 5]),
        ("tf_half_pixel_for_nn", "floor", [1, 2, 7, 5]),
    ],
)
def test_nearest_by_sizes(
    compare: Callable[..., None], coordinates: str, nearest: str, sizes: list[int], dynamic: bool
) -> None:
    made = node(
        "Resize",
        ["x", "r", "r", "n"],
        ["y"],
        mode="nearest",
        coordinate_transformation_mode=coordinates,
        nearest_mode=nearest,
    )
    compare(made, {"r": ROI, "n": np.array(sizes)}, 11, dynamic=dynamic)


@pytest.mark.parametrize("dynamic", [True, False])
def test_whole_scales_with_the_default_rounding(
    compare: Callable[..., None], dynamic: bool
) -> None:
    made = node("Resize", ["x", "r", "s"], ["y"])
    compare(made, {"r": ROI, "s": UP}, 11, dynamic=dynamic)


def test_scales_of_some_axes(compare: Callable[..., None]) -> None:
    made = node("Resize", ["x", "", "s"], ["y"], mode="linear", axes=[3, 2])
    compare(made, {"s": np.array([2, 3], np.float32)}, 18)


def test_a_computed_size(run: Callable[..., Any], model: Model) -> None:
    other = np.zeros((1, 1, 9, 5), np.float32)
    nodes = [
        node("Shape", ["x"], ["a"]),
        node("Shape", ["o"], ["b"]),
        node("Slice", ["a", "zero", "two"], ["front"]),
        node("Slice", ["b", "two", "four"], ["back"]),
        node("Concat", ["front", "back"], ["n"], axis=0),
        node("Resize", ["x", "", "", "n"], ["y"], mode="linear"),
    ]
    constants = {"zero": np.array([0]), "two": np.array([2]), "four": np.array([4])}
    inputs = {"x": (1, [1, 2, None, None]), "o": (1, [1, 1, None, None])}
    made = model(nodes, inputs, constants=constants, opset=13, output_types={"y": 1})
    feeds = {"x": X, "o": other}
    (expected,) = ort.InferenceSession(made.SerializeToString()).run(None, feeds)
    (result,) = run(made, feeds)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_one_spatial_axis(run: Callable[..., Any], model: Model) -> None:
    x = X[0]
    made = model(
        node("Resize", ["x", "", "s"], ["y"], mode="linear"),
        {"x": x},
        constants={"s": np.array([1, 1, 2], np.float32)},
        opset=13,
        output_types={"y": 1},
    )
    (expected,) = ort.InferenceSession(made.SerializeToString()).run(None, {"x": x})
    (result,) = run(made, {"x": x})
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def resize(**attributes: Any) -> onnx.NodeProto:
    return node("Resize", ["x", "", "", "n"], ["y"], **attributes)


def scale(**attributes: Any) -> onnx.NodeProto:
    return node("Resize", ["x", "", "s"], ["y"], **attributes)


@pytest.mark.parametrize(
    ("made", "constant", "shape", "message"),
    [
        (resize(), [8, 8], [1, 2, 4, 4], r"the sizes \[8, 8\] do not fit 4 axes"),
        (resize(), [1, 2, 0, 8], [1, 2, 4, 4], r"the sizes \[1, 2, 0, 8\] are out of range"),
        (resize(axes=[2, 2]), [8, 8], [1, 2, 4, 4], "do not fit 2 axes: expected one for each"),
        (scale(), [1, 1, 0, 1], [1, 2, 4, 4], "must be finite and above 0"),
        (scale(), [1, 1, float("nan"), 1], [1, 2, 4, 4], "must be finite and above 0"),
        (scale(), [1, 2], [1, 2, 4, 4], "the scales .* do not fit 4 axes"),
    ],
)
def test_what_the_layer_cannot_mean_is_refused(
    model: Model, made: onnx.NodeProto, constant: list[Any], shape: list[Any], message: str
) -> None:
    name, dtype = ("n", np.int64) if "n" in made.input else ("s", np.float32)
    constants = {name: np.array(constant, dtype)}
    with pytest.raises(ParseError, match=message):
        parse(model(made, {"x": (1, shape)}, constants=constants).SerializeToString())


def test_opset_10_does_not_say_the_nearest_of_a_smaller_image(model: Model) -> None:
    made = model(node("Resize", ["x", "s"], ["y"]), {"x": X}, constants={"s": DOWN}, opset=10)
    with pytest.raises(ParseError, match="opset 10 does not say which neighbor is the nearest"):
        parse(made.SerializeToString())


CUBIC = {"mode": "cubic", "cubic_coeff_a": -0.5}
CORNERS = {"coordinate_transformation_mode": "align_corners"}
CROP = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}


@pytest.mark.parametrize(
    ("attributes", "numbers"),
    [
        ({"mode": "cubic"}, [1, 2, 9, 4]),
        ({**CUBIC, "exclude_outside": 1}, [1, 2, 9, 4]),
        ({**CUBIC, "antialias": 1}, [1, 2, 3, 2]),
        ({"mode": "linear", "antialias": 1}, [1, 2, 3, 2]),
        ({"mode": "linear", "antialias": 1, "exclude_outside": 1}, [1, 2, 2, 9]),
        ({"nearest_mode": "ceil"}, [1, 2, 7, 11]),
        ({"nearest_mode": "round_prefer_floor"}, [1, 2, 15, 3]),
        ({"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3]}, [9, 8]),
        ({"keep_aspect_ratio_policy": "not_smaller", "mode": "linear", "axes": [3, 2]}, [9, 8]),
        ({"coordinate_transformation_mode": "pytorch_half_pixel", "mode": "linear"}, [1, 2, 1, 8]),
        ({"mode": "linear"}, [1.0, 1.0, 1.5, 0.7]),
        ({"mode": "cubic"}, [1.0, 1.0, 0.7, 1.6]),
        (
            {"coordinate_transformation_mode": "align_corners", "mode": "linear"},
            [1.0, 1.0, 0.7, 1.5],
        ),
        ({"coordinate_transformation_mode": "half_pixel_symmetric"}, [1.0, 1.0, 0.7, 2.3]),
        ({"mode": "linear"}, [2, 3, 5, 9]),
        ({**CROP, "mode": "linear"}, [1, 2, 3, 9]),
        ({**CROP, "mode": "nearest"}, [1, 2, 6, 2]),
    ],
)
def test_resizing_agrees_with_the_reference(
    check: Callable[..., Any], attributes: dict[str, Any], numbers: list[float]
) -> None:
    box = [0, 0, -0.25, 0.12, 1, 1, 0.84, 1.3] if "extrapolation_value" in attributes else []
    constants = {"roi": np.array(box, np.float32)}
    if isinstance(numbers[0], float):
        inputs, constants["s"] = ["x", "roi", "s"], np.array(numbers, np.float32)
    else:
        inputs, constants["n"] = ["x", "roi", "", "n"], np.array(numbers)
    operator = node("Resize", inputs, ["y"], **attributes)
    for dynamic in (False, True):
        check(operator, {"x": X}, constants=constants, opset=19, dynamic=dynamic, rtol=1e-4)


def test_any_axes_of_any_rank(check: Callable[..., Any]) -> None:
    volume = np.random.default_rng(0).standard_normal((2, 3, 4, 5, 2)).astype(np.float32)
    constants = {"n": np.array([4, 3, 6, 3, 4])}
    check(resize(mode="linear"), {"x": volume}, constants=constants, opset=19, rtol=1e-4)
    check(resize(), {"x": volume[0, 0, 0]}, constants={"n": np.array([7, 3])}, opset=19)


def test_computed_sizes_of_some_axes(check: Callable[..., Any]) -> None:
    check(resize(axes=[2, 3], mode="linear"), {"x": X, "n": np.array([8, 8])}, opset=19)
    check(resize(mode="cubic"), {"x": X, "n": np.array([1, 2, 8, 8])}, opset=19, rtol=1e-4)


def test_integers_are_resized_to_the_nearest_only(check: Callable[..., Any], model: Model) -> None:
    x, constants = np.arange(12).reshape(1, 3, 4), {"n": np.array([2, 3, 9])}
    check(resize(), {"x": x}, constants=constants, opset=19)
    made = model(resize(mode="linear"), {"x": x}, constants=constants, opset=19)
    with pytest.raises(ParseError, match="it interpolates between integers"):
        parse(made.SerializeToString())
