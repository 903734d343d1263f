# SPDX-License-Identifier: MIT
"""Guarded calls of backends in Python: errors are named and answers checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from armnn.arguments import shown
from armnn.backends.cache import Program
from armnn.backends.contract import (
    BackendContext,
    Event,
    ModelContext,
    OptimizationViews,
    ProfilingContext,
    SubgraphView,
    Substitution,
    Support,
    Workload,
    wrong_views,
)
from armnn.backends.extensions import KINDS, SharedBuffer, Task
from armnn.backends.memory import Allocator, MemoryManager, TensorHandle
from armnn.errors import ArmnnError, BackendError, OptimizationError
from armnn.tensor import TensorInfo
from armnn_backend_api.processes.channel import text_of

if TYPE_CHECKING:
    from armnn.graph import Layer, Value

__all__ = [
    "RETURNS",
    "About",
    "Frames",
    "Returns",
    "attempt",
    "blame",
    "blamed",
    "call",
    "check_answer",
    "check_views",
    "explained",
    "is_blamed",
]


_Function = TypeVar("_Function", bound=Callable[..., Any])


class Frames:
    """Whether calls of backends get frames with their name.

    Attributes:
        are_named: True while :mod:`armnn.backends.crashes` keeps a note of this process.
    """

    are_named = False


def blamed(function: _Function, backend_id: str, doing: str) -> _Function:
    """Return a function with the backend's name in its frame.

    Args:
        function: Calls the backend.
        backend_id: The backend.
        doing: Its task, such as the name of a layer.
    """
    if not Frames.are_named:
        return function
    code = _template.__code__.replace(
        co_filename=f"<backend {backend_id}>", co_name=repr(doing), co_qualname=repr(doing)
    )
    return cast("_Function", FunctionType(code, {"function": function}))


def _template(*arguments: Any) -> Any:
    return function(*arguments)  # noqa: F821  # a global of each copy


class _Layer(Protocol):
    """A layer of a network, or its name and type in a network that is one program."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...


About: TypeAlias = "_Layer | str | None"
"""The subject of a call: a layer, a text such as "tensor 'x'", or nothing but the backend."""


def call(backend_id: str, owner: object, method: str, *arguments: Any, about: About = None) -> Any:
    """Call a method of a backend, or read a property, and check what it returns.

    Args:
        backend_id: The backend.
        owner: The backend itself, or an object that it made.
        method: The name of the method or property.
        arguments: The arguments of the method.
        about: The subject of the call, for messages.

    Raises:
        BackendError: It returned something of another type than the contract says
            (OptimizationError: ``optimize_subgraph`` did).
        Exception: It raised that, which has a note now; see :func:`blame`.
    """
    answer = attempt(backend_id, owner, method, *arguments, about=about)
    check_answer(backend_id, method, answer, arguments, about)
    return answer


def attempt(
    backend_id: str, owner: object, method: str, *arguments: Any, about: About = None
) -> Any:
    """Call a method of a backend as :func:`call` does, but do not check what it returns.

    Raises:
        Exception: The backend raised that, which has a note now; see :func:`blame`.
    """
    try:
        found = getattr(owner, method)
        if method in _PROPERTIES:
            return found
        doing = method if about is None or isinstance(about, str) else about.name
        return blamed(found, backend_id, doing)(*arguments)
    except Exception as error:
        blame(error, backend_id, method, about)
        raise


def blame(error: Exception, backend_id: str, method: str, about: About = None) -> None:
    """Add a note to an error of a backend: what raised it. The error keeps its type.

    Args:
        error: The error that the backend raised.
        backend_id: The backend.
        method: The method.
        about: The subject of the call.
    """
    note = f"{_RAISED_BY}{method}{_of(about)} of backend {backend_id!r}"
    if note not in _notes(error):  # a backend may raise one object again and again
        error.add_note(note)


def is_blamed(error: BaseException) -> bool:
    """Return whether an error is a backend's own, with a note of :func:`blame`."""
    return any(note.startswith(_RAISED_BY) for note in _notes(error))


def explained(error: BaseException) -> str:
    """Return the text of an error for a message of the host.

    Of an error of a backend it has the note, and the type where that is not one of armnn.
    """
    text = text_of(error)
    notes = [note for note in _notes(error) if note.startswith(_RAISED_BY)]
    if not notes:
        return text
    kind = "" if isinstance(error, ArmnnError) else f"{type(error).__name__}: "
    return f"{kind}{text} ({'; '.join(notes)})"


