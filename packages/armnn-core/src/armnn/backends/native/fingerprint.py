# SPDX-License-Identifier: MIT
"""The sha256 of a graph: equal if and only if the layers compute the same from the same inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from armnn._digest import sha256

if TYPE_CHECKING:
    import hashlib

    from armnn.graph import Layer, Value


def fingerprint_of(
    layers: Iterable[Layer], inputs: Iterable[Value], outputs: Iterable[Value]
) -> str:
    """Return the fingerprint in hexadecimal; names do not count, constants do.

    Args:
        layers: In topological order.
        inputs: The values that others make and the layers read, constants too.
        outputs: The values that others read.
    """
    digest = sha256()
    numbers: dict[Value, int] = {}
    for value in inputs:
        numbers[value] = len(numbers)
        _add(digest, f"value {value.info!r}")
        if value.constant is not None:
            # A flat copy of the bytes only where the array has gaps; 0-d arrays have no view.
            digest.update(np.ascontiguousarray(value.constant).reshape(-1).view(np.uint8).data)
    for layer in layers:
        read = [None if value is None else numbers[value] for value in layer.inputs]
        _add(digest, f"layer {layer.type} {layer.descriptor!r} {read}")
        for value in layer.outputs:
            numbers[value] = len(numbers)
            _add(digest, f"output {value.info!r}")
    _add(digest, f"outputs {[numbers[value] for value in outputs]}")
    return digest.hexdigest()


def _add(digest: hashlib._Hash, text: str) -> None:
    """Add a text whose end can be told from the next one's beginning."""
    raw = text.encode()
    digest.update(len(raw).to_bytes(8, "little"))
    digest.update(raw)
