# SPDX-License-Identifier: MIT
"""Data classes whose methods are not compiled at import.

``dataclasses.dataclass`` compiles six methods of each class, which takes half a millisecond: a
process that loads a prepared model spent a third of its time on that. Here the methods are
closures over the names of the fields; an ``__init__`` that is called often is compiled alone. What
else the standard library gives a data class (fields, signature, messages) is taken from a standard
one, made at its first use.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar

_T = TypeVar("_T")

_OFTEN = 200
"""How many instances have to be made until compiling ``__init__`` takes less time."""

_MISSING: Any = object()


class _Field:
    """A field, as declared.

    Attributes:
        is_argument: Whether ``__init__`` takes it.
        is_positional: Whether ``__init__`` takes it by position.
        has_default: Whether it has a default.
    """

    __slots__ = (
        "default",
        "factory",
        "has_default",
        "is_argument",
        "is_positional",
        "keyword",
        "name",
        "options",
        "type",
    )

    def __init__(self, default: Any = _MISSING, factory: Any = _MISSING, **options: Any) -> None:
        self.default, self.factory, self.options = default, factory, options
        self.is_argument = bool(options.get("init", True)) if options else True
        self.has_default = default is not _MISSING or factory is not _MISSING
        self.declare("", "", keyword=False)

    def declare(self, name: str, kind: str, *, keyword: bool) -> None:
        """Note how a class declares it."""
        self.name, self.type, self.keyword = name, kind, keyword
        self.is_positional = self.is_argument and not keyword

    @property
    def metadata(self) -> Any:
        """What was declared beside it."""
        return self.options.get("metadata") or {}


def _field(
    *,
    default: Any = _MISSING,
    default_factory: Any = _MISSING,
    init: bool = True,
    repr: bool = True,  # the name of dataclasses.field
    compare: bool = True,
    metadata: Any = None,
) -> Any:
    """Declare a field, as ``dataclasses.field`` does."""
    return _Field(
        default, default_factory, init=init, repr=repr, compare=compare, metadata=metadata
    )


class _Plan:
    """The fields of a class and a standard counterpart.

    Attributes:
        fields: By name.
        names: Of the fields.
        positional: The names of those that ``__init__`` takes by position.
    """

    __slots__ = ("_made", "_parameters", "fields", "kind", "names", "positional")

    def __init__(self, fields: dict[str, _Field], parameters: dict[str, bool]) -> None:
        self.fields, self.names = fields, tuple(fields)
        self.positional = tuple([name for name, each in fields.items() if each.is_positional])
        self.kind: type[Any] = object
        self._parameters = parameters
        self._made: type[Any] | None = None

    def standard(self) -> type[Any]:
        """Return a standard data class with these fields."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def _make(self) -> Any:
        import dataclasses  # late, as few processes need it

        kind = self.kind
        namespace: dict[str, Any] = {
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "__doc__": kind.__doc__,
            "__annotations__": {name: each.type for name, each in self.fields.items()},
        }
        if hasattr(kind, "__post_init__"):
            namespace["__post_init__"] = kind.__post_init__
        for name, each in self.fields.items():
            given = {"default": each.default, "default_factory": each.factory}
            namespace[name] = dataclasses.field(
                **{key: value for key, value in given.items() if value is not _MISSING},
                **each.options,
                kw_only=each.keyword,
            )
        return dataclasses.dataclass(**self._parameters)(type(kind.__name__, (), namespace))


class _FromStandard:
    """An attribute that the standard counterpart has."""

    __slots__ = ("_name", "plan")

    def __init__(self, plan: _Plan, name: str) -> None:
        self.plan, self._name = plan, name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        return getattr(self.plan.standard(), self._name)


class _Signature:
    """The signature of a class without another initialiser."""

    __slots__ = ("_plan",)

    def __init__(self, plan: _Plan) -> None:
        self._plan = plan

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        if instance is not None or owner.__init__ is not self._plan.kind.__init__:
            raise AttributeError("__signature__")
        from inspect import signature

        return signature(self._plan.standard())