def _notes(error: BaseException) -> Sequence[str]:
    notes: Sequence[str] = getattr(error, "__notes__", ())
    return notes


_RAISED_BY: Final = "raised by "


def check_answer(
    backend_id: str,
    method: str,
    answer: object,
    arguments: Sequence[Any] = (),
    about: About = None,
) -> None:
    """Check what a method of a backend returned.

    Raises:
        BackendError: It is of another type than the contract says (OptimizationError: of
            ``optimize_subgraph``).
    """
    returns = RETURNS.get(method)
    if returns is None:
        return
    got = returns.wrong(answer, arguments)
    if got is not None:
        kind = OptimizationError if method == "optimize_subgraph" else BackendError
        raise kind(
            f"backend {backend_id!r} returned {got} from {method}{_of(about)}: expected "
            f"{returns.expected}"
        )


def check_views(backend_id: str, view: SubgraphView, views: OptimizationViews) -> None:
    """Check a backend's views: each layer once, replacements that fit, a network without cycles.

    Counterpart of Arm NN's Validate.

    Raises:
        OptimizationError: They cannot be carried out.
    """
    subgraphs = [*(s.pattern for s in views.substitutions), *views.failed, *views.untouched]
    given = dict.fromkeys(view.layers)
    seen: dict[Layer, None] = {}
    for subgraph in [*subgraphs, *views.deleted]:
        for layer in subgraph.layers:
            problem = (
                "is not in the subgraph"
                if layer not in given
                else "is in two of the lists"
                if layer in seen
                else ""
            )
            if problem:
                raise OptimizationError(
                    f"backend {backend_id!r} returned optimization views that do not fit: layer "
                    f"{layer.name!r} {problem}"
                )
            seen[layer] = None
    for substitution in views.substitutions:
        _check_substitution(backend_id, substitution)
    for subgraph in views.deleted:
        for index, value in enumerate(subgraph.outputs):
            if index >= len(subgraph.inputs) or subgraph.inputs[index].info != value.info:
                raise OptimizationError(
                    f"backend {backend_id!r} deleted layer {value.producer.name!r}, but its "
                    f"output {value.info} is read and the subgraph has no such input to replace it"
                )
    taken = [*(each.pattern for each in views.substitutions), *views.deleted]
    problem = _problem_of_outputs(taken) or _problem_of_order(view, views, taken)
    if problem:
        raise OptimizationError(
            f"backend {backend_id!r} returned optimization views that do not fit: {problem}"
        )


def _problem_of_outputs(subgraphs: Sequence[SubgraphView]) -> str:
    """Return which subgraph's outputs are wrong, in the order in which subgraphs go, or nothing."""
    gone: set[Layer] = set()
    for subgraph in subgraphs:
        own, given = set(subgraph.layers), set(subgraph.outputs)
        gone |= own
        for value in subgraph.outputs:
            if value.producer not in own:
                return f"an output of a subgraph is of layer {value.producer.name!r} outside of it"
        for layer in subgraph.layers:
            own.remove(layer)
            if any(value is not None and value.producer in own for value in layer.inputs):
                return f"layer {layer.name!r} is listed before a layer that it reads"
        for value in (value for layer in subgraph.layers for value in layer.outputs):
            readers = [reader.name for reader, _ in value.uses if reader not in gone]
            if readers and value not in given:
                return (
                    f"layer {value.producer.name!r} is replaced or deleted, but {readers[0]!r} "
                    "reads it and it is not among the outputs of its subgraph"
                )
    return ""


