# SPDX-License-Identifier: MIT
"""Equal constants of a network's specialisations, as one array."""

from __future__ import annotations

import threading
import zlib
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Network

SMALLEST_SHARED = 1024
"""Bytes of a constant from which on it is worth to be looked for."""


class SharedConstants:
    """The constants of a network's specialisations, while one holds them.

    Weights that the network itself holds are shared as they are. What is made of them for a
    specialisation (another layout, a batch normalisation folded in) is compared by content.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shared: WeakValueDictionary[int, NDArray[Any]] = WeakValueDictionary()
        self._by_content: WeakValueDictionary[object, NDArray[Any]] = WeakValueDictionary()

    def add(self, network: Network) -> None:
        """Register a network's constants, without comparing them."""
        for layer in network.layers:
            if layer.data is not None:
                self._shared[id(layer.data)] = layer.data

    def share(self, network: Network) -> None:
        """Replace a network's constants by equal, registered arrays."""
        for layer in network.layers:
            data = layer.data
            if data is not None and data.nbytes >= SMALLEST_SHARED:
                layer.data = self._shared_of(data)

    def _shared_of(self, data: NDArray[Any]) -> NDArray[Any]:
        if self._shared.get(id(data)) is data:
            return data
        content = _bytes_of(data)
        key = (data.dtype.str, data.dtype.name, data.shape, zlib.crc32(content.data))
        with self._lock:
            known = self._by_content.setdefault(key, data)
            if known is not data and not np.array_equal(_bytes_of(known), content):
                known = data  # another one has the same checksum
            self._shared[id(known)] = known
        return known


def _bytes_of(data: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
