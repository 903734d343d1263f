# SPDX-License-Identifier: MIT
"""The level *correct*: good backends pass, bad ones fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fakes
from armnn.backends import ModelContext, Support
from armnn.layers.elementwise import AdditionDescriptor
from armnn.layers.normalization import SoftmaxDescriptor
from armnn.layers.reshaping import TransposeDescriptor
from armnn.layers.selecting import TopKDescriptor
from armnn.types import DataLayout, DataType
from armnn_conformance.cases import LayerCase, case, cases_of
from armnn_conformance.checks.by_name import Checks
from armnn_conformance.checks.correctness import (
    CaseResult,
    Outcome,
    check_case,
    check_cell,
    claimed_case,
    compare,
)
from armnn_conformance.operands import values
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from fakes import DeviceBackend, misbehaving

if TYPE_CHECKING:
    from armnn.graph import Layer

MakeSubject = Callable[[type], Subject]


def softmax(data_type: DataType = DataType.FLOAT32, axis: int = 0) -> LayerCase:
    x = values(data_type, (3, 4), seed=1)
    powers = np.exp(x.real)
    expected = powers / powers.sum(axis=axis, keepdims=True)
    return case(data_type, "an axis", SoftmaxDescriptor(axis=axis), [x], expected)


def addition(*, constant: bool = False) -> LayerCase:
    kind = DataType.FLOAT32
    x, y = values(kind, (2, 3), seed=1), values(kind, (1, 3), seed=2, constant=constant)
    return case(kind, "a row", AdditionDescriptor(), [x, y], x.real + y.real)


@pytest.mark.parametrize(
    "good", [softmax(), softmax(axis=-1), addition(), addition(constant=True)], ids=str
)
def test_a_good_backend_passes(make_subject: MakeSubject, good: LayerCase) -> None:
    assert check_case(make_subject(misbehaving.SmallBackend), good) == Outcome(CaseResult.PASSED)


def image(layout: DataLayout) -> LayerCase:
    (case, *_) = (
        each
        for each in cases_of("Pooling2d", DataType.FLOAT32)
        if each.descriptor.data_layout is layout
    )
    return case


def test_a_backend_of_one_layout_refuses_images_in_another(make_subject: MakeSubject) -> None:
    class OneLayout(fakes.OneLayoutBackend):
        def __init__(self) -> None:
            super().__init__(default=True)

    outcome = check_case(make_subject(OneLayout), image(DataLayout.NCHW))
    assert outcome == Outcome(CaseResult.NOT_SUPPORTED, "it computes in NHWC, not NCHW")


def test_a_layer_of_one_layout_is_claimed_whichever_the_first_cases_have(
    make_subject: MakeSubject,
) -> None:
    class OneLayout(fakes.OneLayoutBackend):
        def __init__(self) -> None:
            super().__init__(support={"Resize": True})

    checks = Checks(make_subject(OneLayout))
    assert checks.layers_claimed_at_once(["Resize", "Floor"]) == ["Resize"]


@pytest.mark.parametrize(
    ("layout", "detail"),
    [
        (
            DataLayout.NCHW,
            (
                "it asks for the layout NHWC, and refuses the layer in it: no; name a layout only "
                "for a layer that is supported otherwise"
            ),
        ),
        (DataLayout.NHWC, "it asks for the layout NHWC, which the layer has"),
    ],
)
def test_a_wish_that_the_backend_does_not_take_is_caught(
    make_subject: MakeSubject, layout: DataLayout, detail: str
) -> None:
    class Wishing(misbehaving.SmallBackend):
        def supports(self, layer: Layer, model: ModelContext) -> Support:
            return Support.no("no", DataLayout.NHWC)

    outcome = check_case(make_subject(Wishing), image(layout))
    assert outcome == Outcome(CaseResult.FAILED, detail)


def test_a_refusal_with_a_reason_is_no_failure(make_subject: MakeSubject) -> None:
    outcome = check_case(make_subject(misbehaving.SmallBackend), softmax(DataType.FLOAT16))
    assert outcome == Outcome(CaseResult.NOT_SUPPORTED, "tensor 0 is Float16, expected Float32")


@pytest.mark.parametrize(
    ("kind", "bad", "problem"),
    [
        (misbehaving.InaccurateBackend, softmax(), "the workload's output 0 is wrong: 12 of 12"),
        (misbehaving.InattentiveBackend, softmax(), "the workload's output 0 is wrong"),
        (misbehaving.OverclaimingBackend, softmax(DataType.QASYMM_U8), "output 0 is wrong"),
        (misbehaving.SilentBackend, softmax(DataType.FLOAT16), "the refusal has no reason"),
        (misbehaving.FickleBackend, softmax(), "two equal calls differently"),
        (misbehaving.CredulousBackend, softmax(DataType.QSYMM_S8), "output 0 is wrong"),
        (misbehaving.SpoilingBackend, softmax(), "the step changed one of its inputs"),
        (misbehaving.OverrunningBackend, softmax(), "wrote past the ends of an output"),
        (fakes.NullBackend, softmax(), "the workload's output 0 is wrong"),
        (fakes.FailingBackend, softmax(), "BackendError: told to fail in create_workload"),
    ],
)
def test_what_is_claimed_or_refused_wrongly_is_caught(
    make_subject: MakeSubject, kind: type, bad: LayerCase, problem: str
) -> None:
    outcome = check_case(make_subject(kind), bad)
    assert outcome.result is CaseResult.FAILED
    assert problem in outcome.detail


def test_an_attribute_that_has_its_default_value_hides_that_it_is_ignored(
    make_subject: MakeSubject,
) -> None:
    assert check_case(make_subject(misbehaving.InattentiveBackend), softmax(axis=-1)) == Outcome(
        CaseResult.PASSED
    )


def test_an_answer_of_another_kind_is_caught(make_subject: MakeSubject) -> None:
    class BooleanBackend(misbehaving.SmallBackend):
        def supports(self, layer: Any, model: Any) -> Any:
            return True

    outcome = check_case(make_subject(BooleanBackend), softmax())
    assert "returned True from supports of layer" in outcome.detail
    assert "expected a Support" in outcome.detail


def test_a_result_that_changes_from_run_to_run_is_caught(make_subject: MakeSubject) -> None:
    class WearyBackend(misbehaving.SmallBackend):
        def create_workload(self, layer: Any, model: Any) -> Any:
            runs = iter([0.0] + [1.0] * 9)
            inner = misbehaving.SmallBackend()
            inner.functions = {"Addition": lambda _, x, y: x + y + next(runs)}  # type: ignore[misc]  # the fault of this subject
            return inner.create_workload(layer, model)

    outcome = check_case(make_subject(WearyBackend), addition())
    assert "the workload's second output 0 is wrong" in outcome.detail


def test_a_backend_with_memory_of_its_own_is_judged_on_tensors_there(
    make_subject: MakeSubject,
) -> None:
    class Device(DeviceBackend):
        def __init__(self) -> None:
            super().__init__("Device", misbehaving.SmallBackend())

    class WrongDevice(DeviceBackend):
        def __init__(self) -> None:
            super().__init__("Device", misbehaving.InaccurateBackend())

    assert check_case(make_subject(Device), softmax()).result is CaseResult.PASSED
    wrong = check_case(make_subject(WrongDevice), softmax())
    assert "the workload's output 0 is wrong" in wrong.detail


def test_a_layer_that_the_optimizer_rewrites_is_judged_by_its_workload(
    make_subject: MakeSubject,
) -> None:
    x = values(DataType.FLOAT32, (1, 4, 1), seed=1)
    # Only axes of size one move: the optimizer makes a Reshape of it, which the backend refuses.
    d = TransposeDescriptor(dim_mappings=(2, 0, 1))
    moved = case(DataType.FLOAT32, "size one", d, [x], x.real.transpose(2, 0, 1))
    assert check_case(make_subject(misbehaving.SmallBackend), moved).result is CaseResult.PASSED


def test_a_case_at_odds_with_the_shape_function_is_caught(make_subject: MakeSubject) -> None:
    x = values(DataType.FLOAT32, (2, 3))
    wrong = case(DataType.FLOAT32, "wrong", SoftmaxDescriptor(), [x], np.zeros((3, 2)))
    outcome = check_case(make_subject(misbehaving.SmallBackend), wrong)
    assert "expects the shape [3, 2], but the shape function of Softmax says" in outcome.detail


def test_an_output_whose_values_are_open_may_hold_anything(make_subject: MakeSubject) -> None:
    x = values(DataType.FLOAT32, (2, 3))
    d = SoftmaxDescriptor()
    anything = case(DataType.FLOAT32, "open", d, [x], np.zeros((2, 3)), open_outputs=[0])
    subject = make_subject(misbehaving.SmallBackend)
    assert check_case(subject, anything) == Outcome(CaseResult.PASSED)


def test_an_open_output_has_its_shape_and_the_others_their_values() -> None:
    x = values(DataType.FLOAT32, (2, 4), seed=1)
    d = TopKDescriptor(k=1)
    numbers, places = np.zeros((2, 1)), np.zeros((2, 1), np.int64)
    outputs = [None, DataType.SIGNED64]
    both = case(
        DataType.FLOAT32, "open", d, [x], (numbers, places), outputs=outputs, open_outputs=[0]
    )
    anything, right = np.full((2, 1), 7, np.float32), places.copy()
    compare([anything, right], both, "the")
    with pytest.raises(NonconformityError, match=r"the output 0 is wrong: shape \[2\], expected"):
        compare([anything[:, 0], right], both, "the")
    with pytest.raises(NonconformityError, match="the output 1 is wrong: 2 of 2 elements differ"):
        compare([anything, right + 1], both, "the")


class ForgetsNaN(misbehaving.SmallBackend):
    """Runs SmallBackend's layers, and reports that NaN may vanish."""

    @property
    def capabilities(self) -> dict[str, bool]:
        return {"PropagatesNaN": False}