def _problem_of_order(
    view: SubgraphView, views: OptimizationViews, taken: Sequence[SubgraphView]
) -> str:
    """Return the fault of a changed network that cannot be computed, or "".

    Nodes are layers and values; values at the border of a subgraph wait for what replaces them. A
    subgraph as one node would have cycles where it holds independent layers.
    """
    if not taken:
        return ""
    from graphlib import CycleError, TopologicalSorter  # late: most views take nothing

    from armnn.graph import Value  # late: a prepared load does without

    gone = {layer for subgraph in taken for layer in subgraph.layers}
    waits: dict[Layer | Value, list[Layer | Value]] = {}
    for layer in view.layers:
        if layer not in gone:
            waits[layer] = [value for value in layer.inputs if value is not None]
            waits.update({value: [layer] for value in layer.outputs})
    for subgraph in views.deleted:
        waits.update(
            {old: [new] for old, new in zip(subgraph.outputs, subgraph.inputs, strict=False)}
        )
    for each in views.substitutions:
        for layer in each.replacement.layers:
            waits[layer] = [value.producer for value in layer.inputs if value is not None]
        read = zip(each.replacement.inputs, each.pattern.inputs, strict=True)
        waits.update({layer: [value] for layer, value in read if layer.is_read})
        made = zip(each.pattern.outputs, each.replacement.outputs, strict=True)
        waits.update({value: [layer] for value, layer in made})
    for awaited in waits.values():
        for node in awaited:
            if node not in waits and isinstance(node, Value) and node.producer in gone:
                return f"a subgraph reads layer {node.producer.name!r}, which is replaced"
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        names = [node.name for node in error.args[1]]
        return f"{names} would wait for each other"
    return ""


def _check_substitution(backend_id: str, substitution: Substitution) -> None:
    pattern, replacement = substitution.pattern, substitution.replacement
    for what, ours, theirs in (
        (
            "inputs",
            [value.info for value in pattern.inputs],
            [layer.output.info for layer in replacement.inputs],
        ),
        (
            "outputs",
            [value.info for value in pattern.outputs],
            [layer.input_infos[0] for layer in replacement.outputs],
        ),
    ):
        if ours == theirs:
            continue  # as most are: texts take longer than all else here
        wanted, got = [str(info) for info in ours], [str(info) for info in theirs]
        if wanted != got:
            raise OptimizationError(
                f"the replacement of layer {pattern.layers[0].name!r} by backend {backend_id!r} "
                f"does not fit: got {what} {got}, expected {wanted}"
            )


def _of(about: About) -> str:
    if about is None:
        return ""
    return f" of {about}" if isinstance(about, str) else f" of layer {about.name!r} ({about.type})"


class Returns(NamedTuple):
    """The return values that a method of the contract may have.

    Attributes:
        expected: The words for it.
        wrong: Returns the words for an answer that is something else, None for a right one. It gets
            the arguments of the call, too.
    """

    expected: str
    wrong: Callable[[Any, Sequence[Any]], str | None]


def _instance(expected: str, *kinds: type[Any]) -> Returns:
    return Returns(expected, lambda answer, _: None if isinstance(answer, kinds) else shown(answer))


def _whole_number(answer: Any, _: Sequence[Any]) -> str | None:
    fits = isinstance(answer, (int, np.integer)) and not isinstance(answer, bool)
    return None if fits else shown(answer)


def _size(answer: Any, _: Sequence[Any]) -> str | None:
    return _whole_number(answer, _) or (None if answer >= 0 else shown(answer))


def _answers(answer: Any, arguments: Sequence[Any]) -> str | None:
    """Return the words for a fault in the answers to ``query``."""
    layers = arguments[0].layers
    if not isinstance(answer, Collection) or isinstance(answer, (str, bytes, Mapping)):
        return shown(answer)
    if len(answer) != len(layers):
        return f"{len(answer)} answers about {len(layers)} layers"
    for layer, each in zip(layers, answer, strict=True):
        if not isinstance(each, Support):
            return f"{shown(each)} for layer {layer.name!r} ({layer.type})"
    return None


def _views(views: Any, _: Sequence[Any]) -> str | None:
    return wrong_views(views)


def _names(answer: Any, _: Sequence[Any]) -> str | None:
    if isinstance(answer, str) or not isinstance(answer, Sequence):
        return shown(answer)
    wrong = [each for each in answer if not isinstance(each, str)]
    return f"{shown(wrong[0])} in {shown(answer)}" if wrong else None


def _places(answer: Any, _: Sequence[Any]) -> str | None:
    if isinstance(answer, (str, bytes)) or not isinstance(answer, Collection):
        return shown(answer)
    wrong = [each for each in answer if _size(each, _)]
    return f"{shown(wrong[0])} in {shown(answer)}" if wrong else None


