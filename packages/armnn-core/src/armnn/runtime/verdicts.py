# SPDX-License-Identifier: MIT
"""Verdicts: which backends run a model fastest, as measured, in files, and ``backends="auto"``.

A verdict holds for one model, one machine and the builds of the backends that it chooses.
"""

from __future__ import annotations

import io
import json
import logging
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final

from armnn._files import file_sha256, write_whole
from armnn.backends import BackendEntry, OptionValue
from armnn.backends.crashes import crash_file, is_ours_alone
from armnn.backends.registry import BackendRegistry
from armnn.errors import PlacementError
from armnn.graph import Network, Value
from armnn.optimizer import OptimizerOptions
from armnn.processor import described_processor, processor_revision

__all__ = ["Trial", "Verdict", "read_verdicts", "user_verdicts", "write_verdict"]


FORMAT: Final = 1
SUFFIX: Final = ".verdicts.json"
"""The suffix that a file of verdicts adds to the name of the model beside it."""
_END: Final = 1 << 18
"""Bytes of each end of a model's file that its identity covers."""
_LARGEST_FILE: Final = 1 << 22
_SINGLE_LAYERS: Final = (
    "it gives single layers to other backends, which is measured no more: run armnn tune again"
)
"""The fault of choices that development versions between 1.2 and 1.3 wrote."""
_MOST: Final = 500
"""Verdicts that the user's file keeps: the youngest."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One choice of backends, as it was measured.

    Attributes:
        backends: The ids in the order of preference.
        options: The options of backends that belong to the choice, by backend id.
        microseconds: The median time of a run; None if it was not measured.
        load_seconds: How long loading the model took; None if it was not loaded.
        border_microseconds: The part of a run that copies between backends take.
        layers: How many layers each backend runs.
        fault: Why it cannot be chosen; "" if it can.
    """

    backends: tuple[str, ...]
    options: Mapping[str, Mapping[str, OptionValue]] = field(default_factory=dict)
    microseconds: float | None = None
    load_seconds: float | None = None
    border_microseconds: float = 0.0
    layers: Mapping[str, int] = field(default_factory=dict)
    fault: str = ""

    @property
    def title(self) -> str:
        """The backends with options, as text."""
        given = [
            f"{backend}.{name}={value}"
            for backend, options in self.options.items()
            for name, value in options.items()
        ]
        return " ".join([",".join(self.backends), *given])

    def __str__(self) -> str:
        if self.microseconds is None:
            return f"{self.title}: {self.fault or 'not measured'}"
        border = self.border_microseconds
        copies = f", {border:,.0f} us of it at borders" if border >= 0.5 else ""
        fault = f", {self.fault}" if self.fault else ""
        return f"{self.title}: {self.microseconds:,.0f} us{copies}{fault}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The fastest right choice of backends for a model.

    Attributes:
        models: The identities of the model: of its file, of its network.
        machine: The machine.
        builds: The builds of the backends that were measured, by backend id.
        day: When it was measured, as YYYY-MM-DD.
        trials: The measurements; the chosen one first, the others by time.
    """

    models: tuple[str, ...]
    machine: str
    builds: Mapping[str, str]
    day: str
    trials: tuple[Trial, ...]

    @property
    def chosen(self) -> Trial:
        """The choice of the verdict."""
        return self.trials[0]

    def __str__(self) -> str:
        others = "; ".join(str(each) for each in self.trials[1:])
        chosen = f"chosen by measurement on {self.day}: {self.chosen}"
        return f"{chosen} (others: {others})" if others else chosen

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as data for JSON."""
        return asdict(self)

    def change_since(self, builds: Mapping[str, str]) -> str:
        """Return why it holds no more for these builds, or ""."""
        if self.chosen.fault:
            return self.chosen.fault
        for backend in self.chosen.backends:
            if backend not in builds:
                return f"it chooses {backend}, which is not installed"
            if builds[backend] != self.builds.get(backend):
                return f"it measured {self.builds.get(backend)}, but {builds[backend]} is installed"
        return ""


