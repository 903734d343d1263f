# SPDX-License-Identifier: MIT
"""Conformance cases: a layer, its inputs and independent expected outputs.

A module beside this one has the name of a family of the layer table and holds its cases; it
registers generators, which are called once per data type::

    @cases(SoftmaxDescriptor, types=REAL)
    def softmax(data_type: DataType) -> Iterator[LayerCase]:
        x = values(data_type, (2, 5), seed=1)
        e = np.exp(x.real)
        yield case(data_type, "last axis", SoftmaxDescriptor(), [x], e / e.sum(-1, keepdims=True))

Expected values come from the definition, in float64 or integers, or were worked by hand. They are
never computed by a kernel of a backend, nor by code that one shares.
"""

from __future__ import annotations

from armnn_conformance.cases._case import (
    EDGE,
    EXACT,
    EXTREME,
    NAN,
    LayerCase,
    Tolerance,
    all_cases,
    all_cells,
    case,
    cases,
    cases_of,
    covered_layers,
    data_types_of,
    samples_of,
    usual,
)

__all__ = [
    "EDGE",
    "EXACT",
    "EXTREME",
    "NAN",
    "LayerCase",
    "Tolerance",
    "all_cases",
    "all_cells",
    "case",
    "cases",
    "cases_of",
    "covered_layers",
    "data_types_of",
    "samples_of",
    "usual",
]