def _stated(answer: Any, _: Sequence[Any]) -> str | None:
    """Return the words for a fault in capabilities."""
    if not isinstance(answer, Mapping):
        return shown(answer)
    for name, value in answer.items():
        if not isinstance(name, str) or not isinstance(value, (bool, int, float, str)):
            return f"{shown(value)} for {shown(name)}"
    return None


def _extension(answer: Any, arguments: Sequence[Any]) -> str | None:
    kind = KINDS.get(arguments[0])
    fits = answer is None or kind is None or isinstance(answer, kind)
    return None if fits else f"{shown(answer)} for {arguments[0]!r}"


def _handle(answer: Any, _: Sequence[Any]) -> str | None:
    if not isinstance(answer, TensorHandle):
        return shown(answer)
    info = getattr(answer, "info", None)
    return None if isinstance(info, TensorInfo) else f"a handle with {shown(info)} as info"


def _step(answer: Any, _: Sequence[Any]) -> str | None:
    if not callable(answer):
        return shown(answer)
    code = getattr(getattr(answer, "__func__", answer), "__code__", None)
    is_plain = code is None or not code.co_flags & _NEVER_RUN
    return None if is_plain else "a generator or a coroutine function, whose call runs nothing"


_NEVER_RUN: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
"""Functions that return a generator or a coroutine when they are called."""

_STEP: Final = Returns(
    "a step: a function without parameters that runs the layer (what it returns is ignored)", _step
)
_SUPPORT: Final = _instance("a Support: Support(True), or Support.no(reason)", Support)
_WORKLOAD: Final = _instance("a Workload", Workload)
_PLACES: Final = Returns("a collection of places, whole numbers from 0", _places)
_IMPORTED: Final = Returns(
    "a TensorHandle with a TensorInfo as info, or None",
    lambda answer, _: None if answer is None else _handle(answer, _),
)

RETURNS: Final[Mapping[str, Returns]] = {
    "accepts_allocator": _SUPPORT,
    "bind": _STEP,
    "bind_in": _STEP,
    "bind_with_scratch": _STEP,
    "cached_program": _instance("a Program", Program),
    "capabilities": Returns(
        "a mapping of names to Booleans, numbers or texts, from a property", _stated
    ),
    "create": Returns("a TensorHandle with a TensorInfo as info", _handle),
    "create_in": Returns("a TensorHandle with a TensorInfo as info", _handle),
    "create_block": Returns(
        "a block: any object but None",
        lambda answer, _: shown(answer) if answer is None else None,
    ),
    "create_context": _instance("a BackendContext or None", BackendContext, type(None)),
    "create_memory_manager": _instance("a MemoryManager or None", MemoryManager, type(None)),
    "create_model_context": _instance("a ModelContext", ModelContext),
    "create_profiling_context": _instance(
        "a ProfilingContext or None", ProfilingContext, type(None)
    ),
    "create_workload": _WORKLOAD,
    "default_allocator": _instance("an Allocator", Allocator),
    "deserialize": Returns(
        "what a PreCompiled layer holds: any object but None",
        lambda answer, _: shown(answer) if answer is None else None,
    ),
    "extension": Returns(
        f"None, or {', '.join(f'{kind.__name__} for {name!r}' for name, kind in KINDS.items())}",
        _extension,
    ),
    "handle_factory_preferences": Returns(
        "a sequence of ids of tensor-handle factories, from a property", _names
    ),
    "host_inputs": _PLACES,
    "host_outputs": _PLACES,
    "has_capability": _instance("True or False", bool),
    "import_fd": _instance("a SharedBuffer", SharedBuffer),
    "import_in": _IMPORTED,
    "import_memory": _IMPORTED,
    "optimize_subgraph": Returns(
        "OptimizationViews with lists of Substitution and SubgraphView", _views
    ),
    "program_workload": _WORKLOAD,
    "query": Returns("one Support per layer of the view, in order", _answers),
    "score": Returns("a whole number", _whole_number),
    "scratch_bytes": Returns("a whole number of at least 0", _size),
    "serialize": _instance("bytes or None", bytes, type(None)),
    "submit": _instance("a Task", Task),
    "supports": _SUPPORT,
    "written": _instance("an Event or None", Event, type(None)),
}
"""The return values of each method; those of methods not listed are ignored."""

_PROPERTIES: Final = frozenset(("capabilities", "handle_factory_preferences", "scratch_bytes"))
