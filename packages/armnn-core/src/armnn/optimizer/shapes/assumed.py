# SPDX-License-Identifier: MIT
"""Sizes assumed for dimensions of inputs that are left open.

The model's metadata counts first (``imgsz``, ``stride``, the other inputs), then the smallest sizes
that its layers agree with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from armnn.errors import GraphError, ParseError, ShapeError
from armnn.tensor import Dimension, Shape, TensorInfo, format_shape

SIZES = (1, 8, 16, 32, 64, 224, 256, 320, 640)
"""Sizes that are tried: those that networks of convolutions are trained for, and one."""

MISFITS = (ShapeError, GraphError, ParseError)
"""The errors which say that the layers of a network do not agree with the shapes of its inputs."""

Key: TypeAlias = "str | tuple[str, int]"
"""An open dimension: its name, which is one size wherever it stands, or its input and axis."""

_BATCH_NAME = re.compile("batch|^n$|^b$", re.IGNORECASE)
_IMAGE_RANK = 4
_CHANNELS = (3, 1)


@dataclass(frozen=True, slots=True)
class AssumedShapes:
    """A shape for each input of a network.

    Attributes:
        shapes: By name; None where not even the rank is known.
        reasons: Why, for each input of which something was assumed.
        error: Why the layers do not agree with any shapes that were tried; None if they agree.
    """

    shapes: Mapping[str, Shape | None]
    reasons: Mapping[str, str]
    error: Exception | None = None

    def note(self, name: str, info: TensorInfo) -> str:
        """Return the assumptions about an input as text, or ""."""
        shape = self.shapes[name]
        if name not in self.reasons or shape is None or info.shape is None:
            return ""
        opened = zip(info.shape, shape, strict=True)
        ones = all(size == 1 for dim, size in opened if not isinstance(dim, int))
        taken = "1" if ones else f"{format_shape(shape)}, {self.reasons[name]}"
        return f"unknown dimensions of {format_shape(info.shape)} assumed to be {taken}"


def assume_shapes(
    inputs: Mapping[str, TensorInfo],
    metadata: Mapping[str, str],
    check: Callable[[Mapping[str, Shape | None]], object],
    known: Mapping[str, Shape | None] | None = None,
) -> AssumedShapes:
    """Return input shapes that the layers of a network accept.

    Args:
        inputs: The inputs as the model declares them.
        metadata: The metadata of the model's file.
        check: Raises one of :data:`MISFITS` if the layers do not agree with the shapes.
        known: The shapes of some inputs, where more is known than the model says.

    Returns:
        The first shapes that pass the check, or the last ones with the error that they raise.
    """
    declared = {name: info.shape for name, info in inputs.items()}
    shapes = {**declared, **(known or {})}
    bound = _bound(declared, shapes)
    failed: AssumedShapes | None = None
    for sizes, reason in _attempts(shapes, bound, metadata):
        tried = {name: _filled(name, shape, sizes) for name, shape in shapes.items()}
        reasons = {name: reason for name, shape in shapes.items() if tried[name] != shape}
        try:
            check(tried)
        except MISFITS as error:
            failed = AssumedShapes(tried, reasons, error)
        else:
            return AssumedShapes(tried, reasons)
    assert failed is not None  # there is one attempt at least
    return failed


def example_of(name: str, shape: Shape | None) -> str:
    """Return a shape for --shape, with names of unknown sizes."""
    sizes = "..." if shape is None else "x".join(map(_spelled, enumerate(shape))) or "scalar"
    return f"--shape {name}={sizes}"


def _spelled(dimension: tuple[int, Dimension]) -> str:
    axis, size = dimension
    return f"D{axis}" if size is None else re.sub(r"\W+", "_", str(size)).upper()


def _attempts(
    shapes: Mapping[str, Shape | None], bound: Mapping[Key, int], metadata: Mapping[str, str]
) -> Iterator[tuple[dict[Key, int], str]]:
    """Yield sizes of open dimensions with origins, likeliest first."""
    batches, channels, others = _roles(shapes)
    fixed = {**dict.fromkeys(batches, 1), **bound}
    rest = [key for key in (*channels, *others) if key not in fixed]
    if not rest:
        yield fixed, "as the other inputs have them" if bound else "a batch of 1"
        return
    hints = [
        (_image_sizes(shapes, metadata), "imgsz in the model's metadata"),
        (_sizes_beside(shapes), "the size of another input"),
    ]
    depths = _CHANNELS if any(key in rest for key in channels) else _CHANNELS[:1]
    for depth in depths:
        usual = {**dict.fromkeys(others, 1), **dict.fromkeys(channels, depth)}
        for hint, reason in hints:
            if any(key in rest for key in hint):
                yield {**usual, **hint, **fixed}, reason
        for size, reason in _sizes(metadata):
            yield {**usual, **dict.fromkeys(others, size), **fixed}, reason


def _sizes(metadata: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the sizes to try, for all open dimensions alike."""
    stride = re.fullmatch(r"\s*(\d{1,4})(\.0*)?\s*", metadata.get("stride", ""))
    if stride is not None and int(stride[1]) > 0:
        yield int(stride[1]), "stride in the model's metadata"
    for size in SIZES:
        yield size, f"the first of {', '.join(map(str, SIZES))} that fits"


