# SPDX-License-Identifier: MIT
"""Stage 1: an unchanged network, compared where compiled parts border.

Nothing of the network is changed, so backends fuse as always. Their values at the borders are kept
(large ones in a file) until they are closed, so that their weights and those of the reference are
never in memory together.
"""

from __future__ import annotations

import math
import os
import zlib
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.debugging.bench import border_values, disturbed
from armnn.debugging.blocks import blocks_of
from armnn.debugging.clean_values import KEPT_BYTES, NOT_COMPUTED
from armnn.debugging.noise import UNITS, unit_of
from armnn.errors import ExecutionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from armnn.debugging.bench import LoadedPart, Place
    from armnn.debugging.clean_values import CleanValues
    from armnn.graph import Layer, Network, Value
    from armnn.optimizer import ReportRow
    from armnn.tensor import TensorInfo
    from armnn.types import DataType

    Array = NDArray[Any]
    Arrays = Mapping[str, Array]

SUSPICIOUS_UNITS = 64.0
"""Units in the last place between two right networks; more lets stage 2 look at the layers."""

SUSPICIOUS_MEAN_STEPS = 0.25
"""Mean difference in steps from which on a quantised value is suspicious."""


@dataclass(slots=True)
class Suspicion:
    """What stage 1 leaves to stage 2.

    Attributes:
        parts: The layers of each compiled part with a suspicious border, in graph order.
        flaky: The names of layers in parts that computed other bits of the same inputs.
        largest: The largest difference at a border, as a part of the largest number there.
    """

    parts: list[tuple[Layer, ...]] = field(default_factory=list)
    flaky: set[str] = field(default_factory=set)
    largest: float = 0.0


class Observations:
    """What a loaded part computes at its borders.

    Attributes:
        failure: A backend's message if it failed while it ran; "" if it did not.
        changed: The places of values that were other bits in a later run.
    """

    def __init__(self) -> None:
        self.failure = ""
        self.changed: set[Place] = set()
        self._digests: dict[Place, int] = {}
        self._stored: dict[Place, tuple[int, DataType, np.dtype[Any], tuple[int, ...]]] = {}
        self._file = SpooledTemporaryFile(KEPT_BYTES)  # noqa: SIM115 - closed by close()

    def run(self, loaded: LoadedPart, inputs: Arrays, repeats: int) -> None:
        """Keep the values of one run; compare further ones' bits.

        Runs with other inputs come before the first two, so that a result that was left behind
        shows.
        """
        try:
            loaded.run(disturbed(loaded.inputs, inputs))
            loaded.observer = self._keep
            loaded.run(inputs)
            loaded.observer = None
            loaded.run(disturbed(loaded.inputs, inputs, negated=True))
            loaded.observer = self._watch_bits
            for _ in range(repeats):
                loaded.run(inputs)
        except ExecutionError as error:
            self.failure = str(error)
        finally:
            loaded.observer = None

    def of(self, value: Value) -> Array | None:
        """Return what was computed, None if it was not observed."""
        place = (value.producer.name, value.index)
        if place not in self._stored:
            return None
        start, data_type, dtype, shape = self._stored[place]
        if data_type is not value.info.data_type:
            return None  # a backend of other types was handed a conversion of it
        self._file.seek(start)
        size = math.prod(shape) * dtype.itemsize
        return np.frombuffer(self._file.read(size), dtype).reshape(shape)

    def close(self) -> None:
        """Drop the values."""
        self._file.close()

    def _keep(self, place: Place, data_type: DataType, got: Array) -> None:
        self._digests[place] = digest(got)
        start = self._file.seek(0, os.SEEK_END)
        self._stored[place] = start, data_type, got.dtype, got.shape
        self._file.write(np.ascontiguousarray(got).reshape(-1).view(np.uint8).data)

    def _watch_bits(self, place: Place, _: DataType, got: Array) -> None:
        if self._digests.get(place) != digest(got):
            self.changed.add(place)


def suspicion_of(
    observed: Observations, rows: Mapping[str, ReportRow], layers: Network, clean: CleanValues
) -> Suspicion:
    """Compare observations with clean values, which all are computed.

    Args:
        observed: What the backends computed.
        rows: The report's row of each layer by name.
        layers: The network as backends got it.
        clean: Its values by the reference.
    """
    parts = parts_of(rows, layers)
    borders = _border_values(parts)
    suspicious: dict[Value, None] = {}
    changed: dict[Value, None] = {}
    largest = 0.0
    for visit in clean:
        for value, right in zip(visit.layer.outputs, visit.outputs, strict=True):
            got = observed.of(value) if value in borders else None
            if got is None:
                continue
            distance = _distance(got, right, value.info)
            largest = max(largest, distance if np.isfinite(distance) else 1.0)
            if not distance <= _allowed(value.info):
                suspicious[value] = None
            if (value.producer.name, value.index) in observed.changed:
                changed[value] = None
    failed = bool(observed.failure)
    return Suspicion(
        parts=[part for part in parts if failed or _makes(part, {**suspicious, **changed})],
        flaky={layer.name for part in parts if _makes(part, changed) for layer in part},
        largest=largest,
    )


def parts_of(rows: Mapping[str, ReportRow], layers: Network) -> list[tuple[Layer, ...]]:
    """Return the layers of each compiled part, or one alone.

    Parts are in the order of their first layers.
    """
    parts: dict[tuple[str, str], list[Layer]] = {}
    for layer in layers.topological_order():
        row = rows.get(layer.name)
        if row is not None and layer.type not in NOT_COMPUTED:
            key = ("part", row.compiled_into) if row.compiled_into else ("layer", layer.name)
            parts.setdefault(key, []).append(layer)
    return [tuple(part) for part in parts.values()]


def is_near(got: NDArray[Any], clean: NDArray[Any], info: TensorInfo) -> bool:
    """Return whether two values differ too little for suspicion."""
    return _distance(got, clean, info) <= _allowed(info)


def _border_values(parts: Sequence[tuple[Layer, ...]]) -> dict[Value, None]:
    return {value: None for layers in parts for value in border_values(layers)}


def _makes(layers: tuple[Layer, ...], values: Mapping[Value, None]) -> bool:
    return any(value in values for layer in layers for value in layer.outputs)


def digest(array: NDArray[Any]) -> int:
    """Return a number that is another one for other bits."""
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")


def _distance(got: NDArray[Any], clean: NDArray[Any], info: TensorInfo) -> float:
    """Return two arrays' distance, infinite if not comparable.

    The unit is a part of the largest number, or the mean of steps.
    """
    if got.shape != clean.shape:
        return np.inf
    if not got.size:
        return 0.0
    far = total = scale = 0.0
    for block in blocks_of(got, clean, None, None):
        a, b = block.got, block.reference
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):  # two infinities have no distance
            distances = np.where(same, 0.0, np.abs(a - b))
        far = max(far, float(np.nan_to_num(distances, nan=np.inf).max()))
        total += float(distances.sum())
        scale = max(scale, float(np.abs(b[np.isfinite(b)]).max(initial=0.0)))
    if not far:
        return 0.0
    if info.is_quantized:
        return max(total / got.size, far - 1)
    if not info.data_type.is_float or not np.isfinite(far):
        return np.inf
    return far / scale if scale else np.inf


def _allowed(info: TensorInfo) -> float:
    if info.is_quantized:
        return SUSPICIOUS_MEAN_STEPS
    return SUSPICIOUS_UNITS * unit_of(info) if info.data_type in UNITS else 0.0
