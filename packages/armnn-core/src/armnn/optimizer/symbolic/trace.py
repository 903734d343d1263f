# SPDX-License-Identifier: MIT
"""What a specialisation takes from the shapes of the inputs.

A network is specialised with symbolic numbers as dimensions. The trace then knows each shape, each
parameter and each constant that follows from them, and computes these for other shapes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from armnn._symbolic import Tape, is_symbolic, settled
from armnn.errors import ArmnnError
from armnn.graph import Network
from armnn.graph.statistics import multiply_adds_of
from armnn.layers import infer_outputs
from armnn.optimizer.symbolic.arithmetic import computed, decided
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Value
    from armnn.layers import Descriptor, LayerSpec
    from armnn.optimizer.evaluation import Evaluate
    from armnn.optimizer.passes.fold_quantization import Accepts, Present
    from armnn.tensor import Shape

Numbers: TypeAlias = Sequence[Any]
"""The numbers of a tape for some shapes."""


class UntraceableError(ArmnnError):
    """Something depends on the shapes without a record."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """A constant layer whose results depend on the shapes.

    Attributes:
        spec: Its row of the layer table.
        descriptor: Its parameters.
        operands: The source of each input's data with the input's info; None if it is absent.
        outputs: The infos of its outputs.
    """

    spec: LayerSpec
    descriptor: Descriptor
    operands: tuple[tuple[Source, TensorInfo] | None, ...]
    outputs: tuple[TensorInfo, ...]

    def results(self, numbers: Numbers, known: Results, evaluate: Evaluate) -> Sequence[Any]:
        """Return the data of the outputs for some shapes.

        Raises:
            UntraceableError: No backend computes the layer.
        """
        network = Network()
        inputs = [
            None
            if each is None
            else network.add_constant(
                data_of(each[0], each[1], numbers, known), settled_info(each[1], numbers)
            )
            for each in self.operands
        ]
        descriptor = settled_descriptor(self.descriptor, numbers)
        infos = [settled_info(info, numbers) for info in self.outputs]
        results = evaluate(network.add(self.spec.name, inputs, descriptor, outputs=infos))
        if results is None:
            raise UntraceableError(f"no backend computes a constant {self.spec.name} layer")
        return results


Source: TypeAlias = "NDArray[Any] | tuple[Recipe, int]"
"""An array, which may hold symbolic numbers, or one of the results of a recipe."""

Results: TypeAlias = "dict[Recipe, Sequence[Any]]"


class Trace:
    """A specialisation with symbolic dimensions.

    Attributes:
        tape: The arithmetic of its numbers.
        shapes: The shape of each input, symbolic where the network does not know it.
        infos: The infos of the values of the network that are symbolic, once it is settled.
        descriptors: The parameters of its layers that are symbolic, once it is settled.
        sources: Where the data of its Constant layers comes from that depend on the shapes.
        multiply_adds: Those of layers, by name, where they depend on the shapes.
    """

    def __init__(self, network: Network, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Make the unknown dimensions of the inputs symbolic."""
        self.tape = Tape()
        self.shapes: dict[str, Shape] = {}
        for layer in network.inputs:
            declared, given = layer.output.info.shape, shapes[layer.name]
            if declared is None:
                declared = (None,) * len(given)
            self.shapes[layer.name] = tuple(
                size if isinstance(dim, int) else self.tape.input(size)
                for dim, size in zip(declared, given, strict=True)
            )
        self.infos: dict[Value, TensorInfo] = {}
        self.descriptors: dict[Layer, Descriptor] = {}
        self.sources: dict[Layer, Source] = {}
        self.multiply_adds: dict[str, Any] = {}
        self._recipes: list[Recipe] = []
        self._known: Results = {}
        self._layers: dict[Layer, None] = {}

    def numbers(self, shapes: Mapping[str, tuple[int, ...]]) -> Numbers | None:
        """Return the numbers for other shapes, None if decisions differ."""
        inputs: list[int] = []
        for name, dims in self.shapes.items():
            given = shapes[name]
            if len(given) != len(dims):
                return None
            for dim, size in zip(dims, given, strict=True):
                if is_symbolic(dim):
                    inputs.append(size)
                elif dim != size:
                    return None
        return self.tape.replay(inputs)

    def results(self, numbers: Numbers, evaluate: Evaluate) -> Results:
        """Return the results of the recipes for some shapes."""
        known: Results = {}
        for recipe in self._recipes:
            known[recipe] = recipe.results(numbers, known, evaluate)
        return known

    # -- while the network is specialised -------------------------------------------------------

    def check_readable(self, layer: Layer) -> None:
        """Check that the data that decides is recorded.

        Raises:
            UntraceableError: It is the result of a recipe.
        """
        for index, value in enumerate(layer.inputs):
            decides = layer.spec.input_slot(index).shapes_output or layer.compiled is not None
            if (
                value is not None
                and decides
                and isinstance(self.sources.get(value.producer), tuple)
            ):
                raise UntraceableError(f"layer {layer.name!r} awaits computed data")

    def known_outputs(self, layer: Layer, evaluate: Evaluate) -> Sequence[Source] | None:
        """Return a constant layer's data, None if nothing computes it."""
        operands = [None if each is None else self._source(each) for each in layer.inputs]
        depends = (
            any(isinstance(each, tuple) for each in operands)
            or any(is_symbolic(info.shape) for info in layer.output_infos)
            or has_symbols(layer.descriptor)
        )
        if not depends:
            if any(is_symbolic(each) for each in operands):
                found = computed(layer, evaluate)
                if found is not None:
                    return found
                decided(layer)
            return evaluate(layer)
        infos = layer.input_infos
        pairs = [
            None if each is None or info is None else (each, info)
            for each, info in zip(operands, infos, strict=True)
        ]
        recipe = Recipe(layer.spec, layer.descriptor, tuple(pairs), layer.output_infos)
        self._known[recipe] = recipe.results(self.tape.values, self._known, evaluate)
        self._recipes.append(recipe)
        return [(recipe, index) for index in range(len(layer.outputs))]

    def add_constant(self, network: Network, value: Value, source: Source) -> Value:
        """Add an output's data as a Constant layer."""
        numbers = self.tape.values
        info = settled_info(value.info, numbers)
        data = data_of(source, info, numbers, self._known)
        made = network.add_constant(data, info, name=network.unique_name(value.name))
        made.info = value.info
        if isinstance(source, tuple):
            self.sources[made.producer] = source
        elif is_symbolic(source):
            made.producer.data = source
        return made

    def _source(self, value: Value) -> Source:
        known = self.sources.get(value.producer)
        if known is not None:
            return known
        assert value.constant is not None  # who asks has looked
        return value.constant

    # -- while it is rewritten ------------------------------------------------------------------

    def evaluator(self, evaluate: Evaluate) -> Evaluate:
        """Return what computes layers of plain numbers only."""

        def compute(layer: Layer) -> Sequence[NDArray[Any]] | None:
            infos = (*layer.input_infos, *layer.output_infos)
            if has_symbols(layer.descriptor) or any(
                info is not None and is_symbolic(info.shape) for info in infos
            ):
                return None
            return evaluate(layer)

        return compute

    def permission(self, accepts: Accepts) -> Accepts:
        """Return who is asked about layers with plain numbers."""

        def permit(stored: Network, present: Present) -> Collection[Layer]:
            def settled_present(layer: Layer, network: Network) -> Layer:
                made = present(layer, network)
                settle_layers(network, self.tape.values)
                return made

            settle_layers(stored, self.tape.values)
            return accepts(stored, settled_present)

        return permit

    def hide_constants(self, network: Network) -> None:
        """Replace constants that depend on the shapes by inputs."""
        sources, self.sources = self.sources, {}  # of constants that are gone, too
        for layer in network.layers:
            if layer.data is None:
                continue
            source = sources.get(layer)
            if source is None and is_symbolic(layer.data):
                source = layer.data
            if source is not None:
                name = f"{layer.name} (of the shapes {layer.guid})"
                stand_in = network.add_input(name, layer.output.info)
                network.replace_uses(layer.output, stand_in)
                self.sources[stand_in.producer] = source
                network.remove(layer)

    def settle(self, network: Network) -> None:
        """Give the network plain numbers, and constants their data."""
        numbers = self.tape.values
        for stand_in, source in tuple(self.sources.items()):
            del self.sources[stand_in]
            value = stand_in.output
            if value.uses:
                info = settled_info(value.info, numbers)
                data = data_of(source, info, numbers, self._known)
                name = network.unique_name(stand_in.name)
                made = network.add_constant(data, info, name=name)
                made.info = value.info
                network.replace_uses(value, made)
                self.sources[made.producer] = source
            network.remove(stand_in)
        for layer in network.layers:
            self._layers[layer] = None
            if has_symbols(layer.descriptor):
                self.descriptors[layer] = layer.descriptor
            for value in layer.outputs:
                if is_symbolic(value.info.shape):
                    self.infos[value] = value.info
        settle_layers(network, numbers)
        self._known.clear()

    # -- afterwards -----------------------------------------------------------------------------

    def learn(self, network: Network) -> None:
        """Infer the infos of layers that replaced known ones."""
        for layer in network.topological_order():
            for value in layer.outputs:
                self.info_of(value)
            self._layers[layer] = None
            count = self._multiply_adds(layer)
            if is_symbolic(count):
                self.multiply_adds[layer.name] = count

    def _multiply_adds(self, layer: Layer) -> int | None:
        values = [*[each for each in layer.inputs if each is not None], *layer.outputs]
        plain = {value: value.info for value in values}
        for value in plain:
            value.info = self.info_of(value)
        try:
            return multiply_adds_of(layer)
        finally:
            for value, info in plain.items():
                value.info = info

    def info_of(self, value: Value) -> TensorInfo:
        """Return a value's info, symbolic where shapes decide."""
        found = self.infos.get(value)
        if found is not None or value.producer in self._layers:
            return value.info if found is None else found
        layer = value.producer
        if layer.type == "PreCompiled":
            raise UntraceableError(f"layer {layer.name!r} is not known")
        infos = [None if each is None else self.info_of(each) for each in layer.inputs]
        data = [None if each is None else each.constant for each in layer.inputs]
        made = infer_outputs(layer.spec, layer.descriptor, infos, data, layer.requested)
        for output, info in zip(layer.outputs, made, strict=True):
            self.infos[output] = info
        return self.infos[value]


