# SPDX-License-Identifier: MIT
"""Stage 1: an unchanged network, compared where compiled parts border.

Nothing of the network is changed, so backends fuse as always. The reference computes in step, so
that no more of its values are in memory than its own run needs.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.debugging.bench import disturbed
from armnn.debugging.blocks import blocks_of
from armnn.debugging.clean_values import NOT_COMPUTED, CleanValues
from armnn.debugging.noise import UNITS, unit_of
from armnn.errors import ArmnnError, ExecutionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from armnn.debugging.bench import LoadedPart
    from armnn.debugging.reference import Reference
    from armnn.graph import Layer, Value
    from armnn.tensor import TensorInfo

    Arrays = Mapping[str, NDArray[Any]]

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
        failure: What a backend said when it failed while it ran; "" if it did not.
        failed: The names of the layers of the part that failed.
        largest: The largest difference at a border, as a part of the largest number there.
    """

    parts: list[tuple[Layer, ...]] = field(default_factory=list)
    flaky: set[str] = field(default_factory=set)
    failure: str = ""
    failed: set[str] = field(default_factory=set)
    largest: float = 0.0


class BorderCheck:
    """Runs a loaded part beside the reference.

    Args:
        loaded: The part.
        inputs: One array per input.
        reference: Computes the clean values.
    """

    def __init__(self, loaded: LoadedPart, inputs: Arrays, reference: Reference) -> None:
        self._loaded, self._inputs = loaded, inputs
        self._borders = _border_values(loaded)
        self.clean = CleanValues(loaded.layers, inputs, reference, held=self._borders)
        self._digests: dict[Value, int] = {}
        self._suspicious: dict[Value, None] = {}
        self._changed: dict[Value, None] = {}
        self._largest = 0.0
        self._error: ArmnnError | None = None

    def run(self, repeats: int) -> Suspicion:
        """Compare one run; look for other bits in further ones.

        Runs with other inputs come before the first two, so that a result that was left behind
        shows.
        """
        loaded, found = self._loaded, Suspicion()
        try:
            loaded.run(disturbed(loaded.layers, self._inputs))
            loaded.observer = self._compare
            loaded.run(self._inputs)
            loaded.observer = None
            loaded.run(disturbed(loaded.layers, self._inputs, negated=True))
            loaded.observer = self._watch_bits
            for _ in range(repeats):
                loaded.run(self._inputs)
        except ExecutionError as error:
            if self._error is not None:
                raise self._error from None  # the reference failed, not the backend
            found.failure = str(error)
        finally:
            loaded.observer = None
        for _ in self.clean:
            pass  # what the backend did not come to: the next segment may read it
        found.largest = self._largest
        parts = parts_of(loaded)
        found.parts = [
            layers
            for layers in parts
            if found.failure or _makes(layers, {**self._suspicious, **self._changed})
        ]
        found.flaky = {
            layer.name for layers in parts if _makes(layers, self._changed) for layer in layers
        }
        return found

    def _compare(self, value: Value, got: NDArray[Any]) -> None:
        if value not in self._borders:
            return
        self._digests[value] = _digest(got)
        try:
            clean = self.clean.until(value)
        except ArmnnError as error:
            self._error = error
            raise
        distance = _distance(got, clean, value.info)
        self._largest = max(self._largest, distance if np.isfinite(distance) else 1.0)
        if not is_near(got, clean, value.info):
            self._suspicious[value] = None
        self.clean.let_go(value)

    def _watch_bits(self, value: Value, got: NDArray[Any]) -> None:
        if value in self._borders and self._digests.get(value) != _digest(got):
            self._changed[value] = None


def parts_of(loaded: LoadedPart) -> list[tuple[Layer, ...]]:
    """Return the layers of each compiled part, or one alone.

    Parts are in the order of their first layers.
    """
    parts: dict[tuple[str, str], list[Layer]] = {}
    for layer in loaded.layers.topological_order():
        row = loaded.rows.get(layer.name)
        if row is not None and layer.type not in NOT_COMPUTED:
            key = ("part", row.compiled_into) if row.compiled_into else ("layer", layer.name)
            parts.setdefault(key, []).append(layer)
    return [tuple(layers) for layers in parts.values()]


def is_near(got: NDArray[Any], clean: NDArray[Any], info: TensorInfo) -> bool:
    """Return whether two values differ too little for suspicion."""
    return _distance(got, clean, info) <= _allowed(info)


def _border_values(loaded: LoadedPart) -> dict[Value, None]:
    found: dict[Value, None] = {}
    for layers in parts_of(loaded):
        inside = dict.fromkeys(layers)
        for layer in layers:
            for value in layer.outputs:
                if any(reader not in inside for reader, _ in value.uses):
                    found[value] = None
    return found


def _makes(layers: tuple[Layer, ...], values: Mapping[Value, None]) -> bool:
    return any(value in values for layer in layers for value in layer.outputs)


def _digest(array: NDArray[Any]) -> int:
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
