# SPDX-License-Identifier: MIT
"""Checks of arrays that outputs are written into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn._arguments import conversion, refused
from armnn._spelling import closest
from armnn.errors import InvalidArgumentError
from armnn.tensor import TensorInfo, format_shape

Targets: TypeAlias = "Mapping[str, NDArray[Any]]"
"""The caller's arrays by the name of the output that is written into them."""


class ExpectedOutputs:
    """The outputs of one network.

    Args:
        network: The network's name.
        infos: What it makes, by name; dimensions may be unknown.
        real: Which outputs are real values, float32, though the network quantises them.
    """

    def __init__(self, network: str, infos: Mapping[str, TensorInfo], real: Sequence[str]) -> None:
        self._network = network
        self._infos = infos
        self._dtypes = {
            name: np.dtype(np.float32) if name in real else info.data_type.numpy_dtype
            for name, info in infos.items()
        }

    def check_mapping(self, outputs: object) -> None:
        """Check that arrays are given by name.

        Raises:
            InvalidArgumentError: They are not; the message shows how.
        """
        if not isinstance(outputs, Mapping):
            name = next(iter(self._infos), "y")
            raise refused(
                "what is given as outputs",
                outputs,
                f"a mapping from their names to arrays, such as {{{name!r}: ...}}",
            )

    def check_known(self, names: Iterable[str]) -> None:
        """Check that the network has outputs of these names.

        Raises:
            InvalidArgumentError: It lacks one.
        """
        for name in names:
            if name not in self._infos:
                meant = closest(str(name), self._infos)
                hint = f"; did you mean {meant!r}?" if meant else ""
                raise InvalidArgumentError(
                    f"there is no output {name!r}: the network {self._network!r} makes "
                    f"{', '.join(map(repr, self._infos)) or 'none'}{hint}"
                )

    def check(self, outputs: Targets) -> None:
        """Check arrays that outputs are written into.

        Raises:
            InvalidArgumentError: One is not known, no array, of a wrong type or shape, read-only,
                or shares memory with another.
        """
        for name, array in outputs.items():
            self._check(name, array)
        check_separate([(f"the output {name!r}", array) for name, array in outputs.items()])

    def _check(self, name: str, array: object) -> None:
        self.check_known([name])
        info = self._infos[name]
        what = f"the array for the output {name!r}"
        checked = checked_array(array, what, info, self._dtypes[name])
        if not checked.flags.writeable:
            raise InvalidArgumentError(
                f"{what} is read-only: expected one that can be written to, such as a copy()"
            )


def checked_array(array: object, what: str, info: TensorInfo, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return an array of a tensor's type and shape.

    Raises:
        InvalidArgumentError: It does not, or is no array.
    """
    if not isinstance(array, np.ndarray):
        raise refused(what, array, f"an array of {dtype}{format_shape(info.shape)}")
    if array.dtype != dtype:
        raise wrong_type(what, array.dtype, info, dtype)
    if not info.accepts(array.shape):
        raise InvalidArgumentError(
            f"{what} has shape {format_shape(array.shape)}: expected {format_shape(info.shape)}"
        )
    return array


def wrong_type(
    what: str, given: np.dtype[Any], info: TensorInfo, expected: np.dtype[Any]
) -> InvalidArgumentError:
    """Return the error for an array of another type than a tensor's."""
    advice = conversion(given, expected, is_quantized=info.is_quantized)
    if info.is_quantized and given.kind not in "biu":
        advice = (
            "load the model with quantize=True (on the command line --quantize-input) to give and "
            f"get real numbers, or {advice}"
        )
    return InvalidArgumentError(
        f"{what} is {given}: expected {expected} ({info.data_type.arm_name}); {advice}"
    )


def check_separate(arrays: Sequence[tuple[str, NDArray[Any]]]) -> None:
    """Check that no two arrays share memory.

    Raises:
        InvalidArgumentError: Two do.
    """
    for index, (name, array) in enumerate(arrays):
        for other, earlier in arrays[:index]:
            if np.shares_memory(array, earlier):
                raise InvalidArgumentError(
                    f"the arrays for {other} and {name} share memory: expected an array of its "
                    "own for each"
                )