def test_a_backend_may_say_that_nan_gets_lost(make_subject: MakeSubject) -> None:
    x = values(DataType.FLOAT32, (2, 3))
    expected = np.full((2, 3), np.nan)
    lost = case(DataType.FLOAT32, "NaN", SoftmaxDescriptor(), [x], expected)
    assert check_case(make_subject(ForgetsNaN), lost) == Outcome(
        CaseResult.NOT_SUPPORTED, "it expects NaN, and the backend says that PropagatesNaN is false"
    )
    assert check_case(make_subject(misbehaving.SmallBackend), lost).result is CaseResult.FAILED


def test_a_cell_is_as_bad_as_its_worst_case(make_subject: MakeSubject) -> None:
    good, bad = misbehaving.SmallBackend, misbehaving.InattentiveBackend
    assert check_cell(make_subject(good), "Softmax", DataType.FLOAT32).result is CaseResult.PASSED
    cell = check_cell(make_subject(bad), "Softmax", DataType.FLOAT32)
    assert cell.result is CaseResult.FAILED
    assert cell.details(CaseResult.PASSED)
    refused = check_cell(make_subject(good), "Softmax", DataType.FLOAT16)
    assert refused.result is CaseResult.NOT_SUPPORTED


def test_a_claimed_case_is_one_that_the_backend_claims(make_subject: MakeSubject) -> None:
    subject = make_subject(misbehaving.SmallBackend)
    found = claimed_case(subject, "Softmax")
    assert found is not None
    assert found.data_type is DataType.FLOAT32
    assert claimed_case(subject, "Floor") is None
