# SPDX-License-Identifier: MIT
"""The record of execution: which backends ran a model, where and why, as JSON.

It is for integrators who pin what runs and have to prove it later:
:func:`armnn.runtime.verification.verify` loads the model as the record says, and compares.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from csv import reader
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import Enum
from functools import partial
from os import PathLike
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from packaging.requirements import InvalidRequirement, Requirement

from armnn import metadata
from armnn.__about__ import __version__
from armnn._files import file_sha256, write_whole
from armnn.arguments import path as checked_path
from armnn.backends.calling import call
from armnn.backends.capi.backend import NativeBackend
from armnn.backends.capi.library import NativeLibrary
from armnn.backends.contract import Backend
from armnn.backends.loading import BackendEntry, BackendState
from armnn.backends.options import CreationOptions
from armnn.backends.python_operators import OperatorBackend
from armnn.backends.registry import BackendRegistry
from armnn.backends.selection import ELSEWHERE, any_placed, honoured_variables
from armnn.backends.sources import installed_sources
from armnn.errors import InvalidArgumentError, WorkerLostError
from armnn.optimizer.options import OptimizerOptions
from armnn.parsing import format_of, installed_parsers
from armnn.processor import described_processor, processor_revision
from armnn.runtime.backends_in_use import EVALUATOR
from armnn.runtime.calls.control import NetworkProperties
from armnn.runtime.request import PREPARED, LoadRequest, ModelSource
from armnn.schemas import (
    FLAG,
    INTEGER,
    NULL,
    NUMBER,
    OPTION,
    SHA256,
    TEXT,
    check,
    document,
    either,
    fixed,
    json_text,
    listed,
    named,
    or_null,
)
from armnn.storage.folder import is_settled, stamp_of
from armnn.types import ArmnnEnum
from armnn_backend_api import BACKEND_API_VERSION

if TYPE_CHECKING:
    from armnn.optimizer import Report, ReportRow
    from armnn.runtime.plans import PlanCache
    from armnn.runtime.runtime import Runtime

VERSION: Final = 1
"""The version of the document; it rises where a member changes its meaning, or goes."""

PYTHON: Final = "python"
"""The member of an option that only a program can give, such as a function."""

_NOTES: Final = ("made", "choice")
"""The members that say nothing about the execution itself."""

_LARGEST_FILE: Final = 1 << 28
"""The bytes that the file of a record may have; one of 100,000 layers has a tenth of them."""

_LONGEST: Final = 200
"""The characters of a list or an object that a line about a difference has."""

CORE: Final = "armnn-core"


def _names_of(options: Any, without: str = "") -> list[str]:
    return [each.name for each in fields(options) if each.name != without]


_VALUE: Final = {"type": ["boolean", "number", "string", "null", "array", "object"]}
"""An option of the core, as :func:`encoded` makes it."""

_DEVICE: Final = fixed(
    {
        "name": TEXT,
        "kind": TEXT,
        "memory_bytes": INTEGER,
        "fingerprint": TEXT,
        "info": named(OPTION),
    }
)
_BACKEND: Final = fixed(
    {
        "rank": INTEGER,
        "api_version": TEXT,
        "distribution": TEXT,
        "version": TEXT,
        "origin": TEXT,
        "source": TEXT,
        "files": named(SHA256),
        "capabilities": named(OPTION),
        "devices": named(_DEVICE),
    }
)
_LAYER: Final = fixed(
    {
        "layer": TEXT,
        "type": TEXT,
        "backend": TEXT,
        "reason": TEXT,
        "conversion": TEXT,
        "compiled_into": TEXT,
        "specialisation": TEXT,
    }
)
_PREPARED: Final = fixed(
    {"shape": listed(INTEGER), "values": or_null(listed(either(FLAG, NUMBER)))}
)
_OPTIONS: Final = fixed(
    {
        "backends": or_null(listed(TEXT)),
        "runtime": fixed(dict.fromkeys(_names_of(CreationOptions), _VALUE)),
        "optimizer": fixed(dict.fromkeys(_names_of(OptimizerOptions), _VALUE)),
        "parser": named(either(FLAG, INTEGER, TEXT)),
        "quantize": FLAG,
        "states": either(NULL, TEXT, named(TEXT)),
        "properties": or_null(
            fixed(
                {each.name: _VALUE for each in fields(NetworkProperties) if each.name != "profiler"}
            )
        ),
    }
)
SCHEMA: Final = document(
    f"record-{VERSION}",
    "A record of execution of armnn",
    fixed(
        {
            "version": {"enum": [VERSION]},
            "made": TEXT,
            "model": fixed(
                {
                    "name": TEXT,
                    "path": or_null(TEXT),
                    "format": or_null(TEXT),
                    "sha256": or_null(SHA256),
                    "files": named(SHA256),
                }
            ),
            "core": fixed({"version": TEXT, "backend_api": TEXT, "python": TEXT}),
            "distributions": named(
                fixed({"version": TEXT, "sha256": SHA256, "altered": listed(TEXT)})
            ),
            "backends": named(_BACKEND),
            "skipped": named(TEXT),
            "choice": TEXT,
            "device": fixed({"processor": TEXT, "revision": TEXT, "system": TEXT}),
            "options": _OPTIONS,
            "environment": named(or_null(TEXT)),
            "prepared": listed(named(_PREPARED)),
            "waits_for_data": FLAG,
            "plan": listed(_LAYER),
            "faults": listed(TEXT),
        }
    ),
)
"""The JSON Schema of a record."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One item in which two records differ.

    Attributes:
        item: The path to it in the document, such as "backends.CpuRef.version".
        recorded: The item of the record; None if it lacks the item.
        got: The item of today; None if there is none.
    """

    item: str
    recorded: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.item}: recorded {_shown(self.recorded)}, got {_shown(self.got)}"

    def as_dict(self) -> dict[str, Any]:
        """Return the difference as data for JSON."""
        return {"item": self.item, "recorded": self.recorded, "got": self.got}


@dataclass(frozen=True, slots=True)
class Record:
    """A record of execution; ``LoadedNetwork.record()`` makes it.

    Attributes:
        document: The record as data for JSON; :data:`SCHEMA` describes it.
    """

    document: Mapping[str, Any]

    @classmethod
    def read(cls, file: str | PathLike[str] | bytes | dict[str, Any]) -> Record:
        """Read a record that :meth:`write` wrote.

        Args:
            file: The path of the file, its content in bytes, or what ``json.loads`` makes of it.

        Raises:
            InvalidArgumentError: It cannot be read, or is not a record.
        """
        title = "the record"
        if not isinstance(file, (bytes, dict)):
            file = checked_path(file, "the file of a record")
            title = f"the record {file!r}"
        try:
            found = file if isinstance(file, dict) else json.loads(_content_of(file))
            if isinstance(found, dict) and found.get("version", VERSION) != VERSION:
                raise ValueError(
                    f"its version is {found['version']!r}, and armnn-core {__version__} reads "
                    f"version {VERSION}"
                )
            check(found, SCHEMA)
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidArgumentError(
                f"{title} cannot be read: {error}; expected a file of 'armnn run --record FILE'"
            ) from error
        return cls(found)

    def write(self, file: str | PathLike[str]) -> None:
        """Write the record to a file, whole or not at all.

        Raises:
            OSError: The file cannot be written.
        """
        write_whole(Path(checked_path(file, "the file of a record")), self.to_json(), 0o644)

    def to_json(self) -> str:
        """Return the record as the text of a JSON file."""
        return json_text(self.document) + "\n"

    @property
    def items(self) -> Mapping[str, Any]:
        """The items that are compared: the document, without notes, with a text for each layer."""
        plan: dict[str, str] = {}
        for row in self.document["plan"]:
            of = f" ({row['specialisation']})" if row["specialisation"] else ""
            name = f"{row['layer']}{of}"
            twin = 2
            while name in plan:
                name, twin = f"{row['layer']}#{twin}{of}", twin + 1
            plan[name] = _text_of(row)
        found = {name: each for name, each in self.document.items() if name not in _NOTES}
        model = {name: each for name, each in found["model"].items() if name != "path"}
        return {**found, "model": model, "plan": plan}

    @property
    def item_count(self) -> int:
        """How many items are compared."""
        return _count(self.items)

    def differences(self, got: Record) -> tuple[Difference, ...]:
        """Return the items in which another record differs.

        Args:
            got: The other one, made later or elsewhere.
        """
        return tuple(differences(self.items, got.items))


def differences(recorded: Any, got: Any, path: str = "") -> Iterator[Difference]:
    """Yield the differences of two documents, in the order of the first; new items are last."""
    if not (isinstance(recorded, Mapping) and isinstance(got, Mapping)):
        if recorded != got:
            yield Difference(path, recorded, got)
        return
    for name in dict.fromkeys((*recorded, *got)):
        item = f"{path}.{name}" if path else name
        if name in recorded and name in got:
            yield from differences(recorded[name], got[name], item)
        else:
            yield Difference(item, recorded.get(name), got.get(name))


def record_of(
    runtime: Runtime,
    plans: PlanCache,
    origin: LoadRequest | None,
    report: Report,
    faults: Sequence[str],
) -> Record:
    """Return the record of a loaded network.

    Args:
        runtime: Its runtime.
        plans: Its plans.
        origin: How it was loaded; None if it was built in Python.
        report: Which layer ran where.
        faults: How processes of its isolated backends ended.

    Raises:
        ModelFileError: The model's file, or one beside it, is gone or has changed since.
        NativeLoadError: The library's file of a backend is gone or has changed since.
    """
    participants, options = plans.optimized.participants, plans.optimized.options
    taking_part = [
        each
        for each in participants.all
        if not isinstance(each.backend, OperatorBackend) or each.backend.operators
    ]
    entries = {each.id: entry_of(runtime.registry, each.id) for each in taking_part}
    source = None if origin is None else origin.source
    parser_options = {} if origin is None else dict(origin.parser_options)
    there = surroundings(runtime.registry, entries, source, parser_options)
    there["model"]["name"] = plans.optimized.name
    for rank, candidate in enumerate(taking_part):
        there["backends"][candidate.id] |= _answers(candidate.backend, rank)
        if isinstance(candidate.backend, OperatorBackend):
            there["backends"][candidate.id] |= _functions(candidate.backend)
    ids = [each.id for each in participants.candidates]
    prepared = plans.prepared
    return Record(
        {
            "version": VERSION,
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            **there,
            "skipped": {each.id: each.reason for each in participants.skipped},
            "choice": participants.choice,
            "options": {
                "backends": encoded(ids if origin is None else origin.request.backends),
                "runtime": _fields_of(runtime.options),
                "optimizer": _fields_of(options),
                "parser": parser_options,
                "quantize": origin is not None and origin.quantize,
                "states": None if origin is None else encoded(origin.request.states),
                "properties": None
                if origin is None or origin.properties is None
                else _fields_of(origin.properties, without="profiler"),
            },
            "prepared": [_encoded_inputs(shapes, values) for shapes, values, _ in prepared],
            "waits_for_data": any(waits for *_, waits in prepared),
            "plan": [_layer(row) for row in report],
            "faults": list(faults),
        }
    )


def surroundings(
    registry: BackendRegistry,
    entries: Mapping[str, BackendEntry | None],
    source: ModelSource | None,
    parser_options: Mapping[str, str | int | bool],
) -> dict[str, Any]:
    """Return the facts that need nothing to be loaded: files, versions, the machine.

    Args:
        registry: The backends.
        entries: The entries that take part, by id; None for one that was not found.
        source: The model's file or content; None if it was built in Python.
        parser_options: The options of the file's parser.
    """
    suffix = None
    if source is not None:
        model = source.path if source.content is None else source.content
        suffix = format_of(model, parser_options)
    roots = _roots(registry, entries.values(), suffix)
    code = {each.normalized_name: _Code.of(each, name) for each, name in _with_requirements(roots)}
    return {
        "model": {
            "name": "",
            "path": None if source is None else source.path or None,
            "format": suffix,
            "sha256": None if source is None else source.sha256,
            "files": {} if source is None else source.files_beside(),
        },
        "core": {
            "version": __version__,
            "backend_api": str(BACKEND_API_VERSION),
            "python": f"{platform.python_version()} ({platform.python_implementation()})",
        },
        "distributions": {name: each.as_dict() for name, each in code.items()},
        "backends": {name: _described(entry, code) for name, entry in entries.items()},
        "device": {
            "processor": described_processor(),
            "revision": processor_revision(),
            "system": platform.platform(),
        },
        "environment": honoured_variables(),
    }


def entry_of(registry: BackendRegistry, backend_id: str) -> BackendEntry | None:
    """Return the entry of the backend of an id, None if there is none."""
    usable = (BackendState.LOADED, BackendState.KNOWN)
    found = [each for each in registry.entries() if each.id == backend_id]
    return next((each for each in found if each.state in usable), found[0] if found else None)


def encoded(value: object) -> Any:
    """Return an option as data for JSON.

    Of what JSON cannot hold, such as a function, there is the name.
    """
    if isinstance(value, ArmnnEnum):
        return value.arm_name
    if isinstance(value, Enum):
        return value.name
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): encoded(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [encoded(each) for each in value]
    named_object = value if hasattr(value, "__qualname__") else type(value)
    return {PYTHON: f"{named_object.__module__}:{named_object.__qualname__}"}


# -- inside -------------------------------------------------------------------------------------


def _content_of(file: str | bytes) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is larger than any record.
    """
    if isinstance(file, bytes):
        content = file
    else:
        with open(file, "rb") as opened:
            content = opened.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE:
        raise ValueError(f"it has more than {_LARGEST_FILE} bytes")
    return content


