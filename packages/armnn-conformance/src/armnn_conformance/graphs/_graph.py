# SPDX-License-Identifier: MIT
"""Graphs of layers with their oracles composed, and how values and layers are drawn."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network, Value
from armnn.layers import LAYERS, Descriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.cases import usual
from armnn_conformance.cases._case import spec_of
from armnn_conformance.cases.convolution import SUMS
from armnn_conformance.operands import CaseTensor, bias_tensor, decode, fitted, tensor

Oracle: TypeAlias = Callable[..., Any]
"""From the real values of a layer's operands to its output's, a tuple for several."""

_PERTURBATIONS = 3
_SAFETY = 2.0
"""Random errors of the inputs reach less far than the worst ones."""

_QUANTIZED_STEPS = 1.5
"""Half a step to the stored value, and one step that a backend may be off."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphValue:
    """A tensor of a graph.

    Attributes:
        info: Shape, data type and quantization.
        real: The exact real values, float64.
        error: How far a correct backend may be from them.
        stored: The stored elements of an input or a constant; None if a layer computes it.
        constant: Whether it is known when the network is prepared.
    """

    info: TensorInfo
    real: NDArray[Any]
    error: float = 0.0
    stored: NDArray[Any] | None = None
    constant: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape as numbers."""
        return self.info.static_shape


@dataclass(frozen=True, slots=True, eq=False)
class GraphNode:
    """A layer of a graph.

    Attributes:
        layer: The layer type.
        descriptor: Its parameters.
        inputs: Its operands, None where one is absent.
        outputs: The values that it computes.
        oracle: Computes the outputs' real values.
    """

    layer: str
    descriptor: Descriptor
    inputs: tuple[GraphValue | None, ...]
    outputs: tuple[GraphValue, ...]
    oracle: Oracle | None


@dataclass(slots=True, eq=False)
class Graph:
    """Layers in topological order, with expected values.

    Attributes:
        name: Family, number and data type.
        nodes: The layers.
        inputs: The values that a caller passes.
        outputs: The values that a caller gets, each with its expected value.
    """

    name: str
    nodes: list[GraphNode] = field(default_factory=list)
    inputs: list[GraphValue] = field(default_factory=list)
    outputs: list[GraphValue] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(node.layer for node in self.nodes)})"

    def network(self, *, any_batch: bool = False) -> Network:
        """Return the graph as a network.

        Args:
            any_batch: Whether the first dimension of the inputs is left open.
        """
        network = Network(self.name)
        values: dict[GraphValue, Value] = {}
        for number, value in enumerate(self.inputs):
            rest = value.shape[1:]
            info = value.info.with_shape((None, *rest)) if any_batch else value.info
            values[value] = network.add_input(input_name(number), info)
        for number, node in enumerate(self.nodes):
            self._add(network, values, node, f"{number} {node.layer}")
        for number, value in enumerate(self.outputs):
            network.add_output(output_name(number), values[value])
        return network

    def _add(
        self, network: Network, values: dict[GraphValue, Value], node: GraphNode, name: str
    ) -> Layer:
        for value in node.inputs:
            if value is not None and value.constant and value not in values:
                assert value.stored is not None
                values[value] = network.add_constant(value.stored, value.info)
        operands = [None if value is None else values[value] for value in node.inputs]
        requested = [value.info.with_shape(None) for value in node.outputs]
        layer = network.add(node.layer, operands, node.descriptor, name=name, outputs=requested)
        values.update(zip(node.outputs, layer.outputs, strict=True))
        return layer

    def feeds(self) -> dict[str, NDArray[Any]]:
        """Return the inputs' arrays by name."""
        feeds = {}
        for number, value in enumerate(self.inputs):
            assert value.stored is not None
            feeds[input_name(number)] = value.stored
        return feeds

    def with_inputs(self, inputs: Sequence[GraphValue]) -> Graph:
        """Return the graph with other inputs, computed anew."""
        found = dict(zip(self.inputs, inputs, strict=True))
        made = Graph(self.name, inputs=list(inputs))
        for node in self.nodes:
            operands = tuple(None if v is None else found.get(v, v) for v in node.inputs)
            assert node.oracle is not None
            outputs = computed(node.oracle, operands, [v.info for v in node.outputs])
            found.update(zip(node.outputs, outputs, strict=True))
            made.nodes.append(
                GraphNode(node.layer, node.descriptor, operands, outputs, node.oracle)
            )
        made.outputs = [found[value] for value in self.outputs]
        return made

    def problem(self, results: Sequence[NDArray[Any]]) -> str:
        """Return the first output's difference from its expected value, or ""."""
        for number, (stored, value) in enumerate(zip(results, self.outputs, strict=True)):
            if stored.shape != value.shape:
                return f"output {number} has shape {list(stored.shape)}, expected {value.info}"
            real = decode(stored, value.info).astype(np.float64)
            off = np.abs(real - value.real)
            wrong = ~(off <= value.error)
            if wrong.any():
                place = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(wrong)))
                at = place if off.ndim else ()
                return (
                    f"{np.count_nonzero(wrong)} of {wrong.size} elements of output {number}"
                    f"{self._maker_of(value)} differ, the first at {list(at)}: got {real[at]}, "
                    f"expected {value.real[at]} within {value.error:.3g}"
                )
        return ""

    def _maker_of(self, value: GraphValue) -> str:
        made = (
            f", of '{n} {node.layer}',"
            for n, node in enumerate(self.nodes)
            if value in node.outputs
        )
        return next(made, "")


