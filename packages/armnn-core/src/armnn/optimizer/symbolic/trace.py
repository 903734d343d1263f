# SPDX-License-Identifier: MIT
"""The facts that a specialization takes from the shapes of the inputs.

A network is specialized with symbolic numbers as dimensions. The trace then knows each shape, each
parameter and each constant that follows from them, and computes these for other shapes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn._symbolic import Symbolic, Tape, concrete, is_symbolic
from armnn.errors import ArmnnError
from armnn.graph import Layer, Network, Value
from armnn.graph.statistics import has_multiply_adds, multiply_adds_of
from armnn.layers import Descriptor, LayerSpec, infer_outputs
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.passes.quantization import EmitFloat, SupportQuery
from armnn.optimizer.symbolic.arithmetic import carried, computed, decided, moved, plain_outputs
from armnn.tensor import Shape, TensorInfo

Numbers: TypeAlias = Sequence[Any]
"""The numbers of a tape for some shapes."""

_MOST_BYTES_AHEAD = 1 << 20
"""The largest table that is computed for shapes beyond the first ones."""


class UntraceableError(ArmnnError):
    """Something depends on the shapes without a record."""


@dataclass(frozen=True, slots=True, eq=False)
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
        operands = [
            None
            if each is None
            else (_data_of(each[0], each[1], numbers, known), settled_info(each[1], numbers))
            for each in self.operands
        ]
        descriptor = settled_descriptor(self.descriptor, numbers)
        infos = [settled_info(info, numbers) for info in self.outputs]
        found = carried(self.spec.name, descriptor, infos[0], operands)
        if found is not None:
            return [found]
        network = Network()
        inputs = [None if each is None else network.add_constant(*each) for each in operands]
        results = evaluate(network.add(self.spec.name, inputs, descriptor, outputs=infos))
        if results is None:
            raise UntraceableError(f"no backend computes a constant {self.spec.name} layer")
        return results

    @property
    def before(self) -> Iterator[Recipe]:
        """The recipes whose results it reads."""
        for each in self.operands:
            if each is not None and isinstance(each[0], tuple):
                yield each[0][0]


Source: TypeAlias = "NDArray[Any] | tuple[Recipe, int]"
"""An array, which may hold symbolic numbers, or one of the results of a recipe."""

Results: TypeAlias = "dict[Recipe, Sequence[Any]]"


class ShapeConstants:
    """Data of constants for the shapes that come, computed rarely.

    The same numbers give the same array again. Where the result for a smaller shape is the
    beginning of that for a larger one, the largest is kept, and the others are slices of it. Any
    number of threads may use it.
    """

    def __init__(self, recipes: Sequence[Recipe], evaluate: Evaluate) -> None:
        """Begin without results.

        Args:
            recipes: In the order of their computation.
            evaluate: Computes a layer whose inputs are constant.
        """
        self._evaluate = evaluate
        self._order = {recipe: place for place, recipe in enumerate(recipes)}
        self._numbers: dict[Recipe, tuple[int, ...]] = {}
        self._outputs = {recipe: list(map(SymbolicInfo, recipe.outputs)) for recipe in recipes}
        self._growing: dict[Recipe, None] = {}
        for recipe in recipes:
            found = dict.fromkeys(_positions(recipe))
            for other in recipe.before:
                found.update(dict.fromkeys(self._numbers[other]))
            self._numbers[recipe] = tuple(found)
            if _grows(recipe, self._growing):
                self._growing[recipe] = None
        self._kept: dict[tuple[Recipe, int], tuple[list[Any], NDArray[Any]]] = {}

    def data(
        self,
        source: Source,
        info: TensorInfo,
        numbers: Numbers,
        larger: Callable[[], Numbers | None] = lambda: None,
    ) -> NDArray[Any]:
        """Return the data of a constant.

        Args:
            source: Where it comes from.
            info: Its info.
            numbers: The numbers for these shapes.
            larger: Returns those for shapes that are larger, for results that are kept.

        Raises:
            UntraceableError: No backend computes it.
        """
        if not isinstance(source, tuple):
            return _data_of(source, info, numbers, {})
        recipe, index = source
        shape = self._outputs[recipe][index].shape(numbers)
        wanted = self._wanted(recipe, numbers)
        kept, array = self._kept.get(source, (None, None))
        if array is not None:
            if kept == wanted:
                return array
            if recipe in self._growing and _covers(array.shape, shape):
                return array[tuple(map(slice, shape))]
            if recipe in self._growing:
                ahead = self._computed_ahead(source, info, larger())
                if ahead is not None and _covers(ahead.shape, shape):
                    return ahead[tuple(map(slice, shape))]
        made = np.asarray(self._computed(recipe, numbers)[index])
        self._kept[source] = wanted, made
        return made

    def _computed_ahead(
        self, source: tuple[Recipe, int], info: TensorInfo, numbers: Numbers | None
    ) -> NDArray[Any] | None:
        """Return and keep a result for larger shapes, if allowed."""
        if numbers is None:
            return None
        recipe, index = source
        shape = concrete(recipe.outputs[index].shape, numbers)
        if math.prod(shape) * info.data_type.numpy_dtype.itemsize > _MOST_BYTES_AHEAD:
            return None
        try:
            made = np.asarray(self._computed(recipe, numbers)[index])
        except ArmnnError:  # such shapes may not exist
            return None
        self._kept[source] = self._wanted(recipe, numbers), made
        return made

    def keep(self, source: Source, numbers: Numbers, data: NDArray[Any]) -> None:
        """Keep a result that is known for some shapes."""
        if isinstance(source, tuple):
            self._kept[source] = self._wanted(source[0], numbers), data

    def _wanted(self, recipe: Recipe, numbers: Numbers) -> list[Any]:
        return [numbers[place] for place in self._numbers[recipe]]

    def _computed(self, recipe: Recipe, numbers: Numbers) -> Sequence[Any]:
        needed, pending = {recipe: None}, [recipe]
        while pending:
            for other in pending.pop().before:
                if other not in needed:
                    needed[other] = None
                    pending.append(other)
        known: Results = {}
        for each in sorted(needed, key=self._order.__getitem__):
            known[each] = each.results(numbers, known, self._evaluate)
        return known[recipe]


def _covers(larger: Sequence[int], smaller: Sequence[int]) -> bool:
    return len(larger) == len(smaller) and all(map(operator.ge, larger, smaller))


def _positions(recipe: Recipe) -> Iterator[int]:
    """Yield the places of the numbers that a recipe names."""
    for field in fields(recipe.descriptor):
        yield from _symbols(getattr(recipe.descriptor, field.name))
    for info in recipe.outputs:
        yield from _symbols(info.shape)
    for each in recipe.operands:
        if each is not None and not isinstance(each[0], tuple) and is_symbolic(each[0]):
            yield from _symbols(tuple(each[0].ravel().tolist()))


def _symbols(value: object) -> Iterator[int]:
    if type(value) is tuple:
        for each in value:
            yield from _symbols(each)
    elif type(value) is Symbolic:
        yield value.position


_ELEMENTWISE = (
    "Activation",
    "Addition",
    "Cast",
    "Comparison",
    "Division",
    "ElementwiseBinary",
    "ElementwiseUnary",
    "LogicalBinary",
    "Maximum",
    "Minimum",
    "Multiplication",
    "Subtraction",
    "Where",
)


def _grows(recipe: Recipe, growing: dict[Recipe, None]) -> bool:
    """Return whether smaller results are beginnings of larger ones."""
    descriptor: Any = recipe.descriptor
    symbolic = {
        field.name for field in fields(descriptor) if is_symbolic(getattr(descriptor, field.name))
    }
    data = [each[0] for each in recipe.operands if each is not None]
    plain = [not isinstance(each, tuple) and not is_symbolic(each) for each in data]
    good = [
        is_plain or (isinstance(each, tuple) and each[0] in growing)
        for each, is_plain in zip(data, plain, strict=True)
    ]
    match recipe.spec.name:
        case "Fill":
            return not symbolic
        case "BroadcastTo":
            return symbolic <= {"broadcast_to_shape"} and all(good)
        case "StridedSlice":
            return (
                symbolic <= {"end"}
                and all(each >= 0 for each in descriptor.begin)
                and all(each > 0 for each in descriptor.stride)
                and len(data) == 1
                and good[0]
            )
        case "Gather":
            return not symbolic and plain[0] and all(good)
        case kind:
            return kind in _ELEMENTWISE and not symbolic and all(good)


def _has_symbols(descriptor: Descriptor) -> bool:
    """Return whether a parameter depends on the shapes."""
    return is_symbolic(_parameters(descriptor))


def _parameters(descriptor: Descriptor) -> tuple[Any, ...]:
    """Return the values of all parameters, got by C."""
    kind = type(descriptor)
    if kind not in _getters:
        names = [field.name for field in fields(descriptor)]
        _getters[kind] = attrgetter(*names, "__class__")  # of one name it would return no tuple
    found: tuple[Any, ...] = _getters[kind](descriptor)
    return found


_getters: dict[type[Descriptor], Callable[[Descriptor], Any]] = {}


def settled_info(info: TensorInfo, numbers: Numbers) -> TensorInfo:
    """Return an info with plain numbers."""
    if info.shape is None or not is_symbolic(info.shape):
        return info
    return _with_shape(info, concrete(info.shape, numbers))


def _with_shape(info: TensorInfo, shape: tuple[int, ...]) -> TensorInfo:
    """Return an info with another shape, unchecked."""
    made, assign = object.__new__(TensorInfo), object.__setattr__
    assign(made, "shape", shape)
    assign(made, "data_type", info.data_type)
    assign(made, "scales", info.scales)
    assign(made, "zero_points", info.zero_points)
    assign(made, "axis", info.axis)
    return made


class SymbolicInfo:
    """An info whose symbols are found once.

    Args:
        info: The info, whose rank is known.
    """

    __slots__ = ("_dims", "_info", "_symbols")

    def __init__(self, info: TensorInfo) -> None:
        self._info = info
        self._dims: list[Any] = list(info.shape or ())
        self._symbols = [
            (axis, dim.position) for axis, dim in enumerate(self._dims) if type(dim) is Symbolic
        ]

    def concrete(self, numbers: Numbers) -> TensorInfo:
        """Return the info with plain numbers."""
        return _with_shape(self._info, self.shape(numbers)) if self._symbols else self._info

    def shape(self, numbers: Numbers) -> tuple[int, ...]:
        """Return the shape with plain numbers."""
        dims = self._dims.copy()
        for axis, position in self._symbols:
            dims[axis] = numbers[position]
        return tuple(dims)


def settled_descriptor(descriptor: Descriptor, numbers: Numbers) -> Descriptor:
    """Return parameters with plain numbers."""
    if not _has_symbols(descriptor):
        return descriptor
    known = {field.name: getattr(descriptor, field.name) for field in fields(descriptor)}
    changed = {name: concrete(each, numbers) for name, each in known.items() if is_symbolic(each)}
    return replace(descriptor, **changed)


def _data_of(source: Source, info: TensorInfo, numbers: Numbers, known: Results) -> NDArray[Any]:
    """Return the data of a constant for some shapes."""
    if isinstance(source, tuple):
        recipe, index = source
        return np.asarray(known[recipe][index])
    if not is_symbolic(source):
        return source
    plain = [concrete(each, numbers) for each in source.ravel().tolist()]
    return np.array(plain, info.data_type.numpy_dtype).reshape(source.shape)


class Trace:
    """A specialization with symbolic dimensions.

    Attributes:
        tape: The arithmetic of its numbers.
        shapes: The shape of each input, symbolic where the network does not know it.
        infos: The infos of the values of the network that are symbolic, once they are known.
        descriptors: The parameters of its layers that are symbolic, once they are known.
        sources: Where the data of its Constant layers comes from that depend on the shapes.
        multiply_adds: The multiply-adds of layers, by name, where they depend on the shapes.
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
        """Return the constants that compute :attr:`sources` for shapes."""
        made = ShapeConstants(self._recipes, evaluate)
        for layer, data in self._data.items():
            made.keep(self.sources[layer], self.tape.values, data)
        return made

    # -- while the network is specialized -------------------------------------------------------

    def check_readable(self, layer: Layer) -> None:
        """Check that everything on which a layer's outputs depend is recorded.

        Raises:
            UntraceableError: Data that decides is the result of a recipe, or a program decides.
        """
        if layer.call is not None:
            raise UntraceableError(f"a program in Python says the outputs of layer {layer.name!r}")
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
            or _has_symbols(layer.descriptor)
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
        return _data_of(source, layer.output.info, self.tape.values, self._known)

    def add_constant(self, network: Network, value: Value, source: Source) -> Value:
        """Add an output's data as a Constant layer."""
        numbers = self.tape.values
        info = settled_info(value.info, numbers)
        data = _data_of(source, info, numbers, self._known)
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
        """Return an evaluator of layers that read plain numbers only."""

        def compute(
            layer: Layer, _spare: NDArray[Any] | None = None, /
        ) -> Sequence[NDArray[Any]] | None:
            infos = (*layer.input_infos, *layer.output_infos)
            if _has_symbols(layer.descriptor) or any(
                info is not None and is_symbolic(info.shape) for info in infos
            ):
                return None
            return evaluate(layer)

        return compute

    def permission(self, accepts: SupportQuery) -> SupportQuery:
        """Return the query that asks a backend about layers with plain numbers."""

        def permit(stored: Network, present: EmitFloat) -> Collection[Layer]:
            def settled_present(layer: Layer, network: Network) -> Layer:
                made = present(layer, network)
                _settle_layers(network, self.tape.values)
                return made

            _settle_layers(stored, self.tape.values)
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

    def concretize(self, network: Network) -> None:
        """Give the network plain numbers, and constants their data."""
        numbers = self.tape.values
        for stand_in, source in tuple(self.sources.items()):
            del self.sources[stand_in]
            value = stand_in.output
            if value.uses:
                info = settled_info(value.info, numbers)
                data = _data_of(source, info, numbers, self._known)
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
                counts[layer] = concrete(count, self.tape.values)
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


def _settle_layers(network: Network, numbers: Numbers) -> None:
    """Give all layers of a network plain numbers."""
    for layer in network.layers:
        _settle_layer(layer, numbers)


def _settle_layer(layer: Layer, numbers: Numbers) -> None:
    """Give a layer plain numbers.

    A descriptor or shape that has only plain numbers stays the same object.
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
