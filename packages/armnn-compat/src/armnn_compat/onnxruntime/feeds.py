# SPDX-License-Identifier: MIT
"""The checks of a run's inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn import TensorInfo
from armnn.errors import InvalidArgumentError
from armnn_compat.onnxruntime.errors import InvalidArgument
from armnn_compat.onnxruntime.errors import NotImplemented as NotImplementedStatus
from armnn_compat.onnxruntime.model import Description, NodeArg
from armnn_compat.onnxruntime.values import OrtValue, element_number, type_name


class Feeds:
    """Checks the inputs of the runs of one session.

    Args:
        described: What the model declares.
        infos: The inputs of the network by name.
    """

    def __init__(self, described: Description, infos: Mapping[str, TensorInfo]) -> None:
        self._inputs = tuple((each, infos[each.name]) for each in described.inputs)
        self._overridable = tuple(each.name for each in described.overridable)

    def checked(self, given: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Return an array for each input.

        Raises:
            TypeError: The inputs are not given by name.
            ValueError: An input is missing.
            InvalidArgument: There is no input of a name, or one has a wrong type or shape.
            NotImplemented: A value is given for an initialiser.
        """
        if not isinstance(given, Mapping):
            raise TypeError(
                f"the inputs are given as {type(given).__name__}: expected arrays by name"
            )
        missing = [each.name for each, _ in self._inputs if each.name not in given]
        if missing:
            raise InvalidArgumentError(
                f"Required inputs ({missing}) are missing from input feed ({list(given)})."
            )
        if len(given) != len(self._inputs):
            self._refuse_others(given)
        return {each.name: _array(each, info, given[each.name]) for each, info in self._inputs}

    def _refuse_others(self, given: Mapping[str, Any]) -> None:
        names = [each.name for each, _ in self._inputs]
        for name in given:
            if name in self._overridable:
                raise NotImplementedStatus(
                    f"the input {name!r} has a value in the model, which is a constant here: leave "
                    "it out of the feed"
                )
            if name not in names:
                raise InvalidArgument(f"Invalid input name: {name}; the model has {names}")


def _array(declared: NodeArg, info: TensorInfo, value: Any) -> NDArray[Any]:
    dtype = info.data_type.numpy_dtype
    if isinstance(value, OrtValue):
        value = value.numpy()
    if not isinstance(value, (np.ndarray, np.generic)):
        try:
            value = np.asarray(value, dtype)
        except (TypeError, ValueError) as error:
            raise RuntimeError(
                "Input must be a list of dictionaries or a single numpy array for input "
                f"'{declared.name}': {error}"
            ) from error
    array = np.asarray(value)
    if array.dtype != dtype:
        raise InvalidArgument(
            f"Unexpected input data type for {declared.name}. Actual: ({_kind(array)}) , "
            f"expected: ({declared.type})"
        )
    if info.shape == () and array.size == 1:
        return array.reshape(())  # onnxruntime takes one element of any rank for a scalar
    _check_shape(declared, array.shape)
    return array


def _kind(array: NDArray[Any]) -> str:
    try:
        return type_name(element_number(array.dtype))
    except RuntimeError:
        return str(array.dtype)


def _check_shape(declared: NodeArg, shape: tuple[int, ...]) -> None:
    """Refuse the shapes that onnxruntime refuses."""
    expected = declared.shape
    advice = "Please fix either the inputs/outputs or the model."
    if not expected and shape:
        return  # no shape and a scalar look alike in onnxruntime's descriptions
    if len(expected) != len(shape):
        raise InvalidArgument(
            f"Invalid rank for input: {declared.name} Got: {len(shape)} Expected: {len(expected)} "
            f"{advice}"
        )
    wrong = [
        f" index: {index} Got: {got} Expected: {dim}"
        for index, (got, dim) in enumerate(zip(shape, expected, strict=True))
        if isinstance(dim, int) and dim != got
    ]
    if wrong:
        raise InvalidArgument(
            f"Got invalid dimensions for input: {declared.name} for the following indices\n"
            + "\n".join(wrong)
            + f"\n {advice}"
        )
