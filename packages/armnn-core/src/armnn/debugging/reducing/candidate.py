# SPDX-License-Identifier: MIT
"""Networks with inputs that may show a failure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armnn.debugging.bench import fragment
from armnn.debugging.clean_values import NOT_COMPUTED
from armnn.errors import GraphError
from armnn.graph import Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Value
    from armnn.layers import Descriptor
    from armnn.tensor import TensorInfo

    Array = NDArray[Any]
    Stored = tuple[Array, TensorInfo]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A network and its inputs.

    Attributes:
        network: All of its layers are as backends get them.
        inputs: One array per input, as stored.
    """

    network: Network
    inputs: Mapping[str, Array]

    @property
    def layers(self) -> list[Layer]:
        """The layers that a backend computes, in topological order."""
        order = self.network.topological_order()
        return [layer for layer in order if layer.type not in NOT_COMPUTED]

    @property
    def sources(self) -> list[Layer]:
        """The Input and Constant layers."""
        return [layer for layer in self.network.layers if layer.type in ("Input", "Constant")]

    def stored(self, source: Layer) -> Stored:
        """Return data and info of an Input or Constant."""
        data = self.inputs[source.name] if source.data is None else source.data
        return data, source.output.info


def part_of(
    candidate: Candidate, layers: Sequence[Layer], values: Mapping[Value, Array]
) -> Candidate:
    """Return some layers of a candidate.

    What they read from other layers becomes an input.

    Args:
        candidate: Their network.
        layers: In topological order.
        values: The data of what they read from other layers.

    Raises:
        GraphError: Nothing reads what they compute.
    """
    network, sources = fragment(candidate.network, layers)
    return Candidate(network, {name: values[value] for name, value in sources.items()})


def without_outputs(candidate: Candidate, outputs: Iterable[Layer]) -> Candidate:
    """Return a candidate without some of its outputs.

    Layers that only those read go, too.
    """
    gone = {layer.name for layer in outputs}
    network = candidate.network.clone()
    for layer in network.outputs:
        if layer.name in gone:
            network.remove(layer)
    network.remove_unused()
    return rebuilt(Candidate(network, candidate.inputs))


def rebuilt(
    candidate: Candidate,
    data: Mapping[Layer, Stored] | None = None,
    descriptors: Mapping[Layer, Descriptor] | None = None,
    absent: Iterable[tuple[Layer, int]] = (),
    fixed: Iterable[Layer] = (),
) -> Candidate:
    """Return a candidate with other data or parameters.

    Shapes are inferred again. Inputs that no layer reads are left out.

    Args:
        candidate: The candidate, which does not change.
        data: Of Input and Constant layers, in the place of their own.
        descriptors: Of layers, in the place of their own.
        absent: Optional inputs that go, as layer and number of the input.
        fixed: Input layers that become constants.

    Raises:
        ArmnnError: The layers do not fit each other.
    """
    data, descriptors = data or {}, descriptors or {}
    gone, constants = {*absent}, {*fixed}
    source, inputs = candidate.network, dict[str, "Array"]()
    network = Network(source.name)
    network.quantized_arithmetic = source.quantized_arithmetic
    values: dict[Value, Value] = {}
    for layer in source.topological_order():
        operands = [
            None if value is None or (layer, at) in gone else values[value]
            for at, value in enumerate(layer.inputs)
            if not ((layer, at) in gone and layer.spec.input_slot(at).variadic)
        ]
        if layer.type in ("Input", "Constant"):
            if not any((reader, at) not in gone for reader, at in layer.output.uses):
                continue
            array, info = data.get(layer) or candidate.stored(layer)
            if layer.type == "Constant" or layer in constants:
                values[layer.output] = network.add_constant(array, info)
            else:
                values[layer.output] = network.add_input(layer.name, info)
                inputs[layer.name] = array
        elif layer.type == "Output":
            (value,) = operands
            if value is not None:
                network.add_output(layer.name, value)
        else:
            twin = network.add(
                layer.type,
                operands,
                descriptors.get(layer, layer.descriptor),
                name=layer.name,
                outputs=[_open(info) for info in layer.output_infos],
            )
            for old, new in zip(layer.outputs, twin.outputs, strict=True):
                if old.info.is_static and not new.info.is_static:
                    raise GraphError(f"the shape of {new.name!r} cannot be inferred")
                values[old] = new
    return Candidate(network, inputs)


def _open(info: TensorInfo) -> TensorInfo:
    """Return an info whose dimensions may be any."""
    return info if info.shape is None else info.with_shape((None,) * len(info.shape))
