# SPDX-License-Identifier: MIT
"""The core's data classes beside those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from armnn import _dataclasses

NAMES = ("alpha", "beta", "gamma", "delta")
VALUES = st.one_of(st.integers(-3, 3), st.text(max_size=2), st.tuples(st.integers(0, 1)))
NONE = "no default"  # of a required field


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the fields, parameters and methods of a class."""
    keywords = draw(st.booleans())
    fields, optional = [], False
    for name in NAMES[: draw(st.integers(0, len(NAMES)))]:
        kinds = ["plain", "factory", "hidden", "incomparable", "computed"]
        if keywords or not optional:
            kinds.append(NONE)
        kind = draw(st.sampled_from(kinds))
        optional |= kind != NONE
        fields.append((name, kind, draw(VALUES)))
    return {
        "fields": fields,
        "eq": draw(st.booleans()),
        "frozen": draw(st.booleans()),
        "repr": draw(st.booleans()),
        "kw_only": keywords,
        "methods": draw(st.sets(st.sampled_from(["__repr__", "__eq__", "__hash__"]))),
        "post": draw(st.booleans()),
    }


def made(module: Any, drawn: dict[str, Any]) -> type[Any]:
    """Return the class that a module makes."""
    names = [name for name, _, _ in drawn["fields"]]
    namespace: dict[str, Any] = {
        "__module__": __name__,
        "__qualname__": "Drawn",
        "__doc__": "A class.",
        "__annotations__": {"shared": "ClassVar[int]", **dict.fromkeys(names, "object")},
        "shared": 5,
        "total": lambda self: len(names) + self.shared,
    }
    for name, kind, value in drawn["fields"]:
        if kind == "plain":
            namespace[name] = value
        elif kind == "factory":
            namespace[name] = module.field(default_factory=lambda: [1])
        elif kind == "hidden":
            namespace[name] = module.field(default=value, repr=False, metadata={"about": name})
        elif kind == "computed":
            namespace[name] = module.field(init=False, default=value)
        elif kind == "incomparable":
            namespace[name] = module.field(default=value, compare=False)
    own: dict[str, Callable[..., Any]] = {
        "__repr__": lambda self: "own",
        "__eq__": lambda self, other: True,
        "__hash__": lambda self: 7,
    }
    namespace.update({name: own[name] for name in sorted(drawn["methods"])})
    if drawn["post"]:
        namespace["__post_init__"] = lambda self: object.__setattr__(self, names[0], "post")
        if not names:
            namespace["__post_init__"] = lambda self: None
    parameters = {key: drawn[key] for key in ("eq", "frozen", "repr", "kw_only")}
    kind: type[Any] = module.dataclass(slots=True, **parameters)(type("Drawn", (), namespace))
    return kind


def outcome(act: Callable[[], Any]) -> tuple[Any, ...]:
    """Return a result, or an exception's type and text."""
    try:
        return ("result", act())
    except Exception as error:
        return type(error), str(error)


def values_of(instance: Any, names: list[str]) -> list[Any]:
    return [getattr(instance, name) for name in names]