def _dataclass(
    *,
    init: bool = True,
    repr: bool = True,  # the names of dataclasses.dataclass
    eq: bool = True,
    frozen: bool = False,
    kw_only: bool = False,
    slots: bool,
) -> Callable[[type[_T]], type[_T]]:
    """Return what makes a class a data class with slots.

    It behaves as one of ``dataclasses.dataclass``, and that module's functions take it.

    Raises:
        TypeError: A required field follows one with a default, a field has no annotation, or a
            base is a data class of the standard library.
        ValueError: A default can be changed, or there are to be no slots.
    """
    if not slots:
        raise ValueError("data classes of the core have slots: write slots=True")
    parameters = {"init": init, "repr": repr, "eq": eq, "frozen": frozen, "slots": True}

    def made(cls: type[_T]) -> type[_T]:
        plan = _Plan(_fields_of(cls, kw_only), parameters)
        methods: dict[str, Any] = {}
        if init:
            methods["__init__"] = _initialiser(plan, hasattr(cls, "__post_init__"), frozen)
        if repr:
            methods["__repr__"] = _representation(plan)
        if eq:
            methods["__eq__"], hashed = _comparison(plan)
            if frozen and cls.__dict__.get("__hash__") is None:
                methods["__hash__"] = hashed
        if frozen:
            methods.update(_refusals(plan))
            methods.update(_states(plan))
        return _with_slots(cls, plan, methods)

    return made


def _fields_of(cls: type[Any], kw_only: bool) -> dict[str, _Field]:
    """Return the fields of a class and its bases."""
    fields: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited = base.__dict__.get("__dataclass_fields__")
        if isinstance(inherited, _FromStandard):
            fields.update(inherited.plan.fields)
        elif inherited is not None:
            raise TypeError(f"the fields of {base.__name__!r} are of dataclasses: use that module")
    declared = cls.__annotations__  # its own, not those of a base
    for name, kind in declared.items():
        if kind.startswith("ClassVar"):
            continue
        default = cls.__dict__.get(name, _MISSING)
        each = default if isinstance(default, _Field) else _Field(default)
        each.declare(name, kind, keyword=kw_only)
        if each.default is not _MISSING and type(each.default).__hash__ is None:
            raise ValueError(f"the default of {name!r} can be changed: use default_factory")
        fields[name] = each
    for name, value in cls.__dict__.items():
        if isinstance(value, _Field) and name not in declared:
            raise TypeError(f"{name!r} is a field but has no type annotation")
    optional = ""
    for name, each in fields.items():
        if not each.is_positional:
            continue
        if each.has_default:
            optional = name
        elif optional:
            raise TypeError(f"non-default argument {name!r} follows default argument {optional!r}")
    return fields