def _roles(shapes: Mapping[str, Shape | None]) -> tuple[list[Key], list[Key], list[Key]]:
    """Return the open dimensions: batches, channels and others."""
    batches: dict[Key, None] = {}
    channels: dict[Key, None] = {}
    others: dict[Key, None] = {}
    for name, axis, dim, shape in _open(shapes):
        key = dim or (name, axis)
        is_image = len(shape) == _IMAGE_RANK
        if (axis == 0 and len(shape) > 1) or _BATCH_NAME.search(dim or ""):
            batches[key] = None
        elif is_image and axis == 1 and not any(isinstance(size, int) for size in shape[2:]):
            channels[key] = None
        else:
            others[key] = None
    return (
        list(batches),
        [key for key in channels if key not in batches],
        [key for key in others if key not in batches and key not in channels],
    )


def _image_sizes(shapes: Mapping[str, Shape | None], metadata: Mapping[str, str]) -> dict[Key, int]:
    """Return the image sizes in the entry ``imgsz``.

    It is "[480, 640]" (height, width) or "640".
    """
    numbers = [int(number) for number in re.findall(r"\d{1,5}", metadata.get("imgsz", ""))]
    if not 1 <= len(numbers) <= 2 or min(numbers) == 0:
        return {}
    height, width = numbers[0], numbers[-1]
    found: dict[Key, int] = {}
    for name, axis, dim, shape in _open(shapes):
        if len(shape) != _IMAGE_RANK:
            continue
        first = 1 if isinstance(shape[3], int) and not isinstance(shape[1], int) else 2
        if axis in (first, first + 1):
            found[dim or (name, axis)] = height if axis == first else width
    return found


def _sizes_beside(shapes: Mapping[str, Shape | None]) -> dict[Key, int]:
    """Return the sizes of other equally ranked inputs' same axes."""
    found: dict[Key, int] = {}
    for name, axis, dim, shape in _open(shapes):
        for other in shapes.values():
            if other is not None and len(other) == len(shape) and isinstance(other[axis], int):
                found.setdefault(dim or (name, axis), int(other[axis] or 0))
    return found


def _bound(
    declared: Mapping[str, Shape | None], shapes: Mapping[str, Shape | None]
) -> dict[Key, int]:
    """Return the named dimensions that given shapes determine."""
    found: dict[Key, int] = {}
    for name, shape in declared.items():
        for dim, size in zip(shape or (), shapes[name] or (), strict=False):
            if isinstance(dim, str) and isinstance(size, int):
                found.setdefault(dim, size)
    return found


def _open(shapes: Mapping[str, Shape | None]) -> Iterator[tuple[str, int, str | None, Shape]]:
    """Yield input, axis, name and shape of each open dimension."""
    for name, shape in shapes.items():
        for axis, dim in enumerate(shape or ()):
            if not isinstance(dim, int):
                yield name, axis, dim, shape or ()


def _filled(name: str, shape: Shape | None, sizes: Mapping[Key, int]) -> Shape | None:
    if shape is None:
        return None
    return tuple(
        dim if isinstance(dim, int) else _total(dim, sizes) or sizes[dim or (name, axis)]
        for axis, dim in enumerate(shape)
    )


def _total(dim: str | None, sizes: Mapping[Key, int]) -> int | None:
    """Return a name's value if it is a sum.

    It is a sum of other names, as "past_length + length".
    """
    terms = [term.strip() for term in (dim or "").split("+")]
    if len(terms) < 2 or not all(term in sizes or term.isdecimal() for term in terms):
        return None
    return sum(int(term) if term.isdecimal() else sizes[term] for term in terms)
