# SPDX-License-Identifier: MIT
"""The identities of models, machines and backends' builds."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from armnn._files import file_sha256
from armnn._processor import described_processor, processor_revision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from armnn.backends import BackendEntry
    from armnn.graph import Network, Value

_END: Final = 1 << 18
"""Bytes of each end of a model's file that its identity covers."""


def identity_of_file(path: Path) -> str:
    """Return the digest of a model's file.

    It is the size and the sha256 of the first and last 256 KiB, which take a millisecond for any
    size: a verdict is advice about time, and another model with both would still compute right.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
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
