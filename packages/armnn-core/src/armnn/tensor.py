# SPDX-License-Identifier: MIT
"""A tensor's description: shape, data type and quantization, no data."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import instance, integer, items, real, refused, shown
from armnn.errors import InvalidArgumentError
from armnn.types import DataType, DataTypeLike

_N = TypeVar("_N", float, int)

Dimension: TypeAlias = int | str | None
"""The size of one axis: a number, the name of an unknown number, or unknown."""

_PLAIN = frozenset({int, str, type(None)})

Shape: TypeAlias = tuple[Dimension, ...]
"""One dimension per axis; ``()`` is a scalar."""

MAX_RANK = 8

_NAME_LIMIT = 24
"""Characters of a dimension's name that people are shown; exporters write formulas there."""
_MOST = 2**63 - 1  # of a dimension, as NumPy has it


_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Shape, data type and quantization of a tensor.

    Counterpart of Arm NN's ``TensorInfo``.

    Attributes:
        shape: One dimension per axis, rank 0 to 8; ``None`` where not even the rank is known.
        data_type: The type of an element. Its name, its number, or a type of NumPy's is accepted:
            "QAsymmU8", "float32", ``np.float32``; of the latter the plain type.
        scales: Empty (not quantized, or not known yet), one scale, or one per index of ``axis``.
            A single number is accepted.
        zero_points: The stored values that mean zero: one, or one per scale. A single number is
            accepted; the default is zero. As in Arm NN they need not be values that the type can
            store, and a type that is called symmetric may have another one than zero.
        axis: The axis of per-axis quantization, counted from the front; ``None`` if per tensor.

    Raises:
        InvalidArgumentError: A field is of another kind, or they do not agree with each other.
    """

    shape: Shape | None
    data_type: DataType = DataType.FLOAT32
    scales: tuple[float, ...] = ()
    zero_points: tuple[int, ...] = ()
    axis: int | None = None

    def __init__(
        self,
        shape: Iterable[Dimension] | None,
        data_type: DataTypeLike = DataType.FLOAT32,
        scales: float | Iterable[float] = (),
        zero_points: int | Iterable[int] = (),
        axis: int | None = None,
    ) -> None:
        assign = object.__setattr__  # the documented way to fill a frozen dataclass
        assign(self, "shape", None if shape is None else _checked_shape(shape))
        assign(self, "data_type", DataType.of(data_type, "the data type of a tensor"))
        assign(self, "scales", _numbers(scales, real, "the scale", "scales"))
        assign(self, "zero_points", _numbers(zero_points, integer, "the zero point", "zero points"))
        assign(self, "axis", None if axis is None else integer(axis, "the quantization axis"))
        if self.scales and not self.zero_points:
            assign(self, "zero_points", (0,) * len(self.scales))
        _check_quantization(self)

    @property
    def rank(self) -> int | None:
        """The number of axes, None if it is unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every dimension is a number."""
        if self.shape is None:
            return False
        for dim in self.shape:  # noqa: SIM110  # a generator takes twice the time, 10,000 times
            if not isinstance(dim, int):
                return False
        return True

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape as numbers.

        Raises:
            InvalidArgumentError: A dimension is not known.
        """
        if self.is_static:
            return self.shape  # type: ignore[return-value]  # which is_static has looked at
        raise InvalidArgumentError(
            f"the shape {format_shape(self.shape)} is not known in full; give the inputs of "
            "the network their shapes first"
        )

    @property
    def num_elements(self) -> int:
        """The number of elements, if the shape is known."""
        return math.prod(self.static_shape)

    @property
    def size_bytes(self) -> int:
        """The elements' size in memory, one NumPy element each."""
        return math.prod(self.static_shape) * self.data_type.numpy_dtype.itemsize

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are real values stored in steps."""
        return self.data_type.is_quantized

    @property
    def is_per_axis(self) -> bool:
        """Whether each index of :attr:`axis` has its own scale."""
        return self.axis is not None

    @property
    def scale(self) -> float:
        """The one scale of per-tensor quantization."""
        self._require_per_tensor("scale")
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The one zero point of per-tensor quantization."""
        self._require_per_tensor("zero point")
        return self.zero_points[0]

    def _require_per_tensor(self, what: str) -> None:
        if self.axis is not None or len(self.scales) != 1:
            raise InvalidArgumentError(
                f"{self} has no single {what}: got {len(self.scales)} of them, expected per-tensor "
                "quantization"
            )

    def with_shape(self, shape: Iterable[Dimension] | None) -> TensorInfo:
        """Return this info with another shape.

        Raises:
            InvalidArgumentError: It is not a shape, or does not have the axis of the quantization.
        """
        if shape is self.shape:
            return self
        checked = None if shape is None else _checked_shape(shape)
        if _is_plain(checked) and _is_plain(self.shape) and checked == self.shape:
            return self  # whether symbolic shapes are equal is not a decision that matters here
        made, assign = object.__new__(TensorInfo), object.__setattr__
        assign(made, "shape", checked)
        assign(made, "data_type", self.data_type)  # this and the others have been checked
        assign(made, "scales", self.scales)
        assign(made, "zero_points", self.zero_points)
        assign(made, "axis", self.axis)
        if self.axis is not None:
            _check_axis(made)
        return made

    def with_data_type(self, data_type: DataTypeLike) -> TensorInfo:
        """Return this info with another, not quantized, data type."""
        return TensorInfo(self.shape, data_type)

    def with_quantization_of(self, other: TensorInfo) -> TensorInfo:
        """Return this shape with ``other``'s data type and quantization."""
        return replace_shape(instance(other, TensorInfo, "the other info"), self.shape)

    def is_type_space_match(self, other: TensorInfo) -> bool:
        """Return whether both store the same value alike.

        The same real value has the same bits (Arm NN: IsTypeSpaceMatch).
        """
        instance(other, TensorInfo, "the other info")
        return (self.data_type, self.scales, self.zero_points, self.axis) == (
            other.data_type,
            other.scales,
            other.zero_points,
            other.axis,
        )

    def accepts(self, shape: Sequence[int]) -> bool:
        """Return whether an array's shape fits the known dimensions."""
        shape = items(shape, "the shape of an array")
        return self.shape is None or (
            len(shape) == len(self.shape)
            and all(
                not isinstance(dim, int) or dim == size
                for dim, size in zip(self.shape, shape, strict=True)
            )
        )

    def __str__(self) -> str:
        text = f"{self.data_type.arm_name}{format_shape(self.shape)}"
        if self.axis is not None:
            return f"{text} with {len(self.scales)} scales along axis {self.axis}"
        if self.scales:
            return f"{text} with scale {self.scales[0]:g} and zero point {self.zero_points[0]}"
        return text


