# SPDX-License-Identifier: MIT
"""Layers that may follow a value, drawn at random."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from armnn.layers import LAYERS, Descriptor
from armnn_conformance.cases._case import spec_of
from armnn_conformance.graphs._graph import GraphValue
from armnn_conformance.operands import CaseTensor, bias_tensor, tensor

if TYPE_CHECKING:
    from armnn.tensor import TensorInfo
    from armnn.types import DataType
    from armnn_conformance.graphs._graph import Oracle


class Draw:
    """A source of random operands of one data type.

    Attributes:
        random: The generator.
        data_type: Of the operands.
    """

    def __init__(self, data_type: DataType, seed: Sequence[int]) -> None:
        self.random = np.random.default_rng(seed)
        self.data_type = data_type

    def input(self, shape: Sequence[int]) -> GraphValue:
        """Return an input of values between -2 and 2."""
        return _value(tensor(self.data_type, self.random.uniform(-2, 2, shape)))

    def constant(self, shape: Sequence[int], low: float = -1, high: float = 1) -> GraphValue:
        """Return a constant of values in a range."""
        reals = self.random.uniform(low, high, shape)
        return _value(tensor(self.data_type, reals, constant=True))

    def weights(self, shape: Sequence[int], fan_in: int) -> GraphValue:
        """Return weights whose sums of products stay near 1."""
        return self.constant(shape, -2 / fan_in, 2 / fan_in)

    def bias(self, count: int, data: GraphValue, weights: GraphValue) -> GraphValue:
        """Return a bias that goes with data and weights."""
        reals = self.random.uniform(-0.5, 0.5, count)
        return _value(bias_tensor(reals, _operand(data), _operand(weights)))

    def number(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return int(self.random.integers(low, high, endpoint=True))

    def axis(self, value: GraphValue) -> int:
        """Return an axis other than the batch, if possible."""
        return self.number(1, len(value.shape) - 1) if len(value.shape) > 1 else 0


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A layer that may be added to a graph.

    Attributes:
        descriptor: Its parameters; the class says which layer it is.
        operands: Its inputs, None where one is absent.
        oracle: Computes the real values of the outputs from those of the operands.
        info: The output's quantisation; fitted to the values if left out.
        outputs: How many outputs there are.
        any_batch: Whether the same layer may have an input of another batch.
    """

    descriptor: Descriptor
    operands: tuple[GraphValue | None, ...]
    oracle: Oracle
    info: TensorInfo | None = None
    outputs: int = 1
    any_batch: bool = True

    @property
    def layer(self) -> str:
        """The layer type."""
        return spec_of(type(self.descriptor)).name


Drawing: TypeAlias = Callable[[Draw, GraphValue], "Candidate | None"]
"""Draws a layer that reads a value; None if none can."""

_DRAWINGS: dict[str, list[Drawing]] = {}


def candidate(*descriptors: type[Descriptor]) -> Callable[[Drawing], Drawing]:
    """Register what draws layers of these descriptors."""

    def register(drawing: Drawing) -> Drawing:
        for kind in descriptors:
            _DRAWINGS.setdefault(spec_of(kind).name, []).append(drawing)
        return drawing

    return register


def candidates_of(layer: str, draw: Draw, value: GraphValue) -> Iterator[Candidate]:
    """Yield drawn layers of one type that read a value."""
    for drawing in _drawings()[layer]:
        made = drawing(draw, value)
        if made is not None and made.layer == layer:
            yield made


def drawn_layers() -> tuple[str, ...]:
    """Return the layer types of graphs, in the table's order."""
    return tuple(name for name in LAYERS if name in _drawings())


def _value(operand: CaseTensor) -> GraphValue:
    return GraphValue(operand.info, operand.real, 0.0, operand.stored, operand.constant)


def _operand(value: GraphValue) -> CaseTensor:
    stored = np.zeros(0) if value.stored is None else value.stored
    return CaseTensor(value.info, stored, value.real, value.constant)


@functools.cache
def _drawings() -> dict[str, list[Drawing]]:
    """Import the modules of this folder, which register drawings."""
    folder = importlib.import_module(__package__ or "")
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda m: m.name):
        importlib.import_module(f"{__package__}.{module.name}")
    return _DRAWINGS