def _fields_of(options: Any, without: str = "") -> dict[str, Any]:
    return {name: encoded(getattr(options, name)) for name in _names_of(options, without)}


def _encoded_inputs(
    shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        name: {
            "shape": list(shape),
            "values": values[name].reshape(-1).tolist() if name in values else None,
        }
        for name, shape in shapes.items()
    }


def _layer(row: ReportRow) -> dict[str, str]:
    return {
        "layer": row.layer,
        "type": row.type,
        "backend": row.backend,
        "reason": row.reason,
        "conversion": row.conversion,
        "compiled_into": row.compiled_into,
        "specialisation": row.specialisation,
    }


def _answers(backend: Backend, rank: int) -> dict[str, Any]:
    """Return the description that a backend gives of itself and of its devices.

    Raises:
        NativeLoadError: Its library's file is another than the one that is loaded.
    """
    return {
        "rank": rank,
        "api_version": str(backend.api_version),
        "capabilities": encoded(dict(call(backend.id, backend, "capabilities"))),
        "devices": encoded(_devices(backend)),
    }


def _devices(backend: Backend) -> dict[str, Any]:
    """Return the descriptions of a C backend's devices, by id, here or in a worker."""
    if isinstance(backend, NativeBackend):
        NativeLibrary.open(backend.library.path)  # which refuses a file that has changed since
        return {each.id: each.as_dict() for each in backend.devices()}
    if any_placed():
        from armnn.backends.worker.proxy import IsolatedBackend  # late: few isolate any

        if isinstance(backend, IsolatedBackend):
            with suppress(WorkerLostError):  # the record has the fault
                return backend.devices()
    return {}


