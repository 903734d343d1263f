# SPDX-License-Identifier: MIT
"""The generators of cases, by layer type and data type."""

from __future__ import annotations

import functools
import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from armnn.layers import LAYERS, Descriptor
from armnn.types import DataType
from armnn_conformance.cases._case import LayerCase, spec_of

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
    """Return what makes the cases of a layer type."""
    return tuple(registered.generate for registered in _generators().get(layer, ()))


@functools.cache
def _generators() -> Mapping[str, list[_Registered]]:
    """Import the families of cases, which register their generators."""
    folder = importlib.import_module(__package__ or "")
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda m: m.name):
        importlib.import_module(f"{__package__}.{module.name}")
    return _GENERATORS
