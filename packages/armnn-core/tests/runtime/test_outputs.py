# SPDX-License-Identifier: MIT
from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from armnn import Network, TensorInfo
from armnn.errors import InvalidArgumentError

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def two_sums(batch: Any = 2) -> Network:
    """Return x + x and (x + x) + x over [batch, 3]."""
    network = Network("sums")
    x = network.add_input("x", TensorInfo((batch, 3)))
    double = network.add_addition(x, x, name="double")
    network.add_output("double", double)
    network.add_output("triple", network.add_addition(double, x, name="triple"))
    return network


@pytest.fixture
def model(make_backend, make_runtime):
    return make_runtime(make_backend("Fake")).load_model(two_sums("N"), ["Fake"])


@pytest.mark.parametrize("again", [1, 2], ids=["first run", "second run"])
def test_outputs_are_written_into_the_callers_arrays(model, again: int) -> None:
    double = np.empty((2, 3), np.float32)
    for _ in range(again):
        double[...] = np.nan
        made = model.run({"x": X}, {"double": double})
    assert made["double"] is double
    np.testing.assert_array_equal(double, 2 * X)
    np.testing.assert_array_equal(made["triple"], 3 * X)
    assert not np.shares_memory(made["triple"], model.run({"x": X})["triple"])


@pytest.mark.parametrize("limits", [{}, {"cancel": threading.Event()}], ids=["plain", "watched"])
def test_names_choose_what_is_returned(model, limits: Any) -> None:
    for names in (["triple"], ("triple", "double"), []):
        made = model.run({"x": X}, names=names, **limits)
        assert list(made) == list(names)
    np.testing.assert_array_equal(model.run({"x": X}, names=["triple"])["triple"], 3 * X)
    assert list(model.submit({"x": X}, names=["triple"]).result()) == ["triple"]
    assert list(asyncio.run(model.run_async({"x": X}, names=["triple"]))) == ["triple"]
    double = np.empty((2, 3), np.float32)
    assert list(model.run({"x": X}, {"double": double}, names=["triple"], **limits)) == ["triple"]
    np.testing.assert_array_equal(double, 2 * X)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("triple", r"the names is 'triple', expected a list of outputs such as \['y'\]"),
        (["tripel"], r"there is no output 'tripel': .* did you mean 'triple'\?"),
        ([3], "the names, element 0, is 3, expected a text"),
    ],
)
def test_names_of_no_output_are_refused(model, names: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        model.run({"x": X}, names=names)


def test_a_watched_run_writes_them_too(model) -> None:
    double = np.empty((2, 3), np.float32)
    made = model.run({"x": X}, outputs={"double": double}, cancel=threading.Event())
    assert made["double"] is double
    np.testing.assert_array_equal(double, 2 * X)


def test_an_output_may_go_where_an_input_came_from(model) -> None:
    x = X.copy()
    for factor in (3, 9):
        model.run({"x": x}, {"triple": x})
        np.testing.assert_array_equal(x, factor * X)


def test_outputs_may_be_strided_and_interleaved(model) -> None:
    both = np.empty((2, 3, 2), np.float32)
    model.run({"x": X}, {"double": both[..., 0], "triple": both[..., 1]})
    np.testing.assert_array_equal(both, np.stack([2 * X, 3 * X], axis=-1))


def test_real_values_are_written_where_the_network_quantizes(make_backend, make_runtime) -> None:
    network = Network("negated")
    info = TensorInfo((3,), "QAsymmS8", scales=(0.5,), zero_points=(-2,))
    x = network.add_input("x", info)
    network.add_output("y", network.add_reshape(x, target_shape=(3,), name="same"))
    fake = make_backend("Fake")
    model = make_runtime(fake).load_model(network, ["Fake"], quantize=True)
    y = np.empty(3, np.float32)
    assert model.run({"x": [1.0, -2.5, 7.5]}, {"y": y})["y"] is y
    np.testing.assert_array_equal(y, [1.0, -2.5, 7.5])
    with pytest.raises(InvalidArgumentError, match="for the output 'y' is int8: expected float32"):
        model.run({"x": [1.0, -2.5, 7.5]}, {"y": np.empty(3, np.int8)})


def read_only(array: Any) -> Any:
    array.flags.writeable = False
    return array


SHARED = np.empty((3, 3), np.float32)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([SHARED], r"given as outputs is .*, expected a mapping .*\{'double': \.\.\.\}"),
        ({"doubel": X}, "no output 'doubel': .* 'double', 'triple'; did you mean 'double'"),
        ({"double": [[0] * 3] * 2}, r"for the output 'double' is .*expected an array of float32"),
        ({"double": X.astype(np.float64)}, "'double' is float64: expected float32"),
        ({"double": np.empty((2, 4), np.float32)}, r"has shape \[2,4\]: expected \[N,3\]"),
        (
            {"double": np.empty((3, 3), np.float32)},
            r"'double' has shape \[3,3\]: these inputs make \[2,3\]",
        ),
        ({"double": read_only(X.copy())}, "for the output 'double' is read-only"),
        ({"double": as_strided(X.copy(), strides=(0, 4))}, r"'double' has strides of \[0, 4\] "),
        (
            {"double": SHARED[:2], "triple": SHARED[1:]},
            "for the output 'double' and the output 'triple' share memory",
        ),
    ],
)
@pytest.mark.parametrize("again", [False, True], ids=["first run", "second run"])
def test_arrays_that_cannot_take_an_output_are_refused(
    model, outputs: Any, message: str, again: bool
) -> None:
    if again:
        model.run({"x": X})
    with pytest.raises(InvalidArgumentError, match=message):
        model.run({"x": X}, outputs)
    np.testing.assert_array_equal(model.run({"x": X})["triple"], 3 * X)