def read_verdicts(path: Path) -> tuple[Verdict, ...]:
    """Return the verdicts in a file.

    Raises:
        PlacementError: The file cannot be read, or is not a file of verdicts.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise PlacementError(f"the verdicts {str(path)!r} cannot be read: {error}") from error
    if len(content) > _LARGEST_FILE:
        raise PlacementError(
            f"the verdicts {str(path)!r} have more than {_LARGEST_FILE} bytes; armnn tune writes "
            "less"
        )
    try:
        document = json.loads(content)
        if document["format"] != FORMAT:
            raise ValueError(f"got format {document['format']!r}, expected {FORMAT}")
        if not isinstance(document["verdicts"], list):
            raise TypeError("the verdicts are not a list")
        return tuple(map(_verdict, document["verdicts"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        detail = str(error) or type(error).__name__
        raise PlacementError(
            f"{str(path)!r} is not a file of verdicts ({detail}): armnn tune MODEL -o writes one"
        ) from error


def check_verdicts(path: Path) -> None:
    """Check that :func:`write_verdict` can write a file, before anything is measured for it.

    Raises:
        PlacementError: There is a file of another kind, or it cannot be written.
    """
    if path.exists():
        read_verdicts(path)
    folder = next(each for each in path.absolute().parents if each.exists())  # others are made
    try:  # access rights alone do not tell: /proc has them for root
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise PlacementError(
            f"the verdicts {str(path)!r} cannot be written: {str(folder)!r} is not a folder that "
            "is yours to write; name another file, as in -o verdicts.json"
        ) from error


def write_verdict(path: Path, verdict: Verdict) -> None:
    """Put a verdict into a file; others in it stay.

    Raises:
        PlacementError: There is a file of another kind, or it cannot be written.
    """
    known = read_verdicts(path) if path.exists() else ()
    others = [
        each
        for each in known
        if not each.chosen.fault
        and (each.machine != verdict.machine or not set(each.models) & set(verdict.models))
    ]
    rows = [each.as_dict() for each in (*others, verdict)][-_MOST:]
    text = json.dumps({"format": FORMAT, "verdicts": rows}, indent=1, sort_keys=True)
    try:
        write_whole(path, text + "\n", 0o644)
    except OSError as error:
        raise PlacementError(f"the verdicts {str(path)!r} cannot be written: {error}") from error


def user_verdicts() -> Path | None:
    """Return the user's file of verdicts.

    It is ``$XDG_CACHE_HOME/armnn/verdicts.json``, by default in ``~/.cache``; None if the process
    has the rights of another user.
    """
    crashes = crash_file()
    return None if crashes is None else crashes.with_name("verdicts.json")


def _verdict(row: Mapping[str, Any]) -> Verdict:
    trials = tuple(_trial(each) for each in row["trials"])
    if not trials or row["trials"][0]["fault"] or not trials[0].backends:
        raise ValueError("a verdict chooses nothing")
    builds = {_text(name): _text(build) for name, build in row["builds"].items()}
    models = tuple(map(_text, row["models"]))
    return Verdict(models, _text(row["machine"]), builds, _text(row["day"]), trials)


def _trial(row: Mapping[str, Any]) -> Trial:
    options = {
        _text(backend): {_text(name): _option(value) for name, value in given.items()}
        for backend, given in row["options"].items()
    }
    return Trial(
        tuple(map(_text, row["backends"])),
        options,
        _real(row["microseconds"]),
        _real(row["load_seconds"]),
        _real(row["border_microseconds"]) or 0.0,
        {_text(backend): int(count) for backend, count in row["layers"].items()},
        _SINGLE_LAYERS if row.get("layer_backends") else _text(row["fault"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"got {value!r}, expected a text without control characters")
    return value


def _option(value: object) -> OptionValue:
    if not isinstance(value, (bool, int, float, str)):
        raise ValueError(f"an option is {value!r}: expected a Boolean, a number or a text")
    return value


def _real(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
        raise ValueError(f"a time is {value!r}: expected a number of at least 0, below 1e15")
    return float(value)


def found_verdict(
    verdicts: Sequence[Verdict], identities: Sequence[str], machine: str
) -> Verdict | None:
    """Return the verdict for a model, if there is one."""
    wanted = set(identities)
    matching = (each for each in verdicts if each.machine == machine and wanted & {*each.models})
    return next(matching, None)


def identity_of_file(path: Path) -> str:
    """Return the digest of a model's file.

    It is the size and the sha256 of the first and last 256 KiB, which take a millisecond for any
    size: a verdict is advice about time, and another model with both would still compute right.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return _identity(file, os.fstat(file.fileno()).st_size)


def _identity(file: BinaryIO, size: int) -> str:
    digest = sha256(file.read(_END))
    if size > _END:
        file.seek(max(size - _END, _END))
        digest.update(file.read(_END))
    return f"file {size} {digest.hexdigest()}"


