# SPDX-License-Identifier: MIT
"""The environment variables of armnn, and whether they count."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from armnn._spelling import closest
from armnn.backends import CreationOptions
from armnn.backends.selection import VARIABLE, Selection, is_elevated, is_environment_honoured
from armnn.backends.sources import PATH_VARIABLE
from armnn.errors import InvalidArgumentError

_ISOLATED = "no: Python runs with -I or -E"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the environment.

    Attributes:
        name: Its name.
        value: Its value, None if it is not set.
        honoured: "yes", or why not.
    """

    name: str
    value: str | None
    honoured: str


def variables(dynamic_backends_path: str | None) -> tuple[Variable, ...]:
    """Return armnn's variables, and unknown ones with its prefix.

    Args:
        dynamic_backends_path: The folder that an option names, if any.
    """
    ignored = "no: the process has another's rights" if is_elevated() else _ISOLATED
    honoured = "yes" if is_environment_honoured() else ignored
    overridden = dynamic_backends_path is not None and honoured == "yes"
    read = (
        Variable(VARIABLE, os.environ.get(VARIABLE), honoured),
        Variable(
            PATH_VARIABLE,
            os.environ.get(PATH_VARIABLE),
            "no: --dynamic-backends-path overrides it" if overridden else honoured,
        ),
    )
    # The core does not know them: a backend may read them.
    others = sorted(name for name in os.environ if name.startswith("ARMNN_"))
    known = [variable.name for variable in read]
    return read + tuple(
        Variable(name, os.environ[name], "not by armnn itself; a backend may read it")
        for name in others
        if name not in known
    )


def unknown_ids(known: Iterable[str]) -> list[str]:
    """Return a sentence for each unknown id in ``ARMNN_BACKENDS``.

    Args:
        known: The ids of the backends that were found.
    """
    try:
        selection = Selection.of(CreationOptions())
    except InvalidArgumentError:
        return []  # the registry has met the same problem, and told it
    ids = list(known)
    found = []
    for backend_id in dict.fromkeys((*selection.admitted, *selection.excluded)):
        if backend_id not in ids:
            meant = closest(backend_id, ids)
            hint = f"; did you mean {meant!r}?" if meant else "."
            found.append(f"{VARIABLE} names {backend_id!r}, which is no backend here{hint}")
    return found
