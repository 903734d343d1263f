# SPDX-License-Identifier: MIT
"""A TensorFlow Lite file's tensors as LiteRT describes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError
from armnn_parser_tflite import description
from armnn_parser_tflite.description import Description

_TYPES: dict[int, type] = {
    0: np.float32,
    1: np.float16,
    2: np.int32,
    3: np.uint8,
    4: np.int64,
    5: np.bytes_,
    6: np.bool_,
    7: np.int16,
    8: np.complex64,
    9: np.int8,
    10: np.float64,
    11: np.complex128,
    12: np.uint64,
    15: np.uint32,
    16: np.uint16,
}
"""From ``TensorType`` of the schema to NumPy; packed and foreign types have none."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor of the main subgraph.

    Attributes:
        index: Its position.
        name: Its name.
        shape: Its dimensions, 1 where they are not known.
        signature: Its dimensions, -1 where they are not known; empty if the file leaves it out.
        dtype: The type of its elements; None where NumPy has none.
        scales: Its scales; none if it is not quantized.
        zero_points: As many.
        axis: The axis of several scales.
        is_variable: Whether it keeps its value from run to run.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    dtype: type | None
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    is_variable: bool

    def details(self, shape: Sequence[int]) -> dict[str, Any]:
        """Return LiteRT's dictionary for the tensor's present shape."""
        per_tensor = len(self.scales) == 1
        signature = self.signature if self.signature else shape
        return {
            "name": self.name,
            "index": self.index,
            "shape": np.array(shape, np.int32),
            "shape_signature": np.array(signature, np.int32),
            "dtype": self.dtype,
            "quantization": (self.scales[0], self.zero_points[0]) if per_tensor else (0.0, 0),
            "quantization_parameters": {
                "scales": np.array(self.scales, np.float32),
                "zero_points": np.array(self.zero_points, np.int32),
                "quantized_dimension": self.axis,
                "block_size": 0,
            },
            "sparsity_parameters": {},
        }


@dataclass(frozen=True, slots=True)
class Signature:
    """Tensors' indices by the names of inputs and outputs."""

    subgraph: int
    inputs: dict[str, int]
    outputs: dict[str, int]


class Model:
    """A file that the parser has accepted.

    Attributes:
        tensors: The tensors of the main subgraph.
        inputs: The indices of its inputs.
        outputs: The indices of its outputs.
        signatures: Its signatures by key.
        subgraphs: How many subgraphs there are.
    """

    def __init__(self, content: bytes) -> None:
        self._file = Description(content)
        main = self._file.main
        self.tensors = tuple(_tensor(record, at) for at, record in enumerate(main.tensors))
        self.inputs, self.outputs = main.inputs, main.outputs
        self.subgraphs = self._file.subgraphs
        self.signatures = {
            each.key: Signature(
                each.subgraph,
                dict(sorted(each.inputs.items())),  # as LiteRT lists them
                dict(sorted(each.outputs.items())),
            )
            for each in self._file.signatures
        }

    def constant(self, index: int) -> NDArray[Any] | None:
        """Return a tensor's data in the file, None without any."""
        return self._data_of(self._file.main.tensors[index])

    def first_values(self) -> dict[str, NDArray[Any]]:
        """Return the values that initialization assigns to variables, by name.

        Raises:
            InvalidArgumentError: It computes what it assigns.
        """
        values: dict[str, NDArray[Any]] = {}
        for name, record in self._file.first_values().items():
            value = self._data_of(record)
            if value is None:
                raise InvalidArgumentError(
                    f"the variable {name!r} starts with a value that is computed: only models "
                    "whose variables start with constants can be run"
                )
            values[name] = value
        return values

    def resized(self, shapes: Mapping[int, Sequence[int]]) -> bytes:
        """Return the file with other dimensions of inputs."""
        return self._file.resized(shapes)

    def _data_of(self, record: description.Tensor) -> NDArray[Any] | None:
        data, dtype = self._file.data(record), _TYPES.get(record.type)
        if dtype is None or data is None:
            return None
        size = math.prod(record.shape) * np.dtype(dtype).itemsize
        if not size or len(data) != size:
            return None  # it has none, or leaves zeros out
        array: NDArray[Any] = np.frombuffer(data, dtype)
        return array.reshape(record.shape)


def _tensor(record: description.Tensor, index: int) -> Tensor:
    quantization = record.quantization
    scales = () if quantization is None else quantization.scales
    points = () if quantization is None else quantization.zero_points
    return Tensor(
        index=index,
        name=record.name,
        shape=record.shape,
        signature=record.signature,
        dtype=_TYPES.get(record.type),
        scales=scales,
        zero_points=(*points, *(0,) * len(scales))[: len(scales)],
        axis=0 if quantization is None else quantization.axis,
        is_variable=record.is_variable,
    )
