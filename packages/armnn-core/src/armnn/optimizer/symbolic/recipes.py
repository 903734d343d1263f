# SPDX-License-Identifier: MIT
"""Constants that depend on the shapes of the inputs."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn._symbolic import Symbolic, is_symbolic, settled
from armnn.errors import ArmnnError
from armnn.graph import Network
from armnn.layers import Descriptor, LayerSpec
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.symbolic.movement import carried
from armnn.tensor import TensorInfo

Numbers: TypeAlias = Sequence[Any]
"""The numbers of a tape for some shapes."""

MOST_BYTES_AHEAD = 1 << 20
"""Of a table that is computed for larger shapes than those that come."""


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
            else (data_of(each[0], each[1], numbers, known), settled_info(each[1], numbers))
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

    What depends on numbers that stay is the same array again. Where the result for a smaller shape
    is the beginning of that for a larger one, the largest result is kept, and others are cut out.
    Any number of threads may use it.
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
            numbers: Those for these shapes.
            larger: Returns those for shapes that are larger, for results that are kept.

        Raises:
            UntraceableError: No backend computes it.
        """
        if not isinstance(source, tuple):
            return data_of(source, info, numbers, {})
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
        shape = settled(recipe.outputs[index].shape, numbers)
        if math.prod(shape) * info.data_type.numpy_dtype.itemsize > MOST_BYTES_AHEAD:
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


def has_symbols(descriptor: Descriptor) -> bool:
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
    return _with_shape(info, settled(info.shape, numbers))


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

    def settled(self, numbers: Numbers) -> TensorInfo:
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
    if not has_symbols(descriptor):
        return descriptor
    known = {field.name: getattr(descriptor, field.name) for field in fields(descriptor)}
    changed = {name: settled(each, numbers) for name, each in known.items() if is_symbolic(each)}
    return replace(descriptor, **changed)


def data_of(source: Source, info: TensorInfo, numbers: Numbers, known: Results) -> NDArray[Any]:
    """Return the data of a constant for some shapes."""
    if isinstance(source, tuple):
        recipe, index = source
        return np.asarray(known[recipe][index])
    if not is_symbolic(source):
        return source
    plain = [settled(each, numbers) for each in source.ravel().tolist()]
    return np.array(plain, info.data_type.numpy_dtype).reshape(source.shape)
