# SPDX-License-Identifier: MIT
"""What a specialisation takes from the shapes of the inputs.

A network is specialised with symbolic numbers as dimensions. The trace then knows each shape, each
parameter and each constant that follows from them, and computes these for other shapes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from armnn._symbolic import Tape, is_symbolic, settled
from armnn.graph import Layer, Network, Value
from armnn.graph.multiply_adds import has_multiply_adds, multiply_adds_of
from armnn.layers import Descriptor, infer_outputs
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.passes.quantization import EmitFloat, SupportQuery
from armnn.optimizer.symbolic.arithmetic import computed, decided, moved, plain_outputs
from armnn.optimizer.symbolic.recipes import (
    Numbers,
    Recipe,
    Results,
    ShapeConstants,
    Source,
    UntraceableError,
    data_of,
    has_symbols,
    settled_descriptor,
    settled_info,
)
from armnn.tensor import Shape, TensorInfo


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
        self._expected = [
            (name, [None if is_symbolic(dim) else dim for dim in dims])
            for name, dims in self.shapes.items()
        ]
        self.infos: dict[Value, TensorInfo] = {}
        self.descriptors: dict[Layer, Descriptor] = {}
        self.sources: dict[Layer, Source] = {}
        self.multiply_adds: dict[str, Any] = {}
        self._recipes: list[Recipe] = []
        self._known: Results = {}
        self._data: dict[Layer, NDArray[Any]] = {}
        self._layers: dict[Layer, None] = {}

    def numbers(self, shapes: Mapping[str, tuple[int, ...]]) -> Numbers | None:
        """Return the numbers for other shapes, None if decisions differ."""
        inputs: list[int] = []
        for name, dims in self._expected:
            given = shapes[name]
            if len(given) != len(dims):
                return None
            for dim, size in zip(dims, given, strict=True):
                if dim is None:
                    inputs.append(size)
                elif dim != size:
                    return None
        return self.tape.replay(inputs)

    def larger_numbers(self, shapes: Mapping[str, tuple[int, ...]]) -> Numbers | None:
        """Return the numbers for shapes twice as large, if known."""
        twice = {
            name: tuple(
                [
                    2 * size if is_symbolic(dim) and size > 1 else size
                    for dim, size in zip(dims, shapes[name], strict=True)
                ]
            )
            for name, dims in self.shapes.items()
        }
        return self.numbers(twice)

    def constants(self, evaluate: Evaluate) -> ShapeConstants:
        """Return what computes :attr:`sources` for shapes."""
        made = ShapeConstants(self._recipes, evaluate)
        for layer, data in self._data.items():
            made.keep(self.sources[layer], self.tape.values, data)
        return made

    # -- while the network is specialised -------------------------------------------------------

    def check_readable(self, layer: Layer) -> None:
        """Check that the data that decides is recorded.

        Raises:
            UntraceableError: It is the result of a recipe.
        """
        if not layer.spec.reads_data and layer.compiled is None:
            return
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
            found = moved(layer)
            if found is not None:
                return found
            if not any(map(is_symbolic, operands)):
                return plain_outputs(layer) or evaluate(layer)
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

    def noted_data(self, layer: Layer, source: Source) -> NDArray[Any]:
        """Return the data of a layer that becomes a constant.

        It may hold symbolic numbers.
        """
        if not isinstance(source, tuple):
            return source
        self.sources[layer] = source
        return data_of(source, layer.output.info, self.tape.values, self._known)

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

        def compute(
            layer: Layer, _spare: NDArray[Any] | None = None, /
        ) -> Sequence[NDArray[Any]] | None:
            infos = (*layer.input_infos, *layer.output_infos)
            if has_symbols(layer.descriptor) or any(
                info is not None and is_symbolic(info.shape) for info in infos
            ):
                return None
            return evaluate(layer)

        return compute

    def permission(self, accepts: SupportQuery) -> SupportQuery:
        """Return who is asked about layers with plain numbers."""

        def permit(stored: Network, present: EmitFloat) -> Collection[Layer]:
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
                self.sources[made.producer], self._data[made.producer] = source, data
            network.remove(stand_in)
        for layer in network.layers:
            self._layers[layer] = None
            descriptor, infos = layer.descriptor, [value.info for value in layer.outputs]
            _settle_layer(layer, numbers)
            if layer.descriptor is not descriptor:
                self.descriptors[layer] = descriptor
            for value, info in zip(layer.outputs, infos, strict=True):
                if value.info is not info:
                    self.infos[value] = info
        self._known.clear()

    # -- afterwards -----------------------------------------------------------------------------

    def learn(self, network: Network) -> dict[Layer, int | None]:
        """Infer the infos of layers that replaced known ones.

        Returns:
            The multiply-adds of each layer, for the shapes that are traced.
        """
        counts: dict[Layer, int | None] = {}
        for layer in network.topological_order():
            for value in layer.outputs:
                self.info_of(value)
            self._layers[layer] = None
            counts[layer] = 0
            if has_multiply_adds(layer):  # as few
                count = self._multiply_adds(layer)
                if is_symbolic(count):
                    self.multiply_adds[layer.name] = count
                counts[layer] = settled(count, self.tape.values)
        return counts

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


def settle_layers(network: Network, numbers: Numbers) -> None:
    """Give all layers of a network plain numbers."""
    for layer in network.layers:
        _settle_layer(layer, numbers)


def _settle_layer(layer: Layer, numbers: Numbers) -> None:
    """Give a layer plain numbers.

    What has no others stays the same object.
    """
    layer.descriptor = settled_descriptor(layer.descriptor, numbers)
    layer.requested = tuple(
        [
            settled_info(each, numbers) if isinstance(each, TensorInfo) else each
            for each in layer.requested
        ]
    )
    for value in layer.outputs:
        value.info = settled_info(value.info, numbers)
