# SPDX-License-Identifier: MIT
"""The truth of large layers, computed piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from armnn import CreationOptions
from armnn.backends import ModelContext
from armnn.backends.registry import BackendRegistry
from armnn.debugging import pieces
from armnn.debugging.pieces import pieces_of
from armnn.debugging.reference import Reference
from armnn.graph import Layer, Network, Value
from armnn.optimizer import Candidate
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, DataType

Arrays = list["np.ndarray[Any, Any]"]
NCHW, NHWC = DataLayout.NCHW, DataLayout.NHWC
RANDOM = np.random.default_rng(7)


@pytest.fixture
def reference() -> Reference:
    backend = BackendRegistry(CreationOptions()).get("CpuRef")
    return Reference(Candidate(backend, ModelContext({})))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "ELEMENTS", 40)


def made_by(make: Callable[..., Value], shapes: list[tuple[int, ...]], **options: Any) -> Layer:
    """Return a layer whose inputs have some shapes."""
    net = Network("one layer")
    values = [net.add_input(f"{at}", TensorInfo(shape)) for at, shape in enumerate(shapes)]
    return make(net, *values, **options).producer


def drawn(shapes: list[tuple[int, ...]]) -> Arrays:
    return [RANDOM.standard_normal(shape, np.float32) for shape in shapes]


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 1, 50), (3, 1, 50)],
        [(1, 6, 5, 9), (1,)],
        [(1, 6, 1, 1), (1, 6, 5, 9)],
        [(5, 9), (1, 6, 5, 9)],
        [(1, 1, 90), (2, 1, 1)],
    ],
    ids=str,
)
def test_pieces_make_the_float64_values_of_numpy(
    shapes: list[tuple[int, ...]], reference: Reference
) -> None:
    layer, operands = made_by(Network.add_division, shapes), drawn(shapes)
    assert len(pieces_of(layer, operands)) > 1
    (made,) = reference.exact(layer, operands)
    assert made is not None
    np.testing.assert_array_equal(made, operands[0].astype(np.float64) / operands[1])


@pytest.mark.usefixtures("small_pieces")
def test_bytes_are_real_values_in_each_piece(reference: Reference) -> None:
    net = Network("bounded")
    info = TensorInfo((3, 1, 99), DataType.QASYMM_S8, 0.5, 3)
    x = net.add_input("x", info)
    layer = net.add_activation(x, function="Abs", output=info).producer
    stored = RANDOM.integers(-128, 128, (3, 1, 99)).astype(np.int8)
    assert len(pieces_of(layer, [stored])) == 3
    (made,) = reference.exact(layer, [stored])
    np.testing.assert_array_equal(made, np.abs((stored.astype(np.float64) - 3) * 0.5))


def convolution(layout: DataLayout, **options: int) -> tuple[Layer, Arrays]:
    planes = {NCHW: [(2, 3, 11, 7), (4, 3, 3, 2)], NHWC: [(2, 11, 7, 3), (4, 3, 2, 3)]}
    shapes = [*planes[layout], (4,)]
    layer = made_by(Network.add_convolution2d, shapes, data_layout=layout, **options)
    return layer, drawn(shapes)


def depthwise(layout: DataLayout, **options: int) -> tuple[Layer, Arrays]:
    shapes = [{NCHW: (2, 3, 11, 7), NHWC: (2, 11, 7, 3)}[layout], (1, 3, 2, 6), (6,)]
    layer = made_by(Network.add_depthwise_convolution2d, shapes, data_layout=layout, **options)
    return layer, drawn(shapes)


def pooling(layout: DataLayout, **options: int) -> tuple[Layer, Arrays]:
    shapes = [{NCHW: (1, 3, 11, 7), NHWC: (1, 11, 7, 3)}[layout]]
    sizes = {"pool_width": 2, "pool_height": 3, "stride_x": 1, "stride_y": 1} | {
        name: value for name, value in options.items() if not name.startswith("dilation")
    }
    layer = made_by(Network.add_pooling2d, shapes, data_layout=layout, **sizes)
    return layer, drawn(shapes)


def resizing(layout: DataLayout, **_: int) -> tuple[Layer, Arrays]:
    shapes = [{NCHW: (1, 3, 11, 7), NHWC: (1, 11, 7, 3)}[layout]]
    layer = made_by(
        Network.add_resize, shapes, data_layout=layout, target_height=9, target_width=13
    )
    return layer, drawn(shapes)


WINDOWS = [
    {},
    {"pad_top": 2, "pad_bottom": 1, "pad_left": 1},
    {"stride_y": 2, "stride_x": 2, "pad_top": 1},
    {"dilation_y": 3, "pad_bottom": 2, "stride_y": 2},
]


@pytest.mark.parametrize("make", [convolution, depthwise, pooling, resizing])
@pytest.mark.parametrize("layout", [NCHW, NHWC], ids=lambda layout: layout.name)
@pytest.mark.parametrize("options", WINDOWS, ids=str)
def test_pieces_of_windows_are_those_of_the_whole(
    make: Callable[..., tuple[Layer, Arrays]],
    layout: DataLayout,
    options: dict[str, int],
    reference: Reference,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer, operands = make(layout, **options)
    (whole,) = reference.exact(layer, operands)
    assert whole is not None
    monkeypatch.setattr(pieces, "ELEMENTS", 20)
    monkeypatch.setattr(pieces, "WEIGHTS", 0)
    assert len(pieces_of(layer, operands)) > 2
    (made,) = reference.exact(layer, operands)
    np.testing.assert_allclose(made, whole, rtol=1e-14, atol=1e-14)


@pytest.mark.usefixtures("small_pieces")
def test_real_values_take_the_place_of_a_piece_of_an_input(reference: Reference) -> None:
    layer = made_by(Network.add_multiplication, [(6, 20), (1,)])
    operands = [np.zeros((6, 20), np.float32), np.full(1, 2, np.float32)]
    (x, _) = layer.inputs
    assert x is not None
    real = RANDOM.standard_normal((6, 20))
    (made,) = reference.exact(layer, operands, {x: real})
    np.testing.assert_array_equal(made, 2 * real)


def test_what_is_small_or_mixes_elements_is_computed_at_once() -> None:
    large = (3, 1, pieces.ELEMENTS)
    (array,) = drawn([large])
    assert len(pieces_of(made_by(Network.add_floor, [large]), [array])) == 0
    assert len(pieces_of(made_by(Network.add_softmax, [large]), [array])) == 0
    small = [(3, 1, 5), (3, 1, 5)]
    assert not pieces_of(made_by(Network.add_addition, small), drawn(small))


@pytest.mark.usefixtures("small_pieces")
def test_scales_along_the_axis_are_not_cut() -> None:
    net = Network("scales")
    info = TensorInfo((3, 50), DataType.QSYMM_S8, [0.5, 1.0, 2.0], axis=0)
    x = net.add_input("x", info)
    layer = net.add_activation(x, function="Abs", output=TensorInfo((3, 50))).producer
    assert not pieces_of(layer, [np.ones((3, 50), np.int8)])


@pytest.mark.usefixtures("small_pieces")
def test_windows_that_read_padding_only_are_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "WEIGHTS", 0)
    layer, operands = convolution(NCHW, pad_top=9)
    assert not pieces_of(layer, operands)
