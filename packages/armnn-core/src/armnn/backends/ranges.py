# SPDX-License-Identifier: MIT
"""The Backend API versions that a distribution declares.

They are those that it works with. ``packaging`` knows what requirements mean; importing it takes
longer than all else that is read of a distribution, so ranges of the usual kind, ``>=1.0,<2``, are
compared here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from armnn import _metadata
from armnn._dataclasses import dataclass

_PLAIN_CLAUSE = re.compile(r"(>=|<=|>|<)\s*(\d+(?:\.\d+)*)")
_PLAIN_VERSION = re.compile(r"\d+(?:\.\d+)*")


@dataclass(frozen=True, slots=True)
class DeclaredRange:
    """A range of versions: clauses that must all hold.

    Attributes:
        clauses: Each an operator with a version, as in ``Requires-Dist``.
    """

    clauses: tuple[str, ...]

    def admits(self, version: str) -> bool:
        """Return whether a version is in the range."""
        plain = [_PLAIN_CLAUSE.fullmatch(clause) for clause in self.clauses]
        if _PLAIN_VERSION.fullmatch(version) and all(plain):
            return all(_holds(version, found[1], found[2]) for found in plain if found)
        from packaging.specifiers import SpecifierSet  # late: slow to import, seldom needed

        return SpecifierSet(",".join(self.clauses)).contains(version, prereleases=True)

    def begins_after(self, version: str) -> bool:
        """Return whether a lower bound is above a version."""
        from packaging.specifiers import SpecifierSet  # late: for what does not fit
        from packaging.version import Version

        lower_bounds = [
            specifier.version.removesuffix(".*")
            for specifier in SpecifierSet(",".join(self.clauses))
            if specifier.operator in (">=", ">", "~=", "==")
        ]
        return any(Version(bound) > Version(version) for bound in lower_bounds)

    def __str__(self) -> str:
        """Return the range as text, lower bound first."""
        return ",".join(sorted(self.clauses, key=lambda text: (text.startswith(("<", "!")), text)))


def declared_range(requirements: Iterable[str], contract: str) -> DeclaredRange | None:
    """Return the versions admitted by requirements, None if unspecified.

    Args:
        requirements: Each as in ``Requires-Dist``; what is malformed is passed over.
        contract: The normalised name of the distribution.
    """
    clauses: dict[str, None] = {}
    says = False
    for text in requirements:
        name = re.match(r"\s*([\w.-]*\w)", text)
        if name is None or _metadata.normalized(name[1]) != contract:
            continue
        found = _clauses(text, text[name.end() :])
        says = says or found is not None
        clauses.update(dict.fromkeys(found or ()))
    return DeclaredRange(tuple(clauses)) if says else None


def _clauses(text: str, rest: str) -> list[str] | None:
    """Return a requirement's clauses, None if malformed or inapplicable."""
    parts = [part.strip() for part in rest.split(",")]
    if all(_PLAIN_CLAUSE.fullmatch(part) for part in parts):
        return [re.sub(r"\s", "", part) for part in parts]
    from packaging.requirements import InvalidRequirement, Requirement  # late: slow to import

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return None
    return [str(specifier) for specifier in requirement.specifier]


def _holds(version: str, operator: str, bound: str) -> bool:
    ours, theirs = ([int(part) for part in text.split(".")] for text in (version, bound))
    length = max(len(ours), len(theirs))
    ours += [0] * (length - len(ours))
    theirs += [0] * (length - len(theirs))
    if operator.endswith("=") and ours == theirs:
        return True
    return ours > theirs if operator.startswith(">") else ours < theirs