def _described(entry: BackendEntry | None, code: Mapping[str, _Code]) -> dict[str, Any]:
    """Return where a backend comes from, with the sha256 of its files."""
    if entry is None:
        return {"distribution": "", "version": "", "origin": "", "source": "", "files": {}}
    own = code.get(metadata.normalized(entry.distribution))
    if entry.is_registered:
        module = sys.modules.get(entry.origin.partition(":")[0])
        file = getattr(module, "__file__", None)
        files = {} if file is None else _digests([file])
    elif entry.is_static:
        files = {} if own is None else dict(own.files)
    elif entry.source == ELSEWHERE:  # the files are on another machine
        files = {}
    else:
        files = _digests(dict.fromkeys((entry.origin, *(path for path, _ in entry.examined))))
    return {
        "distribution": entry.distribution,
        "version": entry.version,
        "origin": entry.origin,
        "source": entry.source,
        "files": files,
    }


def _functions(backend: OperatorBackend) -> dict[str, Any]:
    """Return which functions compute operators in Python, with the sha256 of their modules.

    The functions of a module may have one name, as lambdas have: each has a sha256 of its own.
    """
    used = sorted(backend.operators.items())
    modules = [getattr(each.compute, "__module__", "") for _, each in used]
    files = [getattr(sys.modules.get(name), "__file__", None) for name in modules]
    return {
        "origin": ", ".join(
            f"{name} by {each.origin}, sha256 {_sha256_of(each.compute)}" for name, each in used
        ),
        "files": _digests(dict.fromkeys(path for path in files if path is not None)),
    }


