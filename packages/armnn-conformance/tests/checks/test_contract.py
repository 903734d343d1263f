# SPDX-License-Identifier: MIT
"""The level *loads*, and missing tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from armnn.backends import BackendContext, Support
from armnn.layers.elementwise import AdditionDescriptor
from armnn.types import DataType
from armnn_conformance.cases import case
from armnn_conformance.checks import contract
from armnn_conformance.operands import values
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from fakes import misbehaving

MakeSubject = Callable[[type], Subject]
Check = Callable[[Subject], None]

X = values(DataType.FLOAT32, (2, 3))
ADDITION = case(DataType.FLOAT32, "sum", AdditionDescriptor(), [X, X], 2 * X.real)


def with_members(**members: Any) -> type:
    return type("Odd", (misbehaving.SmallBackend,), members)


@pytest.mark.parametrize(
    "check",
    [
        contract.check_identity,
        contract.check_description,
        contract.check_extensions,
        contract.check_options,
        contract.check_unknown_layer,
        contract.check_future_items,
    ],
)
def test_a_good_backend_keeps_the_contract(make_subject: MakeSubject, check: Check) -> None:
    check(make_subject(misbehaving.SmallBackend))


def _raise(_self: object, _name: str) -> None:
    raise RuntimeError("no extensions")


@pytest.mark.parametrize(
    ("extension", "problem"),
    [
        (
            lambda _, name: name,
            r"extension\('armnn.async/1'\) is 'armnn.async/1': expected an Async",
        ),
        (
            lambda _, name: 1 if "no_such" in name else None,
            r"is 1: expected None, as no extension",
        ),
        (_raise, r"extension\('armnn.async/1'\) failed: no extensions"),
    ],
)
def test_a_wrong_answer_about_an_extension_is_caught(
    make_subject: MakeSubject, extension: Any, problem: str
) -> None:
    with pytest.raises(NonconformityError, match=problem):
        contract.check_extensions(make_subject(with_members(extension=extension)))


def _fail(_self: object, _options: object) -> None:
    raise OSError("no such option")


@pytest.mark.parametrize(
    ("create_context", "problem"),
    [
        (lambda _, options: None, r"create_context\(\) accepts the option 'NoSuchOption', which"),
        (lambda _, options: BackendContext(), "accepts the option 'NoSuchOption'"),
        (_fail, "failed with OSError on an unknown option: expected Inv.*, got no such option"),
    ],
)
def test_a_backend_that_takes_any_option_is_caught(
    make_subject: MakeSubject, create_context: Any, problem: str
) -> None:
    with pytest.raises(NonconformityError, match=problem):
        contract.check_options(make_subject(with_members(create_context=create_context)))


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (misbehaving.CrashingBackend, "supports\\(\\) failed on an unknown layer type"),
        (misbehaving.CredulousBackend, "claims a layer type that does not exist"),
        (misbehaving.SilentBackend, "the refusal has no reason"),
    ],
)
def test_a_wrong_answer_about_an_unknown_layer_is_caught(
    make_subject: MakeSubject, kind: type, problem: str
) -> None:
    with pytest.raises(NonconformityError, match=problem):
        contract.check_unknown_layer(make_subject(kind))


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"score": lambda self: -1}, "score\\(\\) is -1: expected an integer of at least 0"),
        ({"score": lambda self: "high"}, "score\\(\\) is 'high'"),
        ({"capabilities": {"Fast": [1]}}, "capabilities is {'Fast': \\[1\\]}: expected names with"),
        ({"capabilities": {1: True}}, "expected names with"),
        ({"handle_factory_preferences": ("odd.memory",)}, "'odd.memory', which the backend does"),
    ],
)
def test_a_wrong_description_is_caught(
    make_subject: MakeSubject, members: dict[str, Any], problem: str
) -> None:
    subject = make_subject(with_members(**members))
    with pytest.raises(NonconformityError, match=problem):
        contract.check_description(subject)


@pytest.mark.parametrize(
    ("attribute", "value", "problem"),
    [
        ("id", "two words", "the id is 'two words': expected letters and digits"),
        ("id", 7, "the id is 7"),
        ("id", "Unknown", "the id is 'Unknown': expected another id, as 'Unknown' names no"),
        ("api_version", (1, 0), "api_version is \\(1, 0\\): expected a BackendVersion up to"),
    ],
)
def test_a_wrong_identity_is_caught(
    make_subject: MakeSubject, attribute: str, value: object, problem: str
) -> None:
    subject = make_subject(misbehaving.SmallBackend)
    setattr(subject.backend, attribute, value)  # the registry would not let it come this far
    with pytest.raises(NonconformityError, match=problem):
        contract.check_identity(subject)


def test_younger_layers_must_not_reach_a_backend(make_subject: MakeSubject) -> None:
    subject = make_subject(misbehaving.CredulousBackend)
    contract.check_future_items(subject)  # the host refuses on behalf of the credulous
    subject.supports = lambda layer: Support(True)  # type: ignore[method-assign]  # the fault of this subject
    with pytest.raises(NonconformityError, match=r"younger than Backend API .* was offered"):
        contract.check_future_items(subject)


def test_missing_tensors_must_be_noticed(make_subject: MakeSubject) -> None:
    contract.check_handle_counts(make_subject(misbehaving.SmallBackend), ADDITION)
    with pytest.raises(NonconformityError, match="that was given no inputs did not fail"):
        contract.check_handle_counts(make_subject(misbehaving.NegligentBackend), ADDITION)