def has_symbols(descriptor: Descriptor) -> bool:
    """Return whether a parameter depends on the shapes."""
    return any(
        is_symbolic(getattr(descriptor, field.name)) for field in dataclasses.fields(descriptor)
    )


def settle_layers(network: Network, numbers: Numbers) -> None:
    """Give all layers of a network plain numbers."""
    for layer in network.layers:
        layer.descriptor = settled_descriptor(layer.descriptor, numbers)
        layer.requested = tuple(
            [
                settled_info(each, numbers) if isinstance(each, TensorInfo) else each
                for each in layer.requested
            ]
        )
        for value in layer.outputs:
            value.info = settled_info(value.info, numbers)


def settled_info(info: TensorInfo, numbers: Numbers) -> TensorInfo:
    """Return an info with plain numbers."""
    if info.shape is None or not is_symbolic(info.shape):
        return info
    made, assign = object.__new__(TensorInfo), object.__setattr__  # all of it has been checked
    assign(made, "shape", settled(info.shape, numbers))
    for name in ("data_type", "scales", "zero_points", "axis"):
        assign(made, name, getattr(info, name))
    return made


def settled_descriptor(descriptor: Descriptor, numbers: Numbers) -> Descriptor:
    """Return parameters with plain numbers."""
    fields = {
        field.name: getattr(descriptor, field.name) for field in dataclasses.fields(descriptor)
    }
    changed = {name: settled(each, numbers) for name, each in fields.items() if is_symbolic(each)}
    return dataclasses.replace(descriptor, **changed) if changed else descriptor


def data_of(source: Source, info: TensorInfo, numbers: Numbers, known: Results) -> NDArray[Any]:
    """Return the data of a constant for some shapes."""
    if isinstance(source, tuple):
        recipe, index = source
        return np.asarray(known[recipe][index])
    if not is_symbolic(source):
        return source
    plain = [settled(each, numbers) for each in source.ravel().tolist()]
    return np.array(plain, info.data_type.numpy_dtype).reshape(source.shape)


__all__ = ["Recipe", "Source", "Trace", "UntraceableError"]
