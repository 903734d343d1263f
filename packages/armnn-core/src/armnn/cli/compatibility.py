# SPDX-License-Identifier: MIT
"""The released cores that take a refused backend, by ``matrix.json``."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from armnn._installing import install_command
from armnn.backends import BackendVersion, is_compatible
from armnn.backends.ranges import DeclaredRange

if TYPE_CHECKING:
    from armnn.backends import BackendEntry


def advice(entry: BackendEntry, recorded: dict[str, Any] | None = None) -> str:
    """Return a sentence: the newest released core taking a backend.

    Args:
        entry: The backend, which is incompatible with this core.
        recorded: The record; by default that of the core.
    """
    cores = (matrix() if recorded is None else recorded)["cores"]
    for core in reversed(cores):
        if _takes(BackendVersion.parse(core["api"]), entry):
            version = core["version"]
            return (
                f"armnn-core {version} is the newest recorded release that takes backend "
                f"{entry.id!r} ({entry.owner}): {install_command(f'armnn-core=={version}')}."
            )
    last = cores[-1]["version"]
    return (
        f"No release of armnn-core up to {last} takes backend {entry.id!r} ({entry.owner}), as far "
        "as this core knows."
    )


def matrix() -> dict[str, Any]:
    """Return the record of released cores and tested pairs.

    A core has its Backend API.
    """
    text = (files("armnn.cli") / "matrix.json").read_text(encoding="utf-8")
    recorded: dict[str, Any] = json.loads(text)
    return recorded


def _takes(provided: BackendVersion, entry: BackendEntry) -> bool:
    if entry.api_version is not None:
        return is_compatible(entry.api_version, provided)
    clauses = tuple(entry.declared_range.split(","))
    return DeclaredRange(clauses).admits(f"{provided}.0")