def identity_of_network(network: Network) -> str:
    """Return the digest of a network without its weights."""
    numbers: dict[Value, str] = {}
    digest = sha256()
    for layer in network.topological_order():
        read = [value and numbers[value] for value in layer.inputs]
        made = [(value.info, value.constant is not None) for value in layer.outputs]
        digest.update(f"{layer.type} {layer.descriptor!r} {read} {made}\n".encode())
        for value in layer.outputs:
            numbers[value] = f"{len(numbers)}"
    return f"network {digest.hexdigest()}"


def this_machine() -> str:
    """Return the processor, its revision and the CPUs in use."""
    revision = processor_revision()
    return f"{described_processor()}, {revision}" if revision else described_processor()


def builds_of(backend_ids: Iterable[str], entries: Iterable[BackendEntry]) -> dict[str, str]:
    """Return the build of each backend that was found.

    It is the distribution with its version; of a shared library the name and sha256 of the file.
    """
    wanted = set(backend_ids)
    found: dict[str, str] = {}
    for entry in entries:
        if entry.id in wanted and entry.id not in found:
            found[entry.id] = _build_of(entry)
    return found


def _build_of(entry: BackendEntry) -> str:
    if entry.is_static:
        return entry.owner
    path = Path(entry.origin)
    try:
        return f"{path.name} {file_sha256(path)}"
    except OSError:
        return path.name


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Choice:
    """The backends in place of ``"auto"``.

    Attributes:
        backends: The ids in the order of preference; None for the usual order.
        options: The caller's, with those of the verdict.
        text: Where the choice comes from.
    """

    backends: tuple[str, ...] | None
    options: OptimizerOptions
    text: str


def choose(
    model: Path | bytes | Network,
    options: OptimizerOptions,
    registry: BackendRegistry,
) -> Choice:
    """Return the backends of a verdict, else the usual ones.

    Args:
        model: The model's file or its content, or a network without one.
        options: The caller's.
        registry: The backends of the runtime.

    Raises:
        PlacementError: The file of verdicts that the options name cannot be used.
    """
    plain = replace(options, verdicts="")
    verdict, reason = _verdict_for(model, options.verdicts, registry)
    if verdict is None:
        text = f"{reason}; run armnn tune to measure; using the default order"
        _log.warning("backends='auto' for %s: %s", _title(model), text)
        known = {backend.id for backend in registry.find_usable()}
        usual = {each: named for each, named in options.model_options.items() if each in known}
        return Choice(None, replace(plain, model_options=usual), text)
    chosen = verdict.chosen
    given = merged(options.model_options, chosen.options, chosen.backends)
    return Choice(chosen.backends, replace(plain, model_options=given), str(verdict))


def _verdict_for(
    model: Path | bytes | Network, file: str, registry: BackendRegistry
) -> tuple[Verdict | None, str]:
    """Return the verdict that holds, else why none does."""
    if isinstance(model, Network):
        identities: Sequence[str] = (identity_of_network(model),)
    elif isinstance(model, bytes):
        identities = (_identity(io.BytesIO(model), len(model)),)
    else:
        identities = (identity_of_file(model),)
    machine = this_machine()
    reason = "the model was not measured on this machine"
    for path in _files(model, file):
        try:
            verdict = found_verdict(read_verdicts(path), identities, machine)
        except PlacementError as error:
            if file:
                raise
            reason = str(error)
            continue
        if verdict is None:
            continue
        change = verdict.change_since(builds_of(verdict.chosen.backends, registry.entries()))
        if not change:
            return verdict, ""
        reason = f"the verdict in {str(path)!r} holds no more: {change}"
    return None, reason


def _files(model: Path | bytes | Network, file: str) -> list[Path]:
    """Return the files of verdicts to look into, in order."""
    if file:
        return [Path(file)]
    beside = [model.with_name(model.name + SUFFIX)] if isinstance(model, Path) else []
    mine = user_verdicts()
    found = [path for path in beside if path.is_file()]
    if mine is not None and mine.is_file() and is_ours_alone(mine):
        found.append(mine)
    return found


def _title(model: Path | bytes | Network) -> str:
    if isinstance(model, bytes):
        return f"a model of {len(model)} bytes"
    return repr(model.name if isinstance(model, Network) else str(model))


def merged(
    given: Mapping[str, Mapping[str, Any]],
    chosen: Mapping[str, Mapping[str, Any]],
    backends: Sequence[str],
) -> dict[str, dict[str, Any]]:
    """Return a choice's options under the caller's, for its backends."""
    found = {each: {**chosen.get(each, {}), **given.get(each, {})} for each in backends}
    return {backend: options for backend, options in found.items() if options}
