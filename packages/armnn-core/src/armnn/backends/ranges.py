# SPDX-License-Identifier: MIT
"""The Backend API versions that a distribution declares.

They are those that it works with. ``packaging`` knows what requirements mean; importing it takes
longer than all else that is read of a distribution, so ranges of the usual kind, ``>=1.0,<2``, are
compared here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from armnn import _metadata

_OPERATORS = (">=", "<=", ">", "<")


@dataclass(frozen=True, slots=True)
class DeclaredRange:
    """A range of versions: clauses that must all hold.

    Attributes:
        clauses: Each an operator with a version, as in ``Requires-Dist``.
    """

    clauses: tuple[str, ...]

    def admits(self, version: str) -> bool:
        """Return whether a version is in the range."""
        plain = [_plain_clause(clause) for clause in self.clauses]
        if _is_plain(version) and all(plain):
            return all(_holds(version, *found) for found in plain if found)
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
        name, rest = _named(text)
        if _metadata.normalized(name) != contract:
            continue
        found = _clauses(text, rest)
        says = says or found is not None
        clauses.update(dict.fromkeys(found or ()))
    return DeclaredRange(tuple(clauses)) if says else None


def _clauses(text: str, rest: str) -> list[str] | None:
    """Return a requirement's clauses, None if malformed or inapplicable."""
    parts = [part.strip() for part in rest.split(",")]
    plain = [_plain_clause(part) for part in parts]
    if all(plain):
        return ["".join(found) for found in plain if found]
    from packaging.requirements import InvalidRequirement, Requirement  # late: slow to import

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return None
    return [str(specifier) for specifier in requirement.specifier]


def _named(requirement: str) -> tuple[str, str]:
    """Return a requirement's name and the rest."""
    text = requirement.lstrip()
    end = 0
    while end < len(text) and (text[end].isalnum() or text[end] in "_.-"):
        end += 1
    name = text[:end].rstrip(".-")
    return name, text[len(name) :]


def _plain_clause(text: str) -> tuple[str, str] | None:
    """Return a usual clause's operator and version, None of others."""
    operator = next((each for each in _OPERATORS if text.startswith(each)), "")
    version = text[len(operator) :].lstrip()
    return (operator, version) if operator and _is_plain(version) else None


def _is_plain(version: str) -> bool:
    """Return whether a version is numbers with dots between."""
    return all(number.isdecimal() for number in version.split("."))


def _holds(version: str, operator: str, bound: str) -> bool:
    ours, theirs = ([int(part) for part in text.split(".")] for text in (version, bound))
    length = max(len(ours), len(theirs))
    ours += [0] * (length - len(ours))
    theirs += [0] * (length - len(theirs))
    if operator.endswith("=") and ours == theirs:
        return True
    return ours > theirs if operator.startswith(">") else ours < theirs