def input_name(number: int) -> str:
    """Return the name of an input."""
    return f"in {number}"


def output_name(number: int) -> str:
    """Return the name of an output."""
    return f"out {number}"


def computed(
    oracle: Oracle, operands: Sequence[GraphValue | None], infos: Sequence[TensorInfo | DataType]
) -> tuple[GraphValue, ...]:
    """Return a layer's outputs with their allowed errors.

    The oracle is computed again with the inputs off by their errors.

    Args:
        oracle: Computes the real values.
        operands: The inputs, None where one is absent.
        infos: The quantization of the outputs, or a data type to which it is fitted.
    """
    given = [value for value in operands if value is not None]
    exact = _all(oracle(*(value.real for value in given)))
    reach = [0.0] * len(exact)
    random = np.random.default_rng(len(given))
    if any(value.error for value in given):
        for _ in range(_PERTURBATIONS):
            moved = _all(oracle(*(_moved(value, random) for value in given)))
            for number, (one, other) in enumerate(zip(exact, moved, strict=True)):
                distance = float(np.abs(one - other).max(initial=0.0))
                reach[number] = max(reach[number], distance)
    made = []
    for real, info, distance in zip(exact, infos, reach, strict=True):
        known = fitted(info, real) if isinstance(info, DataType) else info.with_shape(real.shape)
        error = _SAFETY * distance + _own_error(known, real)
        made.append(GraphValue(known, _representable(known, real), error))
    return tuple(made)


def _representable(info: TensorInfo, real: NDArray[Any]) -> NDArray[Any]:
    """Return real values as far as they can be stored.

    Other inputs than those that the quantization was fitted to may lead beyond its range.
    """
    if not info.is_quantized:
        return real
    limits = np.iinfo(info.data_type.numpy_dtype)
    ends = decode(np.array([limits.min, limits.max], limits.dtype), info)
    stored: NDArray[Any] = np.clip(real, ends[0], ends[1])
    return stored


def _all(results: Any) -> tuple[NDArray[Any], ...]:
    several = results if isinstance(results, tuple) else (results,)
    return tuple(np.asarray(each, np.float64) for each in several)


def _moved(value: GraphValue, random: np.random.Generator) -> NDArray[Any]:
    if not value.error:
        return value.real
    moved: NDArray[Any] = value.real + value.error * random.choice([-1.0, 1.0], value.real.shape)
    return moved


def _own_error(info: TensorInfo, real: NDArray[Any]) -> float:
    if info.is_quantized:
        return _QUANTIZED_STEPS * float(np.max(info.scales))
    tolerance = SUMS.get(info.data_type, usual(info.data_type))
    return tolerance.atol + tolerance.rtol * float(np.abs(real).max(initial=0.0))


class Draw:
    """A source of random operands of one data type.

    Attributes:
        random: The generator.
        data_type: The type of the operands.
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
        """Return a bias that fits data and weights."""
        reals = self.random.uniform(-0.5, 0.5, count)
        return _value(bias_tensor(reals, _operand(data), _operand(weights)))

    def number(self, low: int, high: int) -> int:
        """Return an integer from low to high, both included."""
        return int(self.random.integers(low, high, endpoint=True))

    def axis(self, value: GraphValue) -> int:
        """Return an axis other than the batch, if possible."""
        return self.number(1, len(value.shape) - 1) if len(value.shape) > 1 else 0


@dataclass(frozen=True, slots=True, eq=False)
class LayerDraw:
    """A layer that may be added to a graph.

    Attributes:
        descriptor: Its parameters; the class says which layer it is.
        operands: Its inputs, None where one is absent.
        oracle: Computes the real values of the outputs from those of the operands.
        info: The output's quantization; fitted to the values if left out.
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


Drawing: TypeAlias = Callable[[Draw, GraphValue], "LayerDraw | None"]
"""Draws a layer that reads a value; None if none can."""

_DRAWINGS: dict[str, list[Drawing]] = {}


def candidate(*descriptors: type[Descriptor]) -> Callable[[Drawing], Drawing]:
    """Register a function that draws layers of these descriptors."""

    def register(drawing: Drawing) -> Drawing:
        for kind in descriptors:
            _DRAWINGS.setdefault(spec_of(kind).name, []).append(drawing)
        return drawing

    return register


def candidates_of(layer: str, draw: Draw, value: GraphValue) -> Iterator[LayerDraw]:
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
