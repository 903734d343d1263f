# SPDX-License-Identifier: MIT
"""Sizes assumed for open dimensions, with their reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from armnn import TensorInfo
from armnn.errors import ShapeError
from armnn.optimizer.shapes.assumed import assume_shapes, example_of

if TYPE_CHECKING:
    from armnn.tensor import Shape

IMAGE: Shape = ("batch", 3, "height", "width")
SEARCH = "the first of 1, 8, 16, 32, 64, 224, 256, 320, 640 that fits"


def anything(_shapes: Mapping[str, Shape | None]) -> None:
    """Accept all shapes."""


def multiples_of(size: int) -> Callable[[Mapping[str, Any]], None]:
    """Return a check for images of multiples of a size."""

    def check(shapes: Mapping[str, Any]) -> None:
        for shape in shapes.values():
            if shape[2] % size or shape[3] % size:
                raise ShapeError(f"{shape[2]}x{shape[3]} does not fit")

    return check


def assumed(
    shape: Shape | None,
    metadata: Mapping[str, str] | None = None,
    check: Callable[[Mapping[str, Any]], None] = anything,
) -> tuple[Shape | None, str]:
    """Return the shape assumed for the only input, and why."""
    found = assume_shapes({"x": TensorInfo(shape)}, metadata or {}, check)
    return found.shapes["x"], found.reasons.get("x", "")


def test_what_is_known_stays_and_a_batch_is_one() -> None:
    assert assumed((2, 3)) == ((2, 3), "")
    assert assumed(None) == (None, "")
    assert assumed(()) == ((), "")
    assert assumed(("n", 4)) == ((1, 4), "a batch of 1")
    assert assumed((3, "batch_size")) == ((3, 1), "a batch of 1")


@pytest.mark.parametrize(
    ("imgsz", "shape", "expected"),
    [
        ("[480, 640]", IMAGE, (1, 3, 480, 640)),
        ("640", IMAGE, (1, 3, 640, 640)),
        ("[480, 640]", (None, None, None, 3), (1, 480, 640, 3)),
        ("[480, 640]", (1, 3, 480, None), (1, 3, 480, 640)),
        ("[480, 640]", (None, None, None, None), (1, 3, 480, 640)),
        # No sizes at all: nothing, three numbers, zero; and no image.
        ("auto", IMAGE, (1, 3, 1, 1)),
        ("[1, 2, 3]", IMAGE, (1, 3, 1, 1)),
        ("[0, 640]", IMAGE, (1, 3, 1, 1)),
        ("[480, 640]", ("batch", "length"), (1, 1)),
    ],
)
def test_the_metadata_says_the_size_of_images(imgsz: str, shape: Shape, expected: Shape) -> None:
    assert assumed(shape, {"imgsz": imgsz})[0] == expected


def test_a_size_of_the_metadata_that_does_not_fit_is_passed_over() -> None:
    both = {"imgsz": "[640, 640]", "stride": "32"}
    assert assumed(IMAGE, both, multiples_of(32)) == (
        (1, 3, 640, 640),
        "imgsz in the model's metadata",
    )
    assert assumed(IMAGE, {**both, "imgsz": "33"}, multiples_of(32)) == (
        (1, 3, 32, 32),
        "stride in the model's metadata",
    )
    assert assumed(IMAGE, {"imgsz": "33", "stride": "0"}, multiples_of(32)) == (
        (1, 3, 32, 32),
        SEARCH,
    )


@pytest.mark.parametrize(("multiple", "size"), [(1, 1), (2, 8), (7, 224), (5, 320), (128, 256)])
def test_the_smallest_size_that_fits_is_taken(multiple: int, size: int) -> None:
    assert assumed(IMAGE, check=multiples_of(multiple)) == ((1, 3, size, size), SEARCH)


def test_open_channels_are_those_of_a_color_picture_or_of_a_grey_one() -> None:
    def grey(shapes: Mapping[str, Any]) -> None:
        if shapes["x"][1] != 1:
            raise ShapeError("one channel")

    assert assumed((None,) * 4)[0] == (1, 3, 1, 1)
    assert assumed((None,) * 4, check=grey)[0] == (1, 1, 1, 1)


def test_if_none_fits_the_last_error_is_kept() -> None:
    found = assume_shapes({"x": TensorInfo(IMAGE)}, {}, multiples_of(1000))
    assert str(found.error) == "640x640 does not fit"
    assert found.shapes == {"x": (1, 3, 640, 640)}
    fixed = assume_shapes({"x": TensorInfo((1, 1, 2, 3))}, {}, multiples_of(7))
    assert (str(fixed.error), dict(fixed.reasons)) == ("2x3 does not fit", {})


def test_inputs_tell_of_each_other() -> None:
    inputs = {
        "image": TensorInfo(("batch", 3, "height", "width")),
        "mask": TensorInfo((None, 1, "height", "width")),
    }
    known: dict[str, Shape] = {"image": (2, 3, 48, 64)}
    found = assume_shapes(inputs, {"imgsz": "[640, 640]"}, anything, known)
    assert found.shapes == {"image": (2, 3, 48, 64), "mask": (1, 1, 48, 64)}
    assert found.reasons == {"mask": "as the other inputs have them"}
    beside = {"image": TensorInfo((1, 3, 48, 64)), "mask": TensorInfo(("n", 1, None, None))}
    assert assume_shapes(beside, {}, anything).shapes["mask"] == (1, 1, 48, 64)


def test_a_name_that_is_a_sum_has_the_size_of_the_sum() -> None:
    inputs = {
        "ids": TensorInfo(("batch", "length")),
        "past": TensorInfo(("batch", 2, "past_length", 4)),
        "mask": TensorInfo(("batch", "past_length + length")),
        "next": TensorInfo(("batch", "length + 1")),
    }
    found = assume_shapes(inputs, {}, anything, {"ids": (1, 5)})
    assert found.shapes["mask"] == (1, 6)
    assert found.shapes["next"] == (1, 6)


def test_a_note_says_what_was_assumed() -> None:
    info = TensorInfo(IMAGE)
    found = assume_shapes({"x": info}, {"imgsz": "64"}, anything)
    assert found.note("x", info) == (
        "unknown dimensions of [batch,3,height,width] assumed to be [1,3,64,64], imgsz in "
        "the model's metadata"
    )
    ones = assume_shapes({"x": info}, {}, anything)
    assert ones.note("x", info) == "unknown dimensions of [batch,3,height,width] assumed to be 1"
    assert assume_shapes({"x": TensorInfo((1,))}, {}, anything).note("x", TensorInfo((1,))) == ""


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ((1, 3, 640, 640), "--shape x=1x3x640x640"),
        ((1, 3, "height", None), "--shape x=1x3xHEIGHTxD3"),
        (("2*n + 1",), "--shape x=2_N_1"),
        ((), "--shape x=scalar"),
        (None, "--shape x=..."),
    ],
)
def test_an_example_is_what_the_option_takes(shape: Shape | None, text: str) -> None:
    assert example_of("x", shape) == text
