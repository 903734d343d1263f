# SPDX-License-Identifier: MIT
"""Cases of layers, and the registry of their generators."""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn.backends import Capability
from armnn.layers import LAYERS, Descriptor, LayerSpec
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_conformance.operands import CaseTensor, fitted

NAN, EXTREME = Capability.PROPAGATES_NAN.value, Capability.KEEPS_EXTREMES.value
"""The tags of cases for backends that have these capabilities, true unless stated to be false."""

EDGE = "edge"
"""The tag of cases at an edge: sizes 0, 1 and odd, saturation, negative axes, scales per axis."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a result may be from the expected one.

    Integers and Booleans are always compared exactly.

    Attributes:
        reason: Why it is not exact, for people.
        rtol: Relative to the expected value, for floats.
        atol: Absolute, for floats.
        steps: In steps of the stored values, for quantized types.
    """

    reason: str
    rtol: float = 0.0
    atol: float = 0.0
    steps: int = 0


EXACT = Tolerance("elements are moved, not computed, or every intermediate result is exact")

_ONE_STEP = Tolerance("float32 arithmetic may fall on the other side of a rounding", steps=1)
_USUAL = {
    DataType.FLOAT64: Tolerance("some roundings of float64", rtol=1e-12, atol=1e-13),
    DataType.FLOAT32: Tolerance("some roundings of float32", rtol=2e-5, atol=2e-6),
    DataType.FLOAT16: Tolerance("some roundings of float16", rtol=4e-3, atol=2e-3),
    DataType.BFLOAT16: Tolerance("some roundings of bfloat16", rtol=2e-2, atol=1e-2),
}


def usual(data_type: DataType) -> Tolerance:
    """Return the tolerance for a few operations in a type."""
    return _USUAL.get(data_type, _ONE_STEP if data_type.is_quantized else EXACT)


@dataclass(frozen=True, slots=True, eq=False)
class LayerCase:
    """One layer with inputs and expected outputs.

    Attributes:
        layer: The name of the layer type.
        data_type: The column of the support table that the case counts for.
        name: Its special feature; unique for the layer and data type.
        descriptor: The parameters.
        inputs: One per input slot, None where an optional one is absent.
        outputs: The info of each output; the shape is that of the expected values.
        expected: The real values of each output: float64, integers or Booleans.
        tolerance: How far a result may be off.
        tags: Such as ``EDGE``.
        open_outputs: Places of outputs whose values are open: only their shapes are compared.
    """

    layer: str
    data_type: DataType
    name: str
    descriptor: Descriptor
    inputs: tuple[CaseTensor | None, ...]
    outputs: tuple[TensorInfo, ...]
    expected: tuple[NDArray[Any], ...]
    tolerance: Tolerance
    tags: tuple[str, ...] = ()
    open_outputs: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        """Layer, data type and name, unique among all cases."""
        return f"{self.layer}-{self.data_type.arm_name}-{self.name}"

    def __str__(self) -> str:
        return self.id


Output: TypeAlias = TensorInfo | DataType | None
"""The expected kind of an output: an info (its shape is not looked at), a data type whose
quantization is fitted to the expected values, or None for the data type of the case."""


def case(
    data_type: DataType,
    name: str,
    descriptor: Descriptor,
    inputs: Sequence[CaseTensor | None] | Mapping[str, CaseTensor],
    expected: ArrayLike | tuple[ArrayLike, ...],
    *,
    outputs: Sequence[Output] = (None,),
    like: CaseTensor | None = None,
    tolerance: Tolerance | None = None,
    edge: bool = False,
    needs: str = "",
    open_outputs: Sequence[int] = (),
) -> LayerCase:
    """Return a case.

    Args:
        data_type: See :class:`LayerCase`.
        name: See :class:`LayerCase`; a few words.
        descriptor: The parameters; its class says which layer it is.
        inputs: In the order of the slots, or by the names of the slots.
        expected: The real values of the output; a tuple for a layer with several.
        outputs: The descriptions of the outputs, one for each.
        like: The input that an only output stores elements of, exactly; instead of the two others.
        tolerance: ``usual()`` for the first output's type if left out.
        edge: Whether the case is at an edge; it has the tag ``EDGE`` then.
        needs: ``NAN`` or ``EXTREME``; a case that expects NaN has the tag ``NAN`` anyway.
        open_outputs: See :class:`LayerCase`.
    """
    if like is not None:
        outputs, tolerance = (like.info,), EXACT
    arrays = tuple(map(np.asarray, expected if isinstance(expected, tuple) else (expected,)))
    spec = spec_of(type(descriptor))
    infos = tuple(
        _output_info(data_type if wanted is None else wanted, array)
        for wanted, array in zip(outputs, arrays, strict=True)
    )
    return LayerCase(
        layer=spec.name,
        data_type=data_type,
        name=name,
        descriptor=descriptor,
        inputs=_in_slots(spec, inputs),
        outputs=infos,
        expected=arrays,
        tolerance=usual(infos[0].data_type) if tolerance is None else tolerance,
        tags=_tags(edge, needs, arrays),
        open_outputs=tuple(open_outputs),
    )


