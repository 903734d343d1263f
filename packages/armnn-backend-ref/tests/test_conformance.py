# SPDX-License-Identifier: MIT
"""CpuRef passes the conformance kit, without pytest's options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn.backends import ArrayHandle, ModelContext, TensorHandle
from armnn_backend_ref.workload import RefWorkload
from armnn_conformance.cases import EDGE, LayerCase, all_cells, cases_of, covered_layers
from armnn_conformance.checks import contract, stress
from armnn_conformance.checks.by_name import Checks
from armnn_conformance.checks.correctness import CaseResult, check_case, claimed_case
from armnn_conformance.checks.quiet import check_quiet
from armnn_conformance.graphs import drawn_layers
from armnn_conformance.graphs.families import ALL_FAMILIES
from armnn_conformance.running import layer_of
from armnn_conformance.subject import Subject
from armnn_conformance.support_table import layers_with_kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import TensorInfo
    from armnn.types import DataType

CELLS = list(all_cells())
CELL_IDS = [f"{layer}-{data_type.arm_name}" for layer, data_type in CELLS]


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    with Subject("CpuRef") as found:
        yield found


@pytest.fixture(scope="module")
def checks(subject: Subject) -> Checks:
    return Checks(subject)


def test_every_layer_with_a_kernel_has_cases() -> None:
    assert set(layers_with_kernels()) == set(covered_layers())


class Receiver(TensorHandle):
    """An output of unknown shape, which receives the result's array."""

    def __init__(self, info: TensorInfo) -> None:
        self.info = info.with_shape(None)
        self.array: NDArray[Any] | None = None

    def map(self) -> NDArray[Any]:
        raise AssertionError("there is nothing to map before a shape is known")

    def assign(self, array: NDArray[Any]) -> None:
        self.array = array


def made_shapes(case: LayerCase) -> list[tuple[int, ...]]:
    """Return the shapes that the kernel makes.

    A workload copies its results into memory of the inferred shape, where NumPy would broadcast a
    smaller one.
    """
    layer = layer_of(case)
    outputs = [Receiver(info) for info in layer.output_infos]
    inputs = [
        None if value is None or operand is None else ArrayHandle(operand.info, operand.stored)
        for value, operand in zip(layer.inputs, case.inputs, strict=False)
    ]
    RefWorkload(layer, ModelContext({})).bind(inputs, outputs)()
    for info, output in zip(layer.output_infos, outputs, strict=True):
        assert output.array is not None
        assert info.accepts(output.array.shape), f"{case}: {output.array.shape} is not {info}"
    return [np.shape(output.array) for output in outputs]


# A cell's cases take long to make: all that is asked of them is asked at once.
@pytest.mark.parametrize(("layer", "data_type"), CELLS, ids=CELL_IDS)
def test_every_case_is_computed_rightly(subject: Subject, layer: str, data_type: DataType) -> None:
    cases = list(cases_of(layer, data_type))
    assert len(cases) >= 3
    assert len({case.name for case in cases}) == len(cases)
    assert any(EDGE in case.tags for case in cases)
    assert all(case.tolerance.reason for case in cases)
    outcomes = {case.name: check_case(subject, case) for case in cases}
    assert [each for each in outcomes.items() if each[1].result is not CaseResult.PASSED] == []
    for case in cases:
        assert made_shapes(case) == [expected.shape for expected in case.expected], str(case)


def test_it_keeps_the_contract_and_is_robust(subject: Subject) -> None:
    case = claimed_case(subject, "Addition")
    assert case is not None
    contract.check_identity(subject)
    contract.check_description(subject)
    contract.check_unknown_layer(subject)
    contract.check_future_items(subject)
    contract.check_handle_counts(subject, case)
    stress.check_concurrent_runs(subject, case)
    stress.check_out_of_memory(subject, case)
    stress.check_interrupted_runs(subject, case)


@pytest.mark.parametrize("family", ALL_FAMILIES)
def test_graphs_are_computed_as_their_layers(checks: Checks, family: str) -> None:
    assert checks.run("graphs", {"family": family, "layers": drawn_layers()})


def test_it_leaves_no_trace() -> None:
    check_quiet("CpuRef", ["Convolution2d", "Softmax"])
