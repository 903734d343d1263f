# SPDX-License-Identifier: MIT
"""The choice of backends by the user: ids and their places, lists of preference, switches.

Switches are in options and environment.
"""

from __future__ import annotations

import functools
import os
import pwd
import struct
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from armnn import metadata
from armnn.arguments import closest
from armnn.backends.loading import BackendEntry
from armnn.backends.options import CreationOptions
from armnn.errors import BackendUnavailableError, InvalidArgumentError
from armnn.installing import CPU_ACC, CPU_REF
from armnn_backend_api.names import fault_of_id

__all__ = ["Selection", "environment", "is_elevated", "is_placed", "own_id"]


ISOLATED: Final = "isolated:"
SSH: Final = "ssh://"
BOARD: Final = "board://"

ELSEWHERE: Final = "board"
"""The source of backends of other machines."""


def is_placed(name: str) -> bool:
    """Return whether an id names the place where its backend runs."""
    return name.startswith((ISOLATED, SSH, BOARD))


def any_placed() -> bool:
    """Return whether this process has isolated any backend."""
    return "armnn.backends.isolation" in sys.modules


def own_id(name: str) -> str:
    """Return the id without the place."""
    if name.startswith(ISOLATED):
        return name.removeprefix(ISOLATED)
    return name.rpartition("/")[2] if is_placed(name) else name


OPTIONAL = "?"
"""The mark after the id of a backend that is skipped where it cannot be used."""


@dataclass(frozen=True, slots=True)
class SkippedBackend:
    """An unusable backend of a list that may be missing.

    Attributes:
        id: Its id.
        reason: Why it cannot be used, and what to do about that.
    """

    id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.id}: {self.reason}"

    def as_dict(self) -> dict[str, str]:
        """Return the skipped backend as data for JSON."""
        return {"id": self.id, "reason": self.reason}


def preferences(ids: Iterable[str]) -> dict[str, bool]:
    """Return ids in order with whether each may be missing.

    An id that is also listed without the mark may not.

    Raises:
        InvalidArgumentError: Before a mark there is no valid id.
    """
    found: dict[str, bool] = {}
    for text in ids:
        backend_id, is_optional = text.removesuffix(OPTIONAL), text.endswith(OPTIONAL)
        fault = fault_of_id(own_id(backend_id)) if is_optional else ""
        if fault:
            raise InvalidArgumentError(
                f"{text!r} marks {backend_id!r} as a backend that may be missing: {fault} before "
                f"the {OPTIONAL!r}"
            )
        found[backend_id] = is_optional and found.get(backend_id, True)
    return found


def all_skipped(skipped: Sequence[SkippedBackend]) -> BackendUnavailableError:
    """Return the error for a list without a usable backend."""
    reasons = "\n- ".join(str(each) for each in skipped)
    return BackendUnavailableError(
        "No backend can be used: each of the list may be missing, and is; add one that is there, "
        f"or leave the list out\n- {reasons}"
    )


VARIABLE = "ARMNN_BACKENDS"
"""``CpuRef,Acme`` admits only these; ``-Acme`` keeps one out; unset or empty admits all."""


PATH_VARIABLE = "ARMNN_DYNAMIC_BACKENDS_PATH"

BOARD_VARIABLE: Final = "ARMNN_BOARD_"
"""The prefix of variables that have the command of a board, whose name follows."""

PREFIX: Final = "ARMNN_"
"""The prefixes of variables that backends read."""

VARIABLES: Final = {
    VARIABLE: "the backends that may be loaded",
    PATH_VARIABLE: "folders of dynamic backends",
    f"{BOARD_VARIABLE}NAME": "the command of the board NAME",
    "HOME": "where the user's settings and caches are, if the two below are not set",
    "XDG_CONFIG_HOME": "where the lock file and measurements are",
    "XDG_CACHE_HOME": "where verdicts, crashes, probes and blobs of backends are kept",
    "LD_LIBRARY_PATH": "where the dynamic linker finds the libraries of backends",
}
"""The meaning of each variable of the environment that armnn itself reads."""

LIBRARY_VARIABLES: Final = (
    "BLIS_",
    "DNNL_",
    "GLIBC_TUNABLES",
    "GOTO_",
    "KMP_",
    "LD_PRELOAD",
    "MKL_",
    "NPY_",
    "OCL_ICD_",
    "OMP_",
    "ONEDNN_",
    "OPENBLAS_",
    "POCL_",
    "VECLIB_",
)
"""The prefixes of variables by which libraries choose threads, kernels and drivers.

NumPy and its BLAS, OpenMP, oneDNN, loaders and drivers of OpenCL, the C library and its linker.
"""

_ALWAYS: Final = ("LD_LIBRARY_PATH",)
"""Variables that the system reads, whatever armnn makes of the environment."""

PATHS_GROUP = "armnn.backend_paths"
"""The entry-point group by which a distribution says that it has a folder of dynamic backends.

The value is the dotted name of the package that is the folder; it is never imported.
"""


def environment(name: str) -> str | None:
    """Return an environment variable, None if unset, empty or ignored."""
    return (os.environ.get(name) or None) if is_environment_honoured() else None


def honoured_variables() -> dict[str, str | None]:
    """Return the variables of the environment that count, None for those that are not set.

    They are all of :data:`VARIABLES`, and of those that are set the ones with armnn's prefix, for
    boards and backends, and the ones that libraries read. One of armnn's own that is ignored counts
    as one that is not set.
    """
    read_by_others = (PREFIX, *LIBRARY_VARIABLES)
    found: dict[str, str | None] = {name: os.environ[name] for name in _with_prefix(read_by_others)}
    found |= {name: environment(name) for name in _with_prefix(BOARD_VARIABLE)}
    for name in VARIABLES:
        if name in _ALWAYS:
            found[name] = os.environ.get(name) or None
        elif not name.startswith(BOARD_VARIABLE):
            found[name] = environment(name)
    return found


