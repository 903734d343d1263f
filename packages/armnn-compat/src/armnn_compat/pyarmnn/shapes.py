# SPDX-License-Identifier: MIT
"""Descriptions of tensors: TensorShape, TensorInfo, PermutationVector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import armnn
from armnn.errors import InvalidArgumentError
from armnn.types import DataType

_UNSET_SCALE = 1.0
"""What Arm NN answers for a tensor without scales."""


class TensorShape:
    """The dimensions of a tensor.

    Args:
        dimensions: A tuple with at least one dimension.

    Raises:
        TypeError: It is no tuple, or has something else than numbers.
        RuntimeError: It is empty.
    """

    def __init__(self, dimensions: tuple[Any, ...]) -> None:
        self._sizes = list(_numbers(dimensions))
        if not self._sizes:
            raise RuntimeError(
                "Tensor numDimensions must be greater than 0: expected dimensions such as (1, 3)"
            )

    @classmethod
    def of(cls, sizes: tuple[int, ...]) -> TensorShape:
        """Return a shape that may be empty."""
        made = cls.__new__(cls)
        made._sizes = list(sizes)
        return made

    def GetNumDimensions(self) -> int:
        """Return the number of dimensions."""
        return len(self._sizes)

    def GetNumElements(self) -> int:
        """Return the product of the dimensions."""
        return math.prod(self._sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def __iter__(self) -> Iterator[int]:
        return iter(self._sizes)

    def __getitem__(self, index: int) -> int:
        return self._sizes[self._checked(index)]

    def __setitem__(self, index: int, size: int) -> None:
        self._sizes[self._checked(index)] = int(size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorShape) and self._sizes == other._sizes

    __hash__ = None  # type: ignore[assignment] # dimensions can be assigned

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self._sizes))
        return (
            f"TensorShape{{Shape({sizes}), NumDimensions: {len(self)}, "
            f"NumElements: {self.GetNumElements()}}}"
        )

    def _checked(self, index: int) -> int:
        if not 0 <= index < len(self._sizes):
            raise ValueError(
                f"Invalid dimension index: {index} (number of dimensions is {len(self._sizes)})"
            )
        return index


class TensorInfo:
    """Shape, data type and quantisation of a tensor.

    ``TensorInfo()``, ``TensorInfo(info)``, or ``TensorInfo(shape, data_type, scale, offset,
    is_constant)``, of which the last three may be left out.

    Raises:
        TypeError: The arguments are others.
    """

    def __init__(self, *arguments: Any) -> None:
        self._shape = TensorShape.of(())
        self._data_type = int(DataType.FLOAT32)
        self._scales: tuple[float, ...] = ()
        self._offsets: tuple[int, ...] = ()
        self._axis: int | None = None
        self._is_constant = False
        if len(arguments) == 1 and isinstance(arguments[0], TensorInfo):
            self.__dict__.update(arguments[0].__dict__)
            self._shape = TensorShape.of(tuple(self._shape))
        elif 2 <= len(arguments) <= 5 and isinstance(arguments[0], TensorShape):
            missing = (0.0, 0, False)[len(arguments) - 2 :]
            setters: tuple[Callable[[Any], None], ...] = (
                self.SetShape,
                self.SetDataType,
                self.SetQuantizationScale,
                self.SetQuantizationOffset,
                self.SetConstant,
            )
            for assign, value in zip(setters, (*arguments, *missing), strict=True):
                assign(value)
        elif arguments:
            raise TypeError(
                f"Wrong number or type of arguments for TensorInfo: got {arguments!r}, expected "
                "nothing, a TensorInfo, or (TensorShape, DataType, scale, offset, isConstant)"
            )

    def GetShape(self) -> TensorShape:
        """Return the shape itself."""
        return self._shape

    def SetShape(self, shape: TensorShape) -> None:
        """Copy a shape."""
        self._shape = TensorShape.of(tuple(shape))

    def GetNumDimensions(self) -> int:
        """Return the number of dimensions."""
        return len(self._shape)

    def GetNumElements(self) -> int:
        """Return the number of elements; none without a shape."""
        return self._shape.GetNumElements() if len(self._shape) or self._is_scalar else 0

    def GetDataType(self) -> int:
        """Return the number of the data type, ``DataType_Float32`` for one."""
        return self._data_type

    def SetDataType(self, data_type: int) -> None:
        """Set the data type, by its number."""
        self._data_type = int(data_type)

    def GetQuantizationScale(self) -> float:
        """Return the scale, 1 if none was ever set.

        Raises:
            RuntimeError: There are several, one per index of an axis.
        """
        return float(_only(self._scales, _UNSET_SCALE, "scales"))

    def SetQuantizationScale(self, scale: float) -> None:
        """Set the one scale."""
        self._scales, self._axis = (float(scale),), None

    def GetQuantizationOffset(self) -> int:
        """Return the zero point.

        Raises:
            RuntimeError: There are several, one per index of an axis.
        """
        return int(_only(self._offsets, 0, "zero points"))

    def SetQuantizationOffset(self, offset: int) -> None:
        """Set the one zero point."""
        self._offsets = (int(offset),)

    def IsQuantized(self) -> bool:
        """Return whether the data type means real values in steps."""
        known = data_type_of(self._data_type)
        return known is not None and known.is_quantized

    def IsConstant(self) -> bool:
        """Return whether the data never changes."""
        return self._is_constant

    def SetConstant(self, IsConstant: bool = True) -> None:
        """Set whether the data never changes."""
        self._is_constant = bool(IsConstant)

    def IsTypeSpaceMatch(self, other: TensorInfo) -> bool:
        """Return whether data type and quantisation are the same."""
        mine = self._data_type, self._scales, self._offsets, self._axis
        return mine == (other._data_type, other._scales, other._offsets, other._axis)

    def GetNumBytes(self) -> int:
        """Return the size of the elements in memory."""
        known = data_type_of(self._data_type)
        return 0 if known is None else self.GetNumElements() * known.numpy_dtype.itemsize

    def __repr__(self) -> str:
        return (
            f"TensorInfo{{DataType: {self._data_type}, IsQuantized: {self.IsQuantized():d}, "
            f"QuantizationScale: {(*self._scales, _UNSET_SCALE)[0]:.6f}, "
            f"QuantizationOffset: {(*self._offsets, 0)[0]}, IsConstant: {self._is_constant:d}, "
            f"NumDimensions: {len(self._shape)}, NumElements: {self.GetNumElements()}}}"
        )

    # -- the way to and from the core -----------------------------------------------------------

    _is_scalar = False

    @classmethod
    def of(cls, info: armnn.TensorInfo) -> TensorInfo:
        """Return what describes a tensor of the core.

        Raises:
            InvalidArgumentError: A dimension is not known.
        """
        made = cls()
        made._shape = TensorShape.of(info.static_shape)
        made._is_scalar = info.rank == 0
        made._data_type = int(info.data_type)
        made._scales, made._offsets = info.scales, info.zero_points
        made._axis = info.axis
        return made

    def for_core(self) -> armnn.TensorInfo:
        """Return what describes the tensor to the core.

        Raises:
            InvalidArgumentError: There is no such data type.
        """
        data_type = DataType.of(self._data_type)
        shape = tuple(self._shape)
        if not data_type.is_quantized or self._scales in ((), (0.0,)):
            return armnn.TensorInfo(shape, data_type)
        offsets = self._offsets or (0,) * len(self._scales)
        return armnn.TensorInfo(shape, data_type, self._scales, offsets, self._axis)


class PermutationVector:
    """Where each dimension of an input goes.

    Args:
        dimMappings: For each dimension of the input its place in the output.

    Raises:
        TypeError: It is no tuple of numbers.
    """

    def __init__(self, dimMappings: tuple[int, ...]) -> None:
        self._mappings = _numbers(dimMappings)

    def GetSize(self) -> int:
        """Return the number of dimensions."""
        return len(self._mappings)

    def IsInverse(self, other: PermutationVector) -> bool:
        """Return whether one undoes the other."""
        if len(other) != len(self):
            return False
        return all(other[place] == index for index, place in enumerate(self._mappings))

    def __len__(self) -> int:
        return len(self._mappings)

    def __iter__(self) -> Iterator[int]:
        return iter(self._mappings)

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < len(self._mappings):
            raise ValueError(f"Invalid index {index}: there are {len(self._mappings)} dimensions")
        return self._mappings[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PermutationVector) and self._mappings == other._mappings

    def __hash__(self) -> int:
        return hash(self._mappings)

    def __repr__(self) -> str:
        return f"PermutationVector({self._mappings!r})"


def data_type_of(number: int) -> DataType | None:
    """Return the data type of a number, or None."""
    try:
        return DataType.of(number)
    except InvalidArgumentError:
        return None


def _numbers(values: object) -> tuple[int, ...]:
    if not isinstance(values, tuple):
        raise TypeError(f"Argument is not a tuple: got {values!r}")
    try:
        return tuple(int(each) for each in values)
    except (TypeError, ValueError) as error:
        raise TypeError(f"All elements must be numbers: got {values!r}") from error


def _only(values: tuple[Any, ...], unset: Any, what: str) -> Any:
    if len(values) > 1:
        raise RuntimeError(f"the tensor has {len(values)} {what}, one per index of an axis")
    return values[0] if values else unset
