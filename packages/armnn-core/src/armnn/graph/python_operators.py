# SPDX-License-Identifier: MIT
"""Operators that a program defines in Python.

A parser finds them by :func:`registered_operators`. For a node of one it adds a StandIn layer that
holds an :class:`OperatorCall`, which knows its outputs and computes them. The layer's hint names
:data:`PYTHON`, a backend that takes part in every network as long as operators are registered,
whatever backends the user names.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import closest, flag, refused, shown, text
from armnn.errors import (
    CancelledError,
    DeadlineExceededError,
    ExecutionError,
    InvalidArgumentError,
    ShapeError,
    UnknownNameError,
)
from armnn.tensor import TensorInfo, format_shape, info_of
from armnn_backend_api.processes.channel import text_of

PYTHON: Final = "Python"
"""The id of the backend that runs registered operators."""

Compute: TypeAlias = Callable[..., Any]
"""From one array per input and the attributes by name to the array of the output, or a tuple."""

Infer: TypeAlias = Callable[..., TensorInfo | Sequence[TensorInfo]]
"""From one info per input and the attributes by name to the info of the output, or a tuple."""

_Function = TypeVar("_Function", bound=Compute)

_lock = threading.RLock()
_registrations: dict[tuple[str, str], list[OperatorRegistration]] = {}


class OperatorRegistration:
    """A registered operator, as :func:`register_operator` returns it.

    Leaving it as a context undoes the registration. Without a function it decorates one.

    Attributes:
        domain: Whose operator it is.
        name: Its name.
        replaces: Whether it comes before other definitions of it.
        compute: Computes it.
        infer: Says what its outputs are; None without one.
    """

    def __init__(self, domain: str, name: str, infer: Infer | None, *, replaces: bool) -> None:
        self.domain = domain
        self.name = name
        self.replaces = replaces
        self.infer = infer
        self.compute: Compute | None = None

    def __call__(self, compute: _Function) -> _Function:
        """Register a function; return it unchanged.

        Raises:
            InvalidArgumentError: It cannot be called, or the name is taken.
        """
        if not callable(compute):
            raise refused(f"compute of the operator {self}", compute, "a function")
        with _lock:
            present = _registrations.setdefault((self.domain, self.name), [])
            kept = [each for each in present if each is not self]
            if not self.replaces:
                # The cell of a notebook that is run again registers the same name anew.
                kept = [each for each in kept if _origin_of(each.compute) != _origin_of(compute)]
            if kept and not self.replaces:
                raise InvalidArgumentError(
                    f"the operator {self} is registered already, as "
                    f"{_origin_of(kept[-1].compute)}: replace=True puts {_origin_of(compute)} in "
                    "its place until it is undone, unregister_operator() removes the first"
                )
            self.compute = compute
            present[:] = [*kept, self]
        return compute

    def undo(self) -> None:
        """Remove the registration; a replaced one counts again.

        Networks that are parsed stay as they are. Undoing twice does nothing.
        """
        with _lock:
            present = _registrations.get((self.domain, self.name), [])
            if self in present:
                present.remove(self)
            if not present:
                _registrations.pop((self.domain, self.name), None)

    def __enter__(self) -> OperatorRegistration:
        if self.compute is None:
            raise InvalidArgumentError(
                f"the operator {self} has no function yet: give register_operator() one as third "
                "argument, or write it as a decorator above the function"
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.undo()

    @property
    def origin(self) -> str:
        """The module and the name of the function."""
        return _origin_of(self.compute)

    def __str__(self) -> str:
        return f"{self.domain}::{self.name}"

    def __repr__(self) -> str:
        return f"<OperatorRegistration {self} {self.origin}>"


def register_operator(
    domain: str,
    name: str,
    compute: Compute | None = None,
    *,
    infer: Infer | None = None,
    replace: bool = False,
) -> OperatorRegistration:
    """Define an operator of model files by a function in Python.

    Models that are parsed afterwards may have it, whatever backends run their other layers. Three
    ways to write it::

        armnn.register_operator("my.domain", "Clamp", clamp)

        @armnn.register_operator("my.domain", "Clamp")
        def clamp(x, *, low=0.0, high=1.0):
            return np.clip(x, low, high)

        with armnn.register_operator("my.domain", "Clamp", clamp):
            ...  # undone at the end

    Args:
        domain: The domain of a node of ONNX; ``"tflite"`` for custom operators of TFLite.
        name: The operator's name there.
        compute: Takes one array per input, None for one that is left out, and the attributes as
            keyword arguments; returns the array of the output, or a tuple of one per output, of the
            types and shapes that ``infer`` said. The arrays it takes are read-only and change after
            it has returned. It is called by several threads at once if the model is. Left out, what
            is returned decorates such a function.
        infer: Takes one TensorInfo of known shape per input, None for one that is left out, and the
            attributes as keyword arguments; returns the TensorInfo of the output, or a tuple of one
            per output. It is called for each set of input shapes when the network is prepared.
            Without it, ``compute`` is called in its place, with zeros for inputs that are not
            constant.
        replace: Whether it may come before another registration of the name, and before what a
            parser itself makes of the operator.

    Raises:
        InvalidArgumentError: A name is none, or taken, or a function is none.
    """
    domain, name = text(domain, "the domain"), text(name, "the operator")
    if not name or not name.isprintable() or not domain.isprintable():
        raise refused("the operator", f"{domain}::{name}", "a domain and a name, such as my::Clamp")
    if infer is not None and not callable(infer):
        raise refused(f"infer of the operator {domain}::{name}", infer, "a function, or None")
    registration = OperatorRegistration(
        _owner(domain), name, infer, replaces=flag(replace, "replace")
    )
    if compute is not None:
        registration(compute)
    return registration


def unregister_operator(domain: str, name: str) -> None:
    """Remove the operator that :func:`register_operator` added under a name.

    Raises:
        UnknownNameError: Nothing is registered under it.
    """
    with _lock:
        if _registrations.pop((_owner(domain), name), None) is None:
            known = [f"{owner}::{operator}" for owner, operator in _registrations]
            meant = closest(f"{domain}::{name}", known)
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise UnknownNameError(
                f"no operator is registered as {shown(f'{domain}::{name}')}: registered are "
                f"{', '.join(known) or 'none'}{hint}"
            )


def registered_operators() -> Operators:
    """Return a function that finds the operators which are registered now.

    A parser that converts operators later, when shapes or data are known, finds the same ones.
    """
    with _lock:
        latest = {key: stack[-1] for key, stack in _registrations.items()}

    def find(domain: str, name: str) -> OperatorRegistration | None:
        return latest.get((_owner(domain), name)) if latest else None

    return find


Operators: TypeAlias = "Callable[[str, str], OperatorRegistration | None]"
"""From the domain and the name of an operator to its registration, None without one."""


def registered_names() -> tuple[str, ...]:
    """Return the registered names, sorted, a mark behind those that replace other definitions."""
    with _lock:
        latest = [stack[-1] for stack in _registrations.values()]
    return tuple(sorted(f"{each}{'!' if each.replaces else ''}" for each in latest))


class OperatorCall:
    """One node of a registered operator, which a StandIn layer holds.

    Attributes:
        operator: The operator as it was when the node was parsed.
        attributes: The node's attributes by name.
        present: Whether the node has each of its inputs; the layer reads these only.
    """

    __slots__ = ("attributes", "operator", "present")

    def __init__(
        self,
        operator: OperatorRegistration,
        attributes: Mapping[str, object],
        present: Sequence[bool],
    ) -> None:
        self.operator = operator
        self.attributes = MappingProxyType(dict(attributes))
        self.present = tuple(present)

    def __repr__(self) -> str:
        return f"the operator {self.operator} in Python"

    def check(self) -> None:
        """Check that the functions take these inputs and attributes.

        Raises:
            ShapeError: One does not.
        """
        for what, function in (("compute", self.operator.compute), ("infer", self.operator.infer)):
            if function is None:
                continue
            try:
                signature = inspect.signature(function)
            except (TypeError, ValueError):
                continue  # some functions in C have none
            try:
                signature.bind(*self.present, **self.attributes)
            except TypeError as error:
                raise ShapeError(
                    f"the operator {self.operator} is called with {len(self.present)} inputs and "
                    f"{_named(self.attributes)}, and {what} is {_origin_of(function)}{signature}: "
                    f"{error}"
                ) from error

    def outputs(
        self,
        infos: Sequence[TensorInfo | None],
        constants: Sequence[NDArray[Any] | None],
        count: int,
    ) -> list[TensorInfo]:
        """Return types and shapes of the outputs.

        Args:
            infos: The descriptions of the inputs, whose shapes are known.
            constants: The data of the inputs that are constant.
            count: How many outputs the node has.

        Raises:
            ShapeError: ``infer`` failed, or what it returned are not infos of known shape.
        """
        infer = self.operator.infer
        if infer is None:
            return self._tried(infos, constants, count)
        try:
            made: Any = infer(*infos, **self.attributes)
        except Exception as error:
            raise ShapeError(
                f"infer of the operator {self.operator} raised {_raised(error)} for "
                f"{_listed(infos)}"
            ) from error
        made = [made] if isinstance(made, TensorInfo) else made
        is_listed = isinstance(made, (list, tuple)) and len(made) >= count
        if not is_listed or not all(isinstance(info, TensorInfo) for info in made):
            raise ShapeError(
                f"infer of the operator {self.operator} returned {shown(made)}: expected "
                f"{_several('TensorInfo', count)}"
            )
        for info in made:
            if not info.is_static:
                raise ShapeError(
                    f"infer of the operator {self.operator} returned {shown(info)}: expected a "
                    "TensorInfo with all dimensions known; shapes that depend on data are not "
                    "supported"
                )
        return list(made[:count])

    def _tried(
        self,
        infos: Sequence[TensorInfo | None],
        constants: Sequence[NDArray[Any] | None],
        count: int,
    ) -> list[TensorInfo]:
        """Return types and shapes of the outputs for inputs of zeros."""
        arrays: list[NDArray[Any] | None] = []
        for info, constant in zip(infos, constants, strict=True):
            if info is None:
                arrays.append(None)
                continue
            array = (
                np.zeros(info.static_shape, info.data_type.numpy_dtype)
                if constant is None
                else constant.view()
            )
            array.flags.writeable = False
            arrays.append(array)
        try:
            made = self._computed(arrays, count)
            return [info_of(array) for array in made]
        except Exception as error:
            raise ShapeError(
                f"the operator {self.operator} has no infer, so compute was called with zeros to "
                f"learn what its outputs are, and failed: {text_of(error)}. "
                "register_operator(infer=...) gives it one"
            ) from error

    def _computed(self, arrays: Sequence[NDArray[Any] | None], count: int) -> list[NDArray[Any]]:
        """Return the outputs as arrays.

        Raises:
            ExecutionError: The function failed, or returned too few.
        """
        assert self.operator.compute is not None  # it is registered with one
        try:
            made = self.operator.compute(*arrays, **self.attributes)
            results = made if isinstance(made, (list, tuple)) else [made]
            converted = [np.asarray(each) for each in results]
        except (CancelledError, DeadlineExceededError):
            raise  # of raise_if_stopped()
        except Exception as error:
            given = [None if array is None else info_of(array) for array in arrays]
            raise ExecutionError(
                f"the operator {self.operator} raised {_raised(error)} for {_listed(given)}"
            ) from error
        if len(converted) < count:
            raise ExecutionError(
                f"the operator {self.operator} returned {_several('array', len(converted))}: "
                f"expected {count}"
            )
        return converted[:count]

    def bound(
        self,
        arrays: Iterable[NDArray[Any]],
        targets: Sequence[NDArray[Any]],
    ) -> Callable[[], None]:
        """Return the step that computes the operator from the present inputs into arrays."""
        left = iter(arrays)
        inputs = [next(left) if is_present else None for is_present in self.present]

        def step() -> None:
            results = self._computed(inputs, len(targets))
            for index, (result, target) in enumerate(zip(results, targets, strict=True)):
                if result.dtype != target.dtype or result.shape != target.shape:
                    raise ExecutionError(
                        f"the operator {self.operator} returned {_described(result)} as output "
                        f"{index}: expected {_described(target)}, as "
                        f"{'infer said' if self.operator.infer else 'it returned for zeros'}"
                    )
                np.copyto(target, result)

        return step


def _owner(domain: str) -> str:
    """Return the one spelling of a domain; ONNX's own has two."""
    return "" if domain == "ai.onnx" else domain


def _origin_of(function: object) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{getattr(function, '__module__', '')}:{name}"


def _raised(error: Exception) -> str:
    return f"{type(error).__name__}: {text_of(error)}"


def _several(noun: str, count: int) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _named(attributes: Mapping[str, object]) -> str:
    if not attributes:
        return "no attributes"
    return f"the attributes {', '.join(sorted(attributes))}"


def _described(array: NDArray[Any]) -> str:
    return f"{array.dtype} {format_shape(array.shape)}"


def _listed(infos: Sequence[TensorInfo | None]) -> str:
    described = ["nothing" if info is None else str(info) for info in infos]
    return f"the inputs {', '.join(described)}" if described else "no inputs"
