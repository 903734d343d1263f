# SPDX-License-Identifier: MIT
"""Finds the static backends: the entry points of ``armnn.backends``, without importing any."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING

from armnn import _metadata
from armnn.backends.entries import BackendEntry, BackendState
from armnn.backends.loading import VALID_ID, FoundBackend, incompatibility
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, __version__

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

GROUP = "armnn.backends"
"""The entry-point group: an entry's name is the backend's id, its value a class or an instance."""

CONTRACT = "armnn-backend-api"
"""The distribution whose version is the Backend API version; backends depend on a range of it."""

_found: dict[tuple[_metadata.EntryPoint, BackendVersion], FoundBackend] = {}
_lock = threading.Lock()


def static_backends(api_version: BackendVersion) -> tuple[FoundBackend, ...]:
    """Return the static backends, by normalised distribution name.

    They belong to the process: each call returns the same objects until :func:`refresh`.

    Args:
        api_version: The Backend API version that the core provides.
    """
    entry_points = _metadata.entry_points(GROUP)
    with _lock:
        for entry_point in entry_points:
            if (entry_point, api_version) not in _found:
                _found[entry_point, api_version] = _found_backend(entry_point, api_version)
        return tuple(_found[entry_point, api_version] for entry_point in entry_points)


def refresh() -> None:
    """Look again for what is installed: a new backend is found, a repaired one gets a new chance.

    Backends that are loaded stay as they are.
    """
    _metadata.refresh()
    with _lock:
        for key, found in tuple(_found.items()):
            if found.entry.state is not BackendState.LOADED:
                del _found[key]


def _found_backend(entry_point: _metadata.EntryPoint, api_version: BackendVersion) -> FoundBackend:
    distribution = entry_point.distribution
    declared = _declared_range(distribution)
    state, reason, remedy = _verdict(entry_point, declared, api_version)
    entry = BackendEntry(
        id=entry_point.name,
        state=state,
        origin=entry_point.value,
        distribution=distribution.name,
        version=distribution.version,
        location=distribution.location,
        declared_range="" if declared is None else _spelled(declared),
        reason=reason,
        remedy=remedy,
    )
    path = entry_point.file if state is BackendState.KNOWN else None
    audited = (entry.id, path or entry_point.value, None)
    return FoundBackend(entry, entry_point.load, api_version, audited)


def _verdict(
    entry_point: _metadata.EntryPoint, declared: SpecifierSet | None, api_version: BackendVersion
) -> tuple[BackendState, str, str]:
    """Return the state, the reason and the remedy, from what is known without an import."""
    distribution = entry_point.distribution
    if not VALID_ID.fullmatch(entry_point.name):
        return (
            BackendState.FAILED,
            "has no valid id: expected letters and digits",
            f"tell the authors of {distribution.name}",
        )
    if entry_point.is_stale:
        reason = (
            f"is not there: its module {entry_point.module!r} does not exist, so the metadata in "
            f"{distribution.location} is stale"
        )
        remedy = f"run pip install --force-reinstall {distribution.name}, or remove that metadata"
        return BackendState.FAILED, reason, remedy
    if declared is not None and not declared.contains(_provided(api_version), prereleases=True):
        reason, remedy = incompatibility(
            distribution.name,
            _spelled(declared),
            api_version,
            core_is_older=_begins_after(declared, api_version),
        )
        return BackendState.INCOMPATIBLE, reason, remedy
    return BackendState.KNOWN, "", ""


def _declared_range(distribution: _metadata.InstalledDistribution) -> SpecifierSet | None:
    """Return which versions of the Backend API a distribution admits, None if it does not say."""
    declared: SpecifierSet | None = None
    for text in distribution.requires:
        range_ = _range_of_contract(text)
        if range_ is not None:
            declared = range_ if declared is None else declared & range_
    return declared


def _range_of_contract(text: str) -> SpecifierSet | None:
    """Return the versions that a requirement admits; None if it is none of the contract, here."""
    name = re.match(r"\s*([\w.-]*\w)", text)
    if name is None or _metadata.normalized(name[1]) != CONTRACT:
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # late: slow to import

    plain = re.fullmatch(r"[\w\s.-]+?([<>=!~][<>=!~\s\w.*+,]*)", text)
    if plain is not None:
        try:
            return SpecifierSet(plain[1])
        except InvalidSpecifier:
            return None
    from packaging.requirements import InvalidRequirement, Requirement  # late: slower still

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
    return requirement.specifier if applies else None


def _provided(api_version: BackendVersion) -> str:
    """Return the version of the contract's distribution that stands for a Backend API version."""
    return __version__ if api_version == BACKEND_API_VERSION else f"{api_version}.0"


def _begins_after(declared: SpecifierSet, api_version: BackendVersion) -> bool:
    """Return whether a lower bound of the range is above what the core provides."""
    from packaging.version import Version

    provided = Version(_provided(api_version))
    lower_bounds = [
        specifier.version.removesuffix(".*")
        for specifier in declared
        if specifier.operator in (">=", ">", "~=", "==")
    ]
    return any(Version(bound) > provided for bound in lower_bounds)


def _spelled(declared: SpecifierSet) -> str:
    """Return the range as an author would write it: the lower bound first."""
    return ",".join(
        sorted(map(str, declared), key=lambda text: (text.startswith(("<", "!")), text))
    )