@pytest.mark.parametrize("often", [_dataclasses._OFTEN, 0], ids=["first", "often"])
@given(definitions(), st.lists(VALUES, max_size=5), st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_a_class_behaves_as_one_of_the_standard_library(
    often: int, drawn: dict[str, Any], positional: list[Any], named: dict[str, Any]
) -> None:
    ours, theirs = made(_dataclasses, drawn), made(dataclasses, drawn)
    names = [name for name, _, _ in drawn["fields"]]

    def seen(kind: type[Any]) -> list[Any]:
        begun = outcome(lambda: kind(*positional, **named))
        if begun[0] != "result":
            return [begun]
        one, twin = begun[1], kind(*positional, **named)
        given = [name for name, kind, _ in drawn["fields"] if kind != "computed"]
        other = dataclasses.replace(one, **dict.fromkeys(given[-1:], "changed"))
        facts: list[Any] = [
            values_of(one, names),
            repr(one) if drawn["repr"] or "__repr__" in drawn["methods"] else None,
            one == twin if drawn["eq"] else one == one,
            one == other,
            one != "another kind",
            outcome(lambda: hash(one) == hash(twin) if drawn["eq"] else bool(hash(one))),
            values_of(other, names),
            outcome(lambda: dataclasses.asdict(one)),
            outcome(lambda: values_of(kind(), names)),
            outcome(lambda: kind(*positional, **named, unknown=1)),
            outcome(lambda: kind(*positional, *NAMES)) if len(positional) > 2 else None,
            values_of(copy.copy(one), names),
            values_of(copy.deepcopy(one), names),
            one.total(),
            hasattr(one, "__dict__"),
        ]
        for name in names:
            facts.append(outcome(lambda name=name: setattr(one, name, 9)))  # type: ignore[misc]  # a default of it
            facts.append(values_of(one, [name]))
            facts.append(outcome(lambda name=name: delattr(one, name)))  # type: ignore[misc]  # a default of it
        return facts

    with mock.patch.object(_dataclasses, "_OFTEN", often):
        assert seen(ours) == seen(theirs)


@given(definitions())
def test_a_class_describes_itself_as_one_of_the_standard_library(drawn: dict[str, Any]) -> None:
    def seen(kind: type[Any]) -> list[Any]:
        fields = [
            (each.name, each.type, each.default, each.repr, each.compare, each.init, each.kw_only)
            for each in dataclasses.fields(kind)
        ]
        parameters = kind.__dataclass_params__
        return [
            fields,
            [dict(each.metadata) for each in dataclasses.fields(kind)],
            dataclasses.is_dataclass(kind),
            (parameters.eq, parameters.frozen, parameters.repr, parameters.init, parameters.order),
            str(inspect.signature(kind)),
            kind.__match_args__,
            kind.__slots__,
            (kind.__name__, kind.__qualname__, kind.__module__, kind.__doc__),
            kind.__hash__ is None,
            kind.shared,
        ]

    assert seen(made(_dataclasses, drawn)) == seen(made(dataclasses, drawn))


@_dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """A point of the plane."""

    dimensions: ClassVar[int] = 2

    x: int
    y: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Named(Point):
    """A standard data class with a base of the core."""

    name: str = "origin"


@_dataclasses.dataclass(frozen=True, slots=True)
class Solid(Point):
    """A data class of the core on top of another."""

    y: int = 5
    z: int = 6


@_dataclasses.dataclass(slots=True)
class Node:
    """A class whose instances can hold themselves."""

    next: Any = None


class Labelled(Point):
    """A subclass with another initialiser."""

    def __init__(self, label: str) -> None:
        super().__init__(len(label), y=1)


def test_an_often_called_initialiser_is_compiled() -> None:
    assert Point(1) == Point(1, 0) == Point(x=1)
    slow = Point.__init__
    made = [Point(number, y=-number) for number in range(_dataclasses._OFTEN + 1)]
    assert Point.__init__ is not slow
    assert [(point.x, point.y) for point in made] == [(n, -n) for n in range(len(made))]
    assert Point(3) == Point(3, 0)
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required .*: 'x'"):
        Point()  # type: ignore[call-arg]  # the fault tested


def test_instances_are_pickled() -> None:
    node = Node()
    node.next = node
    assert repr(node) == "Node(next=...)"
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(Point(3, 4), protocol)) == Point(3, 4)
        again = pickle.loads(pickle.dumps(node, protocol))
        assert again.next is again


def test_a_class_can_be_derived_from() -> None:
    assert [each.name for each in dataclasses.fields(Named)] == ["x", "y", "name"]
    assert Named(1, 2, "a") == Named(1, name="a", y=2) != Point(1, 2)
    assert repr(Named(1)) == "Named(x=1, y=0, name='origin')"
    assert (Solid(1), Solid.__slots__) == (Solid(1, 5, z=6), ("z",))
    assert [each.name for each in dataclasses.fields(Solid)] == ["x", "y", "z"]
    assert dataclasses.replace(Solid(1), x=2) == Solid(2) != Point(2, 5)
    assert (Labelled("four").x, Labelled("four").y) == (4, 1)
    assert str(inspect.signature(Labelled)) == "(label: 'str') -> 'None'"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        Named(1).x = 2  # type: ignore[misc]  # frozen: tested


def test_a_match_statement_takes_it_apart() -> None:
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)


def test_other_attributes_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="'size'"):
        Point(1).size = 2  # type: ignore[attr-defined]  # no slot: tested
    with pytest.raises(AttributeError, match="'size'"):
        del Node().size  # type: ignore[attr-defined]  # no slot: tested


def test_wrong_definitions_are_refused() -> None:
    whole: Any = _dataclasses.dataclass(slots=True)
    with pytest.raises(ValueError, match="'x' can be changed"):
        whole(type("Wrong", (), {"__annotations__": {"x": "list"}, "x": []}))
    with pytest.raises(TypeError, match="'y' follows default argument 'x'"):
        whole(type("Wrong", (), {"__annotations__": {"x": "int", "y": "int"}, "x": 1}))
    with pytest.raises(TypeError, match="'x' is a field but has no type annotation"):
        whole(type("Wrong", (), {"x": _dataclasses.field(default=1)}))
    with pytest.raises(TypeError, match="the fields of 'Named' are of dataclasses"):
        whole(type("Wrong", (Named,), {}))
    with pytest.raises(ValueError, match="write slots=True"):
        _dataclasses.dataclass(slots=False)


def test_fields_and_replace_take_both_kinds() -> None:
    @dataclasses.dataclass
    class Standard:
        x: int = 1

    assert [each.name for each in _dataclasses.fields(Point(1))] == ["x", "y"]
    assert [each.name for each in _dataclasses.fields(Standard)] == ["x"]
    assert _dataclasses.replace(Point(1), y=5) == Point(1, 5)
    assert _dataclasses.replace(Standard(), x=5) == Standard(5)


def test_a_definition_does_not_import_the_standard_module() -> None:
    code = """if True:
        import sys
        from armnn._dataclasses import dataclass, replace

        @dataclass(frozen=True, slots=True)
        class Point:
            x: "int"
            y: "int" = 0

        assert replace(Point(1), y=2) == Point(1, 2)
        assert repr(Point(1)) == "Point(x=1, y=0)" and {Point(1): 2}[Point(1)] == 2
        assert "dataclasses" not in sys.modules
        """
    subprocess.run([sys.executable, "-c", code], check=True)