def _sha256_of(function: object) -> str:
    """Return the digest of a function's code, defaults and captured variables.

    The functions that it calls are not followed, and of what is neither code, number, text nor
    array only the type counts.
    """
    return hashlib.sha256(repr(_identity_of(function, ())).encode()).hexdigest()


def _identity_of(value: object, around: tuple[object, ...]) -> object:
    """Return what two equal functions have in common, as texts, numbers and lists.

    Args:
        value: The function, or a value that it holds.
        around: The objects that hold it; a recursive function captures itself.
    """
    members: list[object]
    if any(each is value for each in around):
        return "itself"
    if isinstance(value, FunctionType):
        cells = [_captured(cell) for cell in value.__closure__ or ()]
        members = [value.__code__, value.__defaults__, value.__kwdefaults__, cells]
    elif isinstance(value, CodeType):
        names = value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars
        members = [value.co_code, value.co_flags, *names, value.co_consts]
    elif isinstance(value, partial):
        members = [value.func, value.args, value.keywords]
    elif isinstance(value, MethodType):
        members = [value.__func__, value.__self__]
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        members = [value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    elif isinstance(value, Mapping):
        members = [list(value), list(value.values())]
    elif isinstance(value, (list, tuple)):
        members = list(value)
    elif isinstance(value, (set, frozenset)):  # of constants
        return sorted(map(repr, value))
    elif value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return value
    else:
        kind = type(value)
        name = getattr(value, "__qualname__", "")
        members = [kind.__module__, kind.__qualname__, name, vars(kind).get("__call__")]
    return [_identity_of(each, (*around, value)) for each in members]


def _captured(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty, of a name that nothing is bound to yet
        return None


def _digests(paths: Iterable[str]) -> dict[str, str]:
    """Return the sha256 of the files that can be read, by path."""
    found = {}
    for path in paths:
        now, stamp = time.time_ns(), stamp_of(path)
        known = _known.get(path)
        if known is not None and known[0] == stamp:
            found[path] = known[1]
            continue
        try:
            found[path] = file_sha256(path)
        except OSError:
            continue  # one that is missing is a difference
        if stamp and stamp == stamp_of(path) and is_settled(stamp, now):
            _known[path] = stamp, found[path]
    return found


_known: Final[dict[str, tuple[tuple[int, ...], str]]] = {}
"""The stamp and the sha256 of files, as hashing NumPy and its libraries takes half a second."""


@dataclass(frozen=True, slots=True)
class _Code:
    """The files of an installed distribution.

    Attributes:
        version: Its version.
        files: The sha256 of each, by the path below the folder of installed packages.
        altered: The files that are not as they were installed.
    """

    version: str
    files: Mapping[str, str]
    altered: tuple[str, ...]

    @classmethod
    def of(cls, distribution: metadata.InstalledDistribution, module: str) -> _Code:
        """Return the files of a distribution.

        They are those that its RECORD lists, without what Python compiled and what installers note
        beside it; and those of its package, where that is none of them, as in an editable install.

        Args:
            distribution: The distribution.
            module: The package that it brings.
        """
        rows = [row for row in reader(distribution.record().splitlines()) if row]
        expected = {path: digest for path, digest, *_ in rows if _is_code(path)}
        paths = {path: os.path.join(distribution.location, path) for path in expected}
        if not any(path.endswith((".py", ".so")) for path in expected):
            paths |= _files_of_package(module)
        digests = _digests(paths.values())
        files = {path: digests[file] for path, file in sorted(paths.items()) if file in digests}
        altered = [
            path
            for path in sorted(paths)
            if path not in files or not _is_as_recorded(files[path], expected.get(path, ""))
        ]
        return cls(distribution.version, files, tuple(altered))

    def as_dict(self) -> dict[str, Any]:
        """Return version and sha256 as data for JSON.

        The latter is that of the lines that ``sha256sum`` prints of the files, in their order.
        """
        lines = "".join(f"{digest}  {path}\n" for path, digest in self.files.items())
        return {
            "version": self.version,
            "sha256": hashlib.sha256(lines.encode()).hexdigest(),
            "altered": list(self.altered),
        }


def _is_code(path: str) -> bool:
    parts = path.split("/")
    is_note = any(part.endswith(".dist-info") for part in parts)
    return not (is_note or "__pycache__" in parts or ".." in parts or os.path.isabs(path))


def _is_as_recorded(digest: str, recorded: str) -> bool:
    """Return whether a sha256 is that of a RECORD, which may have none."""
    if not recorded.startswith("sha256="):
        return True
    encoded_digest = urlsafe_b64encode(bytes.fromhex(digest)).rstrip(b"=").decode()
    return encoded_digest == recorded.removeprefix("sha256=")


def _files_of_package(module: str) -> dict[str, str]:
    """Return the files of a package, or the one of a module, by path; nothing is imported."""
    spec = metadata.find_module(module)
    if spec is None:
        return {}
    if spec.submodule_search_locations is None:
        return {os.path.basename(spec.origin): spec.origin} if spec.origin else {}
    found = {}
    for folder in map(str, spec.submodule_search_locations):
        for parent, folders, names in os.walk(folder):
            folders[:] = [each for each in folders if each != "__pycache__"]
            below = os.path.join(module, os.path.relpath(parent, folder))
            for name in names:
                found[os.path.normpath(os.path.join(below, name))] = os.path.join(parent, name)
    return found


def _roots(
    registry: BackendRegistry, entries: Iterable[BackendEntry | None], suffix: str | None
) -> Iterator[tuple[str, str]]:
    """Yield the distributions whose code takes part, each with its package."""
    yield CORE, "armnn"
    if suffix is not None and f".{suffix}" != PREPARED:
        for parser in installed_parsers():
            if parser.name.lower() == suffix:
                yield parser.distribution.normalized_name, parser.module.partition(".")[0]
    for entry in (*entries, entry_of(registry, EVALUATOR)):
        if entry is None:
            continue
        if entry.distribution:
            yield metadata.normalized(entry.distribution), entry.origin.partition(".")[0]
        for source in installed_sources():
            if source.name == entry.source:
                yield source.distribution.normalized_name, source.module.partition(".")[0]


def _with_requirements(
    roots: Iterable[tuple[str, str]],
) -> Iterator[tuple[metadata.InstalledDistribution, str]]:
    """Yield distributions and their requirements, each with the package that it brings."""
    seen: set[str] = set()
    waiting = list(roots)
    for name, module in waiting:
        distribution = None if name in seen else metadata.installed(name)
        seen.add(name)
        if distribution is None:
            continue
        yield distribution, module
        for text in distribution.requires:
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                needed = metadata.normalized(requirement.name)
                waiting.append((needed, needed.replace("-", "_")))


def _text_of(row: Mapping[str, str]) -> str:
    into = row["compiled_into"]
    notes = [f"compiled into {into!r}" if into else "", row["conversion"], row["reason"]]
    ending = "; ".join(each for each in notes if each)
    return f"{row['type']} on {row['backend']}" + (f" ({ending})" if ending else "")


def _count(value: object) -> int:
    return sum(map(_count, value.values())) if isinstance(value, Mapping) else 1


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str) and value:
        return value
    text = json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