def replace_shape(info: TensorInfo, shape: Shape | None) -> TensorInfo:
    """Return ``info`` with ``shape``, itself if the shape is unchanged."""
    return info if info.shape == shape else info.with_shape(shape)


def _is_plain(shape: tuple[Dimension, ...] | None) -> bool:
    """Return whether no dimension of a shape is symbolic."""
    return shape is None or _PLAIN.issuperset(map(type, shape))


def format_shape(shape: Iterable[Dimension] | None) -> str:
    """Return a shape as text; unknown dimensions are ``?`` or names.

    Long names are cut, so that shapes that are not the same may read the same.
    """
    if shape is None:
        return "[unknown rank]"
    return "[" + ",".join("?" if dim is None else _shortened(str(dim)) for dim in shape) + "]"


def _shortened(text: str) -> str:
    return text if len(text) <= _NAME_LIMIT else text[: _NAME_LIMIT - 3] + "..."


def completed_shape(inferred: Shape | None, declared: Shape | None) -> Shape | None:
    """Return the inferred shape, completed by the model file's."""
    if inferred is None or declared is None or len(inferred) != len(declared):
        return declared if inferred is None else inferred
    return tuple(size if dim is None else dim for dim, size in zip(inferred, declared, strict=True))


def info_of(array: NDArray[Any]) -> TensorInfo:
    """Return the info of an array of plain, unquantized values.

    Raises:
        InvalidArgumentError: It is not an array, or no data type is stored like its elements.
    """
    if not isinstance(array, (np.ndarray, np.generic)):
        raise refused("the array", array, "an array of NumPy's")
    try:
        data_type = DataType.from_numpy(array.dtype)
    except KeyError:
        known = ", ".join(dict.fromkeys(kind.numpy_name for kind in DataType))
        raise InvalidArgumentError(
            f"an array of {array.dtype} cannot be a tensor: expected one of {known}"
        ) from None
    return _plain_info(array.shape, data_type)


@functools.lru_cache(1024)
def _plain_info(shape: tuple[int, ...], data_type: DataType) -> TensorInfo:
    """Return an info; models have many constants of one shape."""
    return TensorInfo(shape, data_type)


