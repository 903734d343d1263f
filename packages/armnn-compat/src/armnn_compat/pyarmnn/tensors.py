# SPDX-License-Identifier: MIT
"""Tensors: their shapes and infos, their memory, and single values in quantized integers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import armnn
from armnn.errors import InvalidArgumentError
from armnn.types import DataType

_UNSET_SCALE = 1.0
"""The scale that Arm NN answers for a tensor without scales."""


class TensorShape:
    """The dimensions of a tensor.

    Args:
        dimensions: A tuple with at least one dimension.

    Raises:
        TypeError: It is not a tuple, or has something else than numbers.
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
    """Shape, data type and quantization of a tensor.

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
        known = _data_type_of(self._data_type)
        return known is not None and known.is_quantized

    def IsConstant(self) -> bool:
        """Return whether the data never changes."""
        return self._is_constant

    def SetConstant(self, IsConstant: bool = True) -> None:
        """Set whether the data never changes."""
        self._is_constant = bool(IsConstant)

    def IsTypeSpaceMatch(self, other: TensorInfo) -> bool:
        """Return whether data type and quantization are the same."""
        mine = self._data_type, self._scales, self._offsets, self._axis
        return mine == (other._data_type, other._scales, other._offsets, other._axis)

    def GetNumBytes(self) -> int:
        """Return the size of the elements in memory."""
        known = _data_type_of(self._data_type)
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
        """Return the description of a tensor of the core.

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
        """Return the core's description of the tensor.

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
        TypeError: It is not a tuple of numbers.
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


def _data_type_of(number: int) -> DataType | None:
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


BindingInfo = tuple[int, TensorInfo]
"""The id of an input or output, and its info."""


class _Described:
    """A description with memory, which several tensors may share."""

    _info: TensorInfo
    _memory: NDArray[Any] | None

    def GetInfo(self) -> TensorInfo:
        """Return a copy of the description."""
        return TensorInfo(self._info)

    def GetShape(self) -> TensorShape:
        """Return the shape."""
        return self._info.GetShape()

    def GetDataType(self) -> int:
        """Return the number of the data type."""
        return self._info.GetDataType()

    def GetNumDimensions(self) -> int:
        """Return the number of dimensions."""
        return self._info.GetNumDimensions()

    def GetNumElements(self) -> int:
        """Return the number of elements."""
        return self._info.GetNumElements()

    def GetNumBytes(self) -> int:
        """Return the size of the elements in memory."""
        return self._info.GetNumBytes()

    def get_memory_area(self) -> Any:
        """Return the array of the elements, None without any."""
        return self._memory

    def __copy__(self) -> Self:
        return type(self)(self)  # type: ignore[call-arg] # each of the two copies like this

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}{{DataType: {self.GetDataType()}, "
            f"NumBytes: {self.GetNumBytes()}, NumDimensions: {self.GetNumDimensions()}, "
            f"NumElements: {self.GetNumElements()}}}"
        )


class Tensor(_Described):
    """Memory that a run writes into.

    It has its own, or that of another tensor.

    ``Tensor()``, ``Tensor(tensor)`` or ``Tensor(tensor_info)``.

    Raises:
        ValueError: The arguments are others, or there is no such data type.
    """

    def __init__(self, *arguments: Any) -> None:
        self._info, self._memory = TensorInfo(), None
        given = arguments[0] if arguments else None
        if isinstance(given, TensorInfo):
            data_type = _data_type_of(given.GetDataType())
            if data_type is None:
                raise ValueError(
                    "The data type provided for this Tensor is not supported. Got "
                    f"{given.GetDataType()}, expected a DataType such as DataType_Float32."
                )
            self._info = TensorInfo(given)
            self._memory = np.zeros(given.GetNumElements(), data_type.numpy_dtype)
        elif isinstance(given, Tensor):
            self._info, self._memory = given.GetInfo(), given.get_memory_area()
        elif arguments:
            raise ValueError(
                "Incorrect number of arguments or type of arguments provided to create Tensor. "
                "Expected none, a TensorInfo or a Tensor."
            )


class ConstTensor(_Described):
    """An array that a run reads.

    ``ConstTensor()``, ``ConstTensor(tensor)`` or ``ConstTensor(tensor_info, array)``.

    Raises:
        TypeError: The data is not an array, or one of another type.
        ValueError: It has another size, the description is not constant, there is no such data
            type, or the arguments are others.
    """

    def __init__(self, *arguments: Any) -> None:
        self._info, self._memory = TensorInfo(), None
        given = arguments[0] if arguments else None
        if isinstance(given, TensorInfo) and len(arguments) > 1:
            if not isinstance(arguments[1], np.ndarray):
                raise TypeError("Data must be provided as a numpy array.")
            _require_constant(given, "TensorInfo")
            self._info, self._memory = TensorInfo(given), _checked_data(given, arguments[1])
        elif isinstance(given, _Described):
            _require_constant(given.GetInfo(), "TensorInfo of Tensor")
            self._info, self._memory = given.GetInfo(), given.get_memory_area()
        elif arguments:
            raise ValueError(
                "Incorrect number of arguments or type of arguments provided to create Const "
                "Tensor. Expected none, a TensorInfo and an array, or a tensor."
            )


def make_input_tensors(
    inputs_binding_info: Sequence[BindingInfo], input_data: Sequence[NDArray[Any]]
) -> list[tuple[int, ConstTensor]]:
    """Return the inputs of a run; their descriptions become constant.

    Args:
        inputs_binding_info: The result of ``GetNetworkInputBindingInfo``.
        input_data: An array for each, with as many elements.

    Raises:
        ValueError: There are more of one than of the other; see also :class:`ConstTensor`.
    """
    if len(inputs_binding_info) != len(input_data):
        raise ValueError(
            "Length of 'inputs_binding_info' does not match length of 'input_data': "
            f"{len(inputs_binding_info)} and {len(input_data)}"
        )
    made = []
    for (binding, info), data in zip(inputs_binding_info, input_data, strict=True):
        info.SetConstant()
        made.append((binding, ConstTensor(info, data)))
    return made


def make_output_tensors(
    outputs_binding_info: Iterable[BindingInfo],
) -> list[tuple[int, Tensor]]:
    """Return memory for the outputs of a run.

    Args:
        outputs_binding_info: The result of ``GetNetworkOutputBindingInfo``.
    """
    return [(binding, Tensor(info)) for binding, info in outputs_binding_info]


def workload_tensors_to_ndarray(
    workload_tensors: Iterable[tuple[int, Tensor | ConstTensor]],
) -> list[NDArray[Any]]:
    """Return the tensors' memory in their shapes, without a copy.

    Args:
        workload_tensors: The result of :func:`make_input_tensors` or :func:`make_output_tensors`.
    """
    return [
        tensor.get_memory_area().reshape(tuple(tensor.GetShape())) for _, tensor in workload_tensors
    ]


def _require_constant(info: TensorInfo, what: str) -> None:
    if not info.IsConstant():
        raise ValueError(f"{what} when initializing ConstTensor must be set to constant.")


def _checked_data(info: TensorInfo, data: NDArray[Any]) -> NDArray[Any]:
    data_type = _data_type_of(info.GetDataType())
    if data_type is None:
        raise ValueError(
            f"The data type provided for this Tensor is not supported: {info.GetDataType()}"
        )
    dtype = data_type.numpy_dtype
    if data.dtype != dtype:
        raise TypeError(
            f"Expected data to have type {dtype.type} for type {info.GetDataType()} but instead "
            f"got numpy.{data.dtype}"
        )
    if data.nbytes != info.GetNumBytes():
        raise ValueError(
            f"ConstTensor requires {info.GetNumBytes()} bytes, {data.nbytes} provided. Is your "
            f"input array data type ({data.dtype}) aligned with TensorInfo?"
        )
    view = data.view()
    view.flags.writeable = False
    return view


_INTEGERS = ("uint8", "int8", "int16", "int32")


def quantize(value: float, scale: float, offset: int, target_dtype: str) -> int:
    """Return the stored value of a real one.

    It is rounded half away from zero and clipped.

    Args:
        value: The real value.
        scale: The step between two stored values.
        offset: The stored value that means 0.
        target_dtype: "uint8", "int8", "int16" or "int32".

    Raises:
        ValueError: It is another type, or the value is not a number.
    """
    info = _range_of(target_dtype, "target")
    if math.isnan(value):
        raise ValueError("the value is NaN: it has no stored value")
    # In float32, half away from zero, as Arm NN rounds.
    steps = np.float32(value) / np.float32(scale)
    if not np.isfinite(steps):
        return int(info.max if steps > 0 else info.min)
    rounded = math.floor(abs(float(steps)) + 0.5)
    stored = int(math.copysign(rounded, float(steps))) + int(offset)
    return min(max(stored, int(info.min)), int(info.max))


def dequantize(value: int, scale: float, offset: int, from_dtype: str) -> float:
    """Return the real value of a stored one.

    It is ``(value - offset) * scale``.

    Args:
        value: The stored value, a number of Python's or NumPy's.
        scale: The step between two stored values.
        offset: The stored value that means 0.
        from_dtype: "uint8", "int8", "int16" or "int32".

    Raises:
        ValueError: It is another type, or it cannot store the value.
    """
    info = _range_of(from_dtype, "value")
    if not info.min <= value <= info.max:
        raise ValueError(
            f"Value is not within range of the given datatype {from_dtype}: got {value}, expected "
            f"{info.min} to {info.max}"
        )
    return float(np.float32(int(value) - int(offset)) * np.float32(scale))


def _dequantize(dtype: str, value: float, scale: float, offset: int) -> float:
    return dequantize(int(value), scale, offset, dtype)


BINDINGS: dict[str, Callable[[float, float, int], float]] = {
    **{f"Quantize_{each}_t": functools.partial(quantize, target_dtype=each) for each in _INTEGERS},
    **{f"Dequantize_{dtype}_t": functools.partial(_dequantize, dtype) for dtype in _INTEGERS},
}
"""One function per type, such as ``Quantize_int8_t(value, scale, offset)``."""


def _range_of(dtype: str, what: str) -> np.iinfo[Any]:
    if dtype not in _INTEGERS:
        raise ValueError(
            f"Unexpected {what} datatype {dtype} given. Expected one of {', '.join(_INTEGERS)}."
        )
    return np.iinfo(dtype)
