# SPDX-License-Identifier: MIT
"""Tensors with memory: Tensor, ConstTensor, and lists for a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from armnn_compat.pyarmnn.shapes import TensorInfo, TensorShape, data_type_of

BindingInfo = tuple[int, TensorInfo]
"""The id of an input or output, and what it is."""


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
            data_type = data_type_of(given.GetDataType())
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
        TypeError: The data is no array, or one of another type.
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
        inputs_binding_info: What ``GetNetworkInputBindingInfo`` returned.
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
        outputs_binding_info: What ``GetNetworkOutputBindingInfo`` returned.
    """
    return [(binding, Tensor(info)) for binding, info in outputs_binding_info]


def workload_tensors_to_ndarray(
    workload_tensors: Iterable[tuple[int, Tensor | ConstTensor]],
) -> list[NDArray[Any]]:
    """Return the tensors' memory in their shapes, without a copy.

    Args:
        workload_tensors: What :func:`make_input_tensors` or :func:`make_output_tensors` returned.
    """
    return [
        tensor.get_memory_area().reshape(tuple(tensor.GetShape())) for _, tensor in workload_tensors
    ]


def _require_constant(info: TensorInfo, what: str) -> None:
    if not info.IsConstant():
        raise ValueError(f"{what} when initializing ConstTensor must be set to constant.")


def _checked_data(info: TensorInfo, data: NDArray[Any]) -> NDArray[Any]:
    data_type = data_type_of(info.GetDataType())
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