def _tags(edge: bool, needs: str, expected: Iterable[NDArray[Any]]) -> tuple[str, ...]:
    is_nan = any(each.dtype.kind == "f" and np.isnan(each).any() for each in expected)
    tags = {EDGE: edge, NAN: is_nan or needs == NAN, EXTREME: needs == EXTREME}
    return tuple(tag for tag, holds in tags.items() if holds)


def spec_of(descriptor: type[Descriptor]) -> LayerSpec:
    """Return the layer type of a descriptor's class."""
    return next(spec for spec in LAYERS.values() if spec.descriptor is descriptor)


def _output_info(wanted: TensorInfo | DataType, expected: NDArray[Any]) -> TensorInfo:
    if isinstance(wanted, DataType):
        return fitted(wanted, expected)
    return wanted.with_shape(expected.shape)


def _in_slots(
    spec: LayerSpec, inputs: Sequence[CaseTensor | None] | Mapping[str, CaseTensor]
) -> tuple[CaseTensor | None, ...]:
    if not isinstance(inputs, Mapping):
        return tuple(inputs)
    names = [slot.name for slot in spec.inputs]
    unknown = [name for name in inputs if name not in names]
    if unknown:
        raise ValueError(f"{spec.name} has no input {unknown}: expected some of {names}")
    return tuple(inputs.get(name) for name in names)


Generator: TypeAlias = Callable[[DataType], Iterable[LayerCase]]


@dataclass(frozen=True, slots=True)
class _Registered:
    types: tuple[DataType, ...]
    generate: Generator


_GENERATORS: dict[str, list[_Registered]] = {}


def cases(
    *descriptors: type[Descriptor], types: Iterable[DataType]
) -> Callable[[Generator], Generator]:
    """Register a generator of cases for descriptors and data types.

    A layer may have several generators; together they make its cases.
    """
    columns = tuple(types)

    def register(generate: Generator) -> Generator:
        for kind in descriptors:
            _GENERATORS.setdefault(spec_of(kind).name, []).append(_Registered(columns, generate))
        return generate

    return register


def all_cases(layers: Iterable[str] | None = None) -> Iterator[LayerCase]:
    """Yield all cases by layer type, then by data type.

    Args:
        layers: Names of layer types; all if left out.
    """
    for layer, data_type in all_cells(layers):
        yield from cases_of(layer, data_type)


def all_cells(layers: Iterable[str] | None = None) -> Iterator[tuple[str, DataType]]:
    """Yield the layer types and data types that have cases."""
    for layer in covered_layers() if layers is None else layers:
        for data_type in data_types_of(layer):
            yield layer, data_type


def cases_of(layer: str, data_type: DataType | None = None) -> Iterator[LayerCase]:
    """Yield the cases of one layer type.

    Args:
        layer: Its name.
        data_type: The column; all, one after the other, if left out.
    """
    for column in data_types_of(layer) if data_type is None else (data_type,):
        for registered in _generators().get(layer, ()):
            if column in registered.types:
                yield from (made for made in registered.generate(column) if made.layer == layer)


def samples_of(layer: str, data_type: DataType) -> Iterator[LayerCase]:
    """Yield the first case of each kind of a cell.

    A kind is the output of one generator for a layer type and a data type; its other cases are not
    made.
    """
    for registered in _generators().get(layer, ()):
        if data_type in registered.types:
            found = (made for made in registered.generate(data_type) if made.layer == layer)
            yield from itertools.islice(found, 1)


def data_types_of(layer: str) -> tuple[DataType, ...]:
    """Return the data types of a layer type's cases."""
    columns = (column for each in _generators().get(layer, ()) for column in each.types)
    return tuple(sorted(dict.fromkeys(columns)))


def covered_layers() -> tuple[str, ...]:
    """Return the layer types with cases, in the table's order."""
    generators = _generators()
    return tuple(name for name in LAYERS if name in generators)


def generators_of(layer: str) -> tuple[Generator, ...]:
    """Return the generators of the cases of a layer type."""
    return tuple(registered.generate for registered in _generators().get(layer, ()))


@functools.cache
def _generators() -> Mapping[str, list[_Registered]]:
    """Import the families of cases, which register their generators."""
    folder = importlib.import_module(__package__ or "")
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda m: m.name):
        importlib.import_module(f"{__package__}.{module.name}")
    return _GENERATORS
