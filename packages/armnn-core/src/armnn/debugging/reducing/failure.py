# SPDX-License-Identifier: MIT
"""Failures, and what makes two of them the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self

from armnn.debugging.findings import ErrorKind, Figures, LayerVerdict

if TYPE_CHECKING:
    from armnn_backend_api.processes import Ending

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.e+-]*")
"""Names and numbers in a message: they differ from model to model."""

_FRAME = re.compile(r'File "([^"]*)", line \d+ in (\S+)')
"""A line of a trace that faulthandler writes."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a test has found.

    Attributes:
        kind: "wrong layer", "crash", "hang", "error" or "command".
        marks: What else must be equal for two to be the same: the signal and the frame of a crash,
            the type and the words of an error, the exit status of a command.
        verdict: About the wrong layer, if that is it.
    """

    kind: str
    marks: tuple[str, ...] = ()
    verdict: LayerVerdict | None = None

    def is_same(self, other: Failure) -> bool:
        """Return whether another failure is the same one."""
        if self.verdict is None or other.verdict is None:
            return (self.kind, self.marks) == (other.kind, other.marks)
        return self.verdict.signature.matches(other.verdict.signature)

    def __str__(self) -> str:
        if self.verdict is None:
            return ": ".join((self.kind, *self.marks))
        figures = self.verdict.figures
        size = f", {figures.largest:.2g} {figures.unit}" if figures.unit else ""
        return f"{' + '.join(self.verdict.types)}: {figures.kind}{size}"

    @classmethod
    def of_verdict(cls, found: Mapping[str, Any]) -> Self:
        """Return the failure of a wrong layer.

        Args:
            found: What :meth:`LayerVerdict.as_dict` returned.
        """
        names = LayerVerdict.__slots__
        own = {name: found[name] for name in names if name in found}
        figures = {name: found[name] for name in Figures.__slots__}
        first = figures["first"]
        figures |= {"kind": ErrorKind(found["kind"]), "first": first and tuple(first)}
        own |= {name: tuple(found[name]) for name in ("layers", "types")}
        return cls("wrong layer", verdict=LayerVerdict(**own, figures=Figures(**figures)))

    @classmethod
    def of_error(cls, kind: str, message: str) -> Self:
        """Return the failure of an error, without names and numbers."""
        return cls("error", (kind, _QUOTED.sub("_", message)[:300]))

    @classmethod
    def of_ending(cls, ending: Ending) -> Self:
        """Return the failure of a process that ended by itself."""
        if ending.cause == "deadline":
            return cls("hang")
        found = _FRAME.search(ending.errors.decode(errors="replace"))
        frame = f"{PurePath(found[1]).name}:{found[2]}" if found else "no frame"
        return cls("crash", (str(ending), frame))
