# SPDX-License-Identifier: MIT
"""Real values in the place of stored ones, for the inputs and outputs of a loaded network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._arguments import array as array_of
from armnn.errors import InvalidArgumentError
from armnn.quantization import dequantize, quantize
from armnn.tensor import format_shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from armnn.tensor import TensorInfo


class RealValues:
    """Stores and restores the real values of tensors that are quantised and have a scale.

    Other tensors pass as they are.
    """

    def __init__(self, inputs: Mapping[str, TensorInfo], outputs: Mapping[str, TensorInfo]) -> None:
        self._inputs = _with_scales(inputs)
        self._outputs = _with_scales(outputs)

    def stored(self, inputs: Mapping[str, ArrayLike]) -> dict[str, ArrayLike]:
        """Return inputs as the network takes them.

        Raises:
            InvalidArgumentError: An input does not hold real numbers, or has a wrong shape.
        """
        return {name: self._stored(name, array) for name, array in inputs.items()}

    def restored(self, outputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return outputs as float32 where the network stores them in steps."""
        return {
            name: dequantize(array, self._outputs[name]) if name in self._outputs else array
            for name, array in outputs.items()
        }

    def _stored(self, name: str, array: ArrayLike) -> ArrayLike:
        info = self._inputs.get(name)
        if info is None:
            return array
        values = array_of(array, np.dtype(np.float32), f"the input {name!r}")
        if values.dtype.kind not in "biufV":
            raise InvalidArgumentError(
                f"the input {name!r} holds {values.dtype}: expected real numbers, which are stored "
                f"as {info}"
            )
        if not info.accepts(values.shape):
            raise InvalidArgumentError(
                f"the input {name!r} has shape {format_shape(values.shape)}: expected "
                f"{format_shape(info.shape)}"
            )
        return quantize(values, info)


def _with_scales(infos: Mapping[str, TensorInfo]) -> dict[str, TensorInfo]:
    return {name: info for name, info in infos.items() if info.is_quantized and info.scales}