def _checked_shape(shape: Iterable[Dimension]) -> Shape:
    if type(shape) is tuple:
        dims = shape
    else:
        dims = tuple(items(shape, "the shape of a tensor", "a list of dimensions such as (1, 3)"))
    for dim in dims:
        if type(dim) is int:
            if not 0 <= dim <= _MOST:
                break
        elif dim is not None and type(dim) is not str and not getattr(dim, "is_size", False):
            break
    else:
        if len(dims) <= MAX_RANK:
            return dims  # as nearly all are
    dims = tuple(_dimension(dim, dims) for dim in dims)
    if len(dims) > MAX_RANK:
        raise InvalidArgumentError(
            f"a tensor of shape {format_shape(dims)} has rank {len(dims)}: expected at most "
            f"{MAX_RANK}"
        )
    if any(isinstance(dim, int) and dim < 0 for dim in dims):
        raise InvalidArgumentError(
            f"the shape {format_shape(dims)} has a negative dimension: write None for one that is "
            "not known"
        )
    return dims


def _dimension(dim: object, dims: Sequence[object]) -> Dimension:
    if dim is None or isinstance(dim, str):
        return dim
    try:
        return integer(dim, "a dimension")
    except InvalidArgumentError:
        raise InvalidArgumentError(
            f"{shown(dim)} cannot be a dimension of {shown(tuple(dims))}: expected an integer of "
            "64 bits, a name or None"
        ) from None


def _numbers(
    value: object, convert: Callable[[object, str], _N], what: str, plural: str
) -> tuple[_N, ...]:
    """Return one number, or several, as a tuple."""
    if isinstance(value, tuple) and not value:
        return ()  # as nearly all are
    single = isinstance(value, (int, float, np.generic, np.ndarray)) and not np.ndim(value)
    listed = (value,) if single else items(value, f"the {plural}", "a number or a list of them")
    if set(map(type, listed)) == {_CONVERTED[convert]}:
        return tuple(listed)  # one each of thousands of channels
    return tuple([convert(each, what) for each in listed])


_CONVERTED: dict[Callable[..., Any], type[Any]] = {real: float, integer: int}
"""The type of the results of a converter; what has it is not converted."""


def _check_quantization(info: TensorInfo) -> None:
    if not info.is_quantized:
        if info.scales or info.zero_points or info.axis is not None:
            raise InvalidArgumentError(
                f"{info.data_type.arm_name} takes no scale, zero point or axis: choose one of the "
                "quantized data types"
            )
        return
    # The sum says it of nearly all, and of thousands at once; what is not finite spoils it.
    scales = info.scales
    are_fine = not scales or (min(scales) > 0 and sum(scales) < math.inf)
    if not are_fine and not all(0 < scale < math.inf for scale in scales):
        raise InvalidArgumentError(
            f"the scales of {info} must be finite and above zero: got {list(info.scales)}"
        )
    if len(info.zero_points) != len(info.scales):
        raise InvalidArgumentError(
            f"{info.data_type.arm_name} got {len(info.zero_points)} zero points for "
            f"{len(info.scales)} scales: expected as many"
        )
    if info.zero_points and not (
        min(info.zero_points) >= _INT32_MIN and max(info.zero_points) <= _INT32_MAX
    ):
        raise InvalidArgumentError(
            f"the zero points of {info.data_type.arm_name} must fit 32 bits: got "
            f"{list(info.zero_points)}"
        )
    _check_axis(info)


def _check_axis(info: TensorInfo) -> None:
    if info.axis is None:
        if len(info.scales) > 1:
            raise InvalidArgumentError(
                f"{info.data_type.arm_name} got {len(info.scales)} scales but no axis: say along "
                "which axis they lie"
            )
        return
    if info.shape is None:
        return
    if not 0 <= info.axis < len(info.shape):
        raise InvalidArgumentError(
            f"the quantization axis {info.axis} is not an axis of {format_shape(info.shape)}"
        )
    size = info.shape[info.axis]
    if isinstance(size, int) and len(info.scales) not in (0, size):
        raise InvalidArgumentError(
            f"the axis {info.axis} of {format_shape(info.shape)} has size {size}, but there are "
            f"{len(info.scales)} scales: expected one for each index of the axis"
        )


__all__ = [
    "MAX_RANK",
    "Dimension",
    "Shape",
    "TensorInfo",
    "completed_shape",
    "format_shape",
    "info_of",
    "replace_shape",
]