def _initialiser(plan: _Plan, has_post_init: bool, frozen: bool) -> Callable[..., None]:
    """Return an ``__init__``; many calls replace it.

    It leaves calls with wrong arguments to a standard one, which has Python's own messages.
    """
    positional = plan.positional
    arguments = {name: each for name, each in plan.fields.items() if each.is_argument}
    required = {name for name, each in arguments.items() if not each.has_default}
    known = arguments.keys()
    defaults = tuple(
        (name, each.default, each.factory)
        for name, each in plan.fields.items()
        if each.is_argument or each.has_default
    )
    names, most = [name for name, _, _ in defaults], len(positional)
    is_ordered = names[:most] == [*positional] and required <= set(positional)
    least = len(required) if is_ordered else most + 1  # then no call is of values alone
    assign = object.__setattr__ if frozen else setattr
    calls = 0

    def initialise(self: Any, /, *values: Any, **named: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > _OFTEN and plan.kind.__init__ is initialise:
            plan.kind.__init__ = _compiled_initialiser(plan, has_post_init, frozen)
        if not named and least <= len(values) <= most:  # as mostly, in half of the time
            for name, value in zip(names, values, strict=False):
                assign(self, name, value)
            for name, default, factory in defaults[len(values) :]:
                assign(self, name, default if factory is _MISSING else factory())
            if has_post_init:
                self.__post_init__()
            return
        given = dict(zip(positional, values, strict=False))
        repeated = named and not given.keys().isdisjoint(named)
        given.update(named)
        if repeated or len(values) > len(positional) or not required <= given.keys() <= known:
            plan.standard().__init__(self, *values, **named)
            return
        for name, default, factory in defaults:
            if name in given:
                assign(self, name, given[name])
            else:
                assign(self, name, default if factory is _MISSING else factory())
        if has_post_init:
            self.__post_init__()

    return initialise


def _compiled_initialiser(plan: _Plan, has_post_init: bool, frozen: bool) -> Callable[..., None]:
    """Return an ``__init__`` of one statement per field."""
    scope: dict[str, Any] = {"_assign": object.__setattr__, "_missing": _MISSING}
    arguments, keywords, lines = ["self"], ["*"], []
    for name, each in plan.fields.items():
        has_factory = each.factory is not _MISSING
        scope[f"_of_{name}"] = each.factory if has_factory else each.default
        default = f"_of_{name}()" if has_factory else f"_of_{name}"
        value = f"{default} if {name} is _missing else {name}" if has_factory else name
        if each.is_argument:
            ending = f"={'_missing' if has_factory else default}" if each.has_default else ""
            (keywords if each.keyword else arguments).append(f"{name}{ending}")
        elif each.has_default:
            value = default
        else:
            continue
        lines.append(f"_assign(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    arguments += keywords if len(keywords) > 1 else ()
    lines.append("self.__post_init__()" if has_post_init else "pass")
    exec(f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines), scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__ = f"{plan.kind.__qualname__}.__init__"
    return made


def _values_of(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function from an instance to attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _representation(plan: _Plan) -> Callable[[Any], str]:
    names = [name for name, each in plan.fields.items() if each.options.get("repr", True)]

    @recursive_repr("...")
    def represent(self: Any) -> str:
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({shown})"

    return represent


def _comparison(plan: _Plan) -> tuple[Callable[[Any, object], Any], Callable[[Any], int]]:
    """Return ``__eq__`` and ``__hash__``."""
    fields = plan.fields.items()
    values = _values_of([name for name, each in fields if each.options.get("compare", True)])

    def equals(self: Any, other: object) -> Any:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    def hashed(self: Any) -> int:
        return hash(values(self))

    return equals, hashed


def _refusals(plan: _Plan) -> dict[str, Any]:
    """Return the ``__setattr__`` and ``__delattr__`` of a frozen class."""

    def refuse(verb: str, name: str) -> None:
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot {verb} field {name!r}")

    def assign(self: Any, name: str, value: object) -> None:
        if name in plan.fields or type(self) is plan.kind:
            refuse("assign to", name)
        super(plan.kind, self).__setattr__(name, value)

    def delete(self: Any, name: str) -> None:
        if name in plan.fields or type(self) is plan.kind:
            refuse("delete", name)
        super(plan.kind, self).__delattr__(name)

    return {"__setattr__": assign, "__delattr__": delete}


def _states(plan: _Plan) -> dict[str, Any]:
    """Return what pickles instances that refuse assignments."""

    def state_of(self: Any) -> list[Any]:
        return [getattr(self, name) for name in plan.names]

    def restore(self: Any, state: list[Any]) -> None:
        for name, value in zip(plan.names, state, strict=True):
            object.__setattr__(self, name, value)

    return {"__getstate__": state_of, "__setstate__": restore}


def _with_slots(cls: type[Any], plan: _Plan, methods: dict[str, Any]) -> type[Any]:
    """Return the class again, with slots and methods."""
    namespace = {name: value for name, value in cls.__dict__.items() if name not in plan.fields}
    for name in ("__dict__", "__weakref__"):
        namespace.pop(name, None)
    bases = cls.__mro__[1:-1]
    inherited = {name for base in bases for name in base.__dict__.get("__slots__", ())}
    namespace["__slots__"] = tuple([name for name in plan.names if name not in inherited])
    for name, method in methods.items():
        if name == "__hash__" or name not in namespace:
            method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
            namespace[name] = method
    if "__init__" in methods and namespace["__init__"] is methods["__init__"]:
        namespace["__signature__"] = _Signature(plan)
    namespace.setdefault("__match_args__", plan.positional)
    namespace["__dataclass_fields__"] = _FromStandard(plan, "__dataclass_fields__")
    namespace["__dataclass_params__"] = _FromStandard(plan, "__dataclass_params__")
    metaclass: Any = type(cls)
    made: type[Any] = metaclass(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    plan.kind = made
    return made


def _plan_of(kind: type[Any]) -> _Plan | None:
    """Return the plan of a class made here."""
    made = kind.__dict__.get("__dataclass_fields__")
    return made.plan if isinstance(made, _FromStandard) else None


def _fields(kind: Any) -> tuple[Any, ...]:
    """Return the fields of a data class or an instance."""
    plan = _plan_of(kind if isinstance(kind, type) else type(kind))
    if plan is not None:
        return tuple(plan.fields.values())
    from dataclasses import fields as listed

    return listed(kind)


def _replace(instance: Any, **changes: Any) -> Any:
    """Return an instance with other values of some fields."""
    plan = _plan_of(type(instance))
    if plan is not None:
        given = [name for name, each in plan.fields.items() if each.is_argument]
        values = {name: getattr(instance, name) for name in given}
        return type(instance)(**{**values, **changes})
    from dataclasses import replace as replaced

    return replaced(instance, **changes)


if TYPE_CHECKING:  # they behave as the standard library's, and are checked as these
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import replace as replace
else:
    dataclass, field, fields, replace = _dataclass, _field, _fields, _replace