def _with_prefix(prefixes: str | tuple[str, ...]) -> list[str]:
    return sorted(name for name in os.environ if name.startswith(prefixes))


def asked_by(options: CreationOptions) -> str:
    """Return the request for sources, "" without one.

    Without one, none is imported.
    """
    if not options.enable_dynamic_backends:
        return ""
    if options.dynamic_backends_path is not None:
        return f"dynamic_backends_path={options.dynamic_backends_path!r}"
    path = environment(PATH_VARIABLE)
    if path is not None:
        return f"{PATH_VARIABLE}={path!r}"
    declaring = [entry.distribution.name for entry in metadata.entry_points(PATHS_GROUP)]
    return f"folders of {', '.join(dict.fromkeys(declaring))}" if declaring else ""


def is_locked(options: CreationOptions) -> bool:
    """Return whether only those backends may be loaded that a lock file lists."""
    return options.require_locked or options.lock_file is not None


def is_environment_honoured() -> bool:
    """Return whether the environment counts.

    It does not under ``python -I`` and ``python -E``, nor in a process that runs with the rights of
    another user than the one who started it.
    """
    return not (sys.flags.ignore_environment or sys.flags.isolated or is_elevated())


def is_elevated() -> bool:
    """Return whether the process has another user's rights.

    It may be those of another group, or capabilities of the program's file, as well. As for C's
    ``secure_getenv``, this holds for the rest of the process, even if it gives the rights up.
    """
    if os.name != "posix":
        return False
    has_others = os.getuid() != os.geteuid() or os.getgid() != os.getegid()
    return has_others or _was_started_secure()


def home_folder() -> Path:
    """Return the user's home folder.

    Where the environment does not count, the user database names it instead of ``HOME``: the one
    of the user whose rights the process has.
    """
    if is_environment_honoured():
        return Path(os.path.expanduser("~"))
    return Path(pwd.getpwuid(os.geteuid()).pw_dir)


@functools.cache
def _was_started_secure() -> bool:
    """Return whether the kernel set AT_SECURE for the process."""
    try:
        with open(_VECTOR, "rb") as file:
            vector = file.read()
    except OSError:
        return False
    pairs = struct.iter_unpack("@LL", vector[: len(vector) // _PAIR * _PAIR])
    return any(kind == _AT_SECURE and value for kind, value in pairs)


_VECTOR: Final = "/proc/self/auxv"
"""The auxiliary vector, which the kernel gave the program at its start: pairs of kind and value."""

_AT_SECURE: Final = 23
_PAIR: Final = struct.calcsize("@LL")


@dataclass(frozen=True, slots=True)
class Selection:
    """The settings of the switches.

    Attributes:
        enable_static: Whether static backends take part.
        option: The ids of ``CreationOptions.allowed_backends``; None admits all.
        variable: The text of ``ARMNN_BACKENDS``; empty admits all.
        admitted: The ids that the variable admits; empty for all.
        excluded: The ids that the variable keeps out.
    """

    enable_static: bool
    option: tuple[str, ...] | None
    variable: str
    admitted: tuple[str, ...]
    excluded: tuple[str, ...]

    @classmethod
    def of(cls, options: CreationOptions) -> Selection:
        """Return the selection by the options and the environment as they are now.

        Raises:
            InvalidArgumentError: A switch is not a list of ids.
        """
        allowed = options.allowed_backends
        if isinstance(allowed, str):
            raise InvalidArgumentError(
                f"allowed_backends is the text {allowed!r}: expected a list of ids such as "
                f"{allowed.split(',')!r}"
            )
        text = environment(VARIABLE) or ""
        words = [word.strip() for word in text.split(",") if word.strip()]
        for word in words:
            if fault_of_id(word.removeprefix("-")):
                raise InvalidArgumentError(
                    f"the environment variable {VARIABLE}={text!r} is not a list of ids: got "
                    f"{word!r}, expected for example '{CPU_REF},{CPU_ACC}' or '-{CPU_ACC}'"
                )
        return cls(
            enable_static=options.enable_static_backends,
            option=None if allowed is None else tuple(preferences(allowed)),
            variable=text,
            admitted=tuple(word for word in words if not word.startswith("-")),
            excluded=tuple(word.removeprefix("-") for word in words if word.startswith("-")),
        )

    @property
    def is_by_id(self) -> bool:
        """Whether some ids may be loaded and others not."""
        return self.option is not None or bool(self.admitted or self.excluded)

    def refusal(self, entry: BackendEntry) -> tuple[str, str] | None:
        """Return reason and remedy against a backend, else None."""
        if entry.is_static and not self.enable_static:
            return (
                "is blocked: it is a static backend, and these are switched off",
                "create the runtime with enable_static_backends=True",
            )
        if not entry.id:
            return None  # a file that was turned down before its id was known
        if self.option is not None and entry.id not in self.option:
            return (
                f"is blocked: allowed_backends is {list(self.option)!r}",
                _instead(entry.id, self.option) or "add it to that list",
            )
        is_admitted = not self.admitted or entry.id in self.admitted
        if entry.id in self.excluded or not is_admitted:
            return (
                f"is blocked by the environment variable {VARIABLE}={self.variable!r}",
                _instead(entry.id, self.admitted) or "change or unset that variable",
            )
        return None


def _instead(backend_id: str, written: tuple[str, ...]) -> str:
    """Return the remedy for a probably misspelt id."""
    meant = closest(backend_id, written)
    return f"did you mean it by {meant!r}? Then write {backend_id!r}" if meant else ""
