# SPDX-License-Identifier: MIT
"""What a TensorFlow Lite file says of its tensors, by their indices, and the same file resized."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
        scales: Its scales; none if it is not quantised.
        zero_points: As many.
        axis: Where several scales lie.
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
        """Return the dictionary that LiteRT's users know, for a shape that the tensor has now."""
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
    """Names for the inputs and outputs of a subgraph; from the name to the index of the tensor."""

    subgraph: int
    inputs: dict[str, int]
    outputs: dict[str, int]


@dataclass(frozen=True, slots=True)
class Model:
    """A file.

    Attributes:
        content: Its bytes.
        tensors: The tensors of the main subgraph.
        inputs: The indices of its inputs.
        outputs: The indices of its outputs.
        signatures: Its signatures by key.
        subgraphs: How many subgraphs there are.
    """

    content: bytes
    tensors: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    signatures: dict[str, Signature]
    subgraphs: int

    @property
    def root(self) -> Any:
        """The ``Model`` table."""
        return _root(self.content)

    def constant(self, index: int) -> NDArray[Any] | None:
        """Return the data that the file has of a tensor; None if it has none that can be read."""
        root = self.root
        return data_of(root, root.Subgraphs(0).Tensors(index))

    def resized(self, shapes: Mapping[int, Sequence[int]]) -> bytes:
        """Return the file with other dimensions of inputs, each as many as there were."""
        content = bytearray(self.content)
        subgraph = _root(content).Subgraphs(0)
        for index, shape in shapes.items():
            tensor = subgraph.Tensors(index)
            if shape:
                tensor.ShapeAsNumpy()[:] = shape
            if tensor.ShapeSignatureLength():
                tensor.ShapeSignatureAsNumpy()[:] = shape
        return bytes(content)


def read(content: bytes) -> Model:
    """Return what a file says; the parser must have accepted it before."""
    root = _root(content)
    subgraph = root.Subgraphs(0)
    signatures = (root.SignatureDefs(at) for at in range(root.SignatureDefsLength()))
    return Model(
        content,
        tuple(_tensor(subgraph.Tensors(at), at) for at in range(subgraph.TensorsLength())),
        tuple(subgraph.Inputs(at) for at in range(subgraph.InputsLength())),
        tuple(subgraph.Outputs(at) for at in range(subgraph.OutputsLength())),
        {_text(entry.SignatureKey()): _signature(entry) for entry in signatures},
        root.SubgraphsLength(),
    )


def data_of(root: Any, table: Any) -> NDArray[Any] | None:
    """Return the data of a ``Tensor`` table; None if it has none that can be read."""
    buffer, tensor = root.Buffers(table.Buffer()), _tensor(table, 0)
    if tensor.dtype is None or buffer is None:
        return None
    size = math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize
    if not size or buffer.DataLength() != size:
        return None  # it has none, or leaves zeros out
    data: NDArray[Any] = buffer.DataAsNumpy().view(tensor.dtype).reshape(tensor.shape)
    return data


def _root(content: bytes | bytearray) -> Any:
    import tflite  # type: ignore[import-untyped]  # armnn-core[tflite] brings it

    return tflite.Model.GetRootAs(content, 0)


def _tensor(table: Any, index: int) -> Tensor:
    shape = tuple(table.Shape(at) for at in range(table.ShapeLength()))
    signature = tuple(table.ShapeSignature(at) for at in range(table.ShapeSignatureLength()))
    quantization = table.Quantization()
    scales = 0 if quantization is None else quantization.ScaleLength()
    return Tensor(
        index=index,
        name=_text(table.Name()),
        shape=shape,
        signature=signature if len(signature) == len(shape) else (),
        dtype=_TYPES.get(table.Type()),
        scales=tuple(quantization.Scale(at) for at in range(scales)),
        zero_points=tuple(
            quantization.ZeroPoint(at) if at < quantization.ZeroPointLength() else 0
            for at in range(scales)
        ),
        axis=quantization.QuantizedDimension() if scales else 0,
        is_variable=bool(table.IsVariable()),
    )


def _signature(table: Any) -> Signature:
    def names(count: int, entry: Any) -> dict[str, int]:
        pairs = ((_text(entry(at).Name()), entry(at).TensorIndex()) for at in range(count))
        return dict(sorted(pairs))  # as LiteRT lists them

    return Signature(
        table.SubgraphIndex(),
        names(table.InputsLength(), table.Inputs),
        names(table.OutputsLength(), table.Outputs),
    )


def _text(data: bytes | None) -> str:
    return "" if data is None else data.decode("utf-8", "replace")
