# SPDX-License-Identifier: MIT
"""Tuning: the tile of each product of matrices, measured on the device before it first runs.

All tiles make the same bits, so that a choice is one of time alone.
"""

from __future__ import annotations

import functools
import itertools
import json
import logging
import math
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyopencl as cl

from armnn.errors import ArmnnError, InvalidArgumentError
from armnn_backend_cl.device import Queue
from armnn_backend_cl.launches import In, Launch, LaunchingWorkload, Tile
from armnn_backend_cl.memory import DeviceMemory, DeviceTensor

if TYPE_CHECKING:
    from armnn.backends import Step
    from armnn.tensor import TensorInfo
    from armnn_backend_cl.device import Device
    from armnn_backend_cl.options import GpuAccModel

MOST_LEVEL: Final = 3
"""The most thorough level: 1 tries parts of the result that groups make, 2 also the tiles of work
items, 3 all of these with groups of several sizes."""

_ROWS: Final = (2, 4, 8)
_WIDTHS: Final = (4, 8, 16)
_SIDES: Final = (1, 2, 4, 8, 16)
_GROUPS: Final = (32, 64, 128, 256)

_REPEATS: Final = 3
"""Timed runs of a candidate, after one that the driver may still compile in."""

_ROUNDS: Final = 8
"""Runs in turns of the best candidate and of the tile that is not tuned."""

_GAIN: Final = 0.95
"""The share of the time of the tile that is not tuned from which on another one is taken."""

_FORMAT: Final = "GpuAcc tuning 1"
_MOST_BYTES: Final = 1 << 24

_log = logging.getLogger(__name__)


class Tuner:
    """Finds the tiles of launches; known ones are kept in a file, and by the host.

    Args:
        level: How thoroughly it measures, from 0, not at all, to :data:`MOST_LEVEL`.
        path: The file that known tiles are read from, and, if it measures, written to; "" for none.
    """

    def __init__(self, level: int, path: str) -> None:
        """Read the file, or begin it.

        Raises:
            InvalidArgumentError: It cannot be read or written, or is none of these files.
        """
        self._level, self._path = level, path
        self._lock = threading.Lock()
        self._known: dict[str, tuple[int, Tile]] = {}
        if path and (level == 0 or os.path.exists(path)):
            self._known = _read(path)
        elif path:
            self._write()

    def tuned(
        self,
        device: Device,
        launches: Sequence[Launch],
        inputs: Sequence[TensorInfo | None],
        outputs: Sequence[TensorInfo],
        model: GpuAccModel,
    ) -> list[Launch]:
        """Return the launches of a layer with the tiles that are known or measured.

        Args:
            device: Where they run.
            launches: Those of the layer.
            inputs: What they read.
            outputs: What they write.
            model: Has the host's blobs.
        """
        return [
            each
            if each.tiling is None or not each.items
            else each.tiling.retiled(self._tile(each, _Measurement(device, model, inputs, outputs)))
            for each in launches
        ]

    def _tile(self, launch: Launch, measurement: _Measurement) -> Tile:
        """Return the tile that is known for a product, else measure."""
        tiling, device, blobs = launch.tiling, measurement.device, measurement.model.blobs
        assert tiling is not None
        key = f"{device.name}, {device.driver}: {_problem_of(launch)}"
        kept = f"tile 1, level {self._level}, {key}"
        with self._lock:
            level, tile = self._known.get(key, (0, tiling.tile))
            if level < self._level and blobs is not None:
                found = _tile_of(blobs.get(kept) or b"")
                if found is not None:
                    level, tile = self._level, found
                    self._know(key, tile)
            # The file is not trusted: a tile that does not fit may read outside of the matrices.
            is_one = tile == tiling.tile or tile in all_tiles(launch)
            if self._level and (level < self._level or not is_one):
                tile = _fastest(launch, self._level, measurement)
                self._know(key, tile)
                if blobs is not None:
                    blobs.put(kept, json.dumps(astuple(tile)).encode())
                return tile
            return tile if is_one else tiling.tile

    def _know(self, key: str, tile: Tile) -> None:
        self._known[key] = self._level, tile
        if self._path:
            try:
                self._write()
            except InvalidArgumentError as error:  # it could be written when it was begun
                _log.warning("%s", error)

    def _write(self) -> None:
        """Write the file, whole or not at all, with the entries that others have added meanwhile.

        Raises:
            InvalidArgumentError: It cannot be written, or is none of these files any more.
        """
        if os.path.exists(self._path):
            for key, found in _read(self._path).items():
                if found[0] > self._known.get(key, (0,))[0]:
                    self._known[key] = found
        tiles = {key: [level, *astuple(tile)] for key, (level, tile) in self._known.items()}
        text = json.dumps({"format": _FORMAT, "tiles": tiles}, indent=1, sort_keys=True)
        try:
            folder = os.path.dirname(os.path.abspath(self._path))
            with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
                file.write(text + "\n")
            try:
                os.replace(file.name, self._path)
            except OSError:
                os.unlink(file.name)
                raise
        except OSError as error:
            raise InvalidArgumentError(
                f"cannot write TuningFile {self._path!r} of backend 'GpuAcc': {error.strerror}"
            ) from error


def _fastest(launch: Launch, level: int, measurement: _Measurement) -> Tile:
    """Return the fastest tile, the one that the launch has unless another is clearly faster."""
    tiling = launch.tiling
    assert tiling is not None
    first = best = tiling.tile
    times = {first: measurement.time(launch)}
    for stage in stages(launch, level):
        for tile in stage(best):
            if tile not in times:
                times[tile] = measurement.time(tiling.retiled(tile), times[best])
        best = min(times, key=times.__getitem__)
    if best != first and times[best] < _GAIN * times[first]:
        pairs = [(measurement.again(first), measurement.again(best)) for _ in range(_ROUNDS)]
        before, after = map(min, zip(*pairs, strict=True))
        if after < _GAIN * before:
            return best
    return first


class _Measurement:
    """Runs a launch with several tiles on tensors of ones, in a queue that takes times.

    Args:
        device: Where.
        model: Has packed weights and programs.
        inputs: What the layer reads.
        outputs: What it writes.
    """

    def __init__(
        self,
        device: Device,
        model: GpuAccModel,
        inputs: Sequence[TensorInfo | None],
        outputs: Sequence[TensorInfo],
    ) -> None:
        self.device, self.model = device, model
        self._infos = inputs, outputs
        self._tensors: tuple[list[DeviceTensor | None], list[DeviceTensor]] | None = None
        # Packed weights are shared as long as a step has them: those of one width by all its tiles.
        self._steps: dict[Tile, Step] = {}

    @functools.cached_property
    def _queue(self) -> Queue:
        queue = Queue(self.device)
        timed = cl.command_queue_properties.PROFILING_ENABLE
        queue.commands = cl.CommandQueue(self.device.context, self.device.device, timed)
        return queue

    def time(self, launch: Launch, least: float = math.inf) -> float:
        """Return the nanoseconds of a launch, infinity if it cannot run.

        Args:
            launch: With any tile.
            least: The time of the best so far; what takes more than twice of it is run once.
        """
        assert launch.tiling is not None
        tile = launch.tiling.tile
        try:
            if self._tensors is None:
                self._tensors = self._made(launch)
            workload = LaunchingWorkload(self.device, [launch], self.model, ("tuning", "tuning"))
            self._steps[tile] = workload.bind_in(*self._tensors, self._queue)
            self.again(tile)
            found = self.again(tile)
            for _ in range(_REPEATS - 1 if found <= 2 * least else 0):
                found = min(found, self.again(tile))
        except (ArmnnError, cl.Error) as error:  # such as too many registers for so large a group
            _log.debug("a tile of %s cannot be measured: %s", launch.kernel, error)
            return math.inf
        return found

    def again(self, tile: Tile) -> float:
        """Return the nanoseconds of another run with a tile that was measured."""
        self._steps[tile]()
        event = self._queue.last
        assert event is not None
        event.wait()
        return float(event.profile.end - event.profile.start)

    def _made(self, launch: Launch) -> tuple[list[DeviceTensor | None], list[DeviceTensor]]:
        """Return tensors of ones: other numbers in new memory may be slow to compute with."""
        memory, queue = DeviceMemory(self.device), self._queue
        read = {each.place for each in launch.arguments if isinstance(each, In)}
        inputs = [
            memory.create(info, queue) if info is not None and place in read else None
            for place, info in enumerate(self._infos[0])
        ]
        outputs = [memory.create(info, queue) for info in self._infos[1]]
        for each in (*inputs, *outputs):
            if each is not None:
                whole = each.buffer.size // 4 * 4
                cl.enqueue_fill_buffer(
                    queue.commands, each.buffer, np.ones(1, np.float32), 0, whole
                )
        return inputs, outputs


def stages(launch: Launch, level: int) -> Iterator[Callable[[Tile], Sequence[Tile]]]:
    """Yield the stages of a level: each returns the tiles to try, given the best one so far."""
    if level == MOST_LEVEL:
        yield lambda _: all_tiles(launch)
        return
    everything = all_tiles(launch)
    if level == MOST_LEVEL - 1:
        yield lambda best: [
            each
            for each in everything
            if (each.side, each.group) == (min(best.side, _panels(launch, each)), best.group)
        ]
    yield lambda best: [each for each in everything if replace(each, side=best.side) == best]


def all_tiles(launch: Launch) -> list[Tile]:
    """Return the tiles that a product may have but for the one that it has by default."""
    tiling = launch.tiling
    assert tiling is not None
    tiles = (
        Tile(rows, width, side, group)
        for rows, width, side, group in itertools.product(_ROWS, _WIDTHS, _SIDES, _GROUPS)
        if width <= tiling.most_columns
    )
    return [each for each in tiles if each.side <= _panels(launch, each)]


def _panels(launch: Launch, tile: Tile) -> int:
    """Return the most panels that a group makes beside each other: a power of two."""
    tiling = launch.tiling
    assert tiling is not None
    panels = -(-tiling.panels * tiling.tile.width // tile.width)
    return 1 << max(panels - 1, 0).bit_length()


def _problem_of(launch: Launch) -> str:
    """Return the name of a launch with its default tile: the kernel, and a digest of the rest."""
    numbers = [each for each in launch.arguments if isinstance(each, (int, float, tuple, list))]
    text = json.dumps([launch.source, numbers, launch.items])
    return f"{launch.kernel} {sha256(text.encode()).hexdigest()[:32]}"


def _tile_of(content: bytes) -> Tile | None:
    """Return the tile of a blob, None if it is none."""
    try:
        found = json.loads(content[:256])
    except (ValueError, RecursionError):
        return None
    return Tile(*found) if _is_numbers(found, len(astuple(Tile(0, 0, 0)))) else None


def _is_numbers(value: object, count: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == count
        and all(type(each) is int and 0 <= each <= max(_GROUPS) for each in value)
    )


def _at_once(path: str, flags: int) -> int:
    """Open a file, also a pipe without a writer, for which ``open`` would wait."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _read(path: str) -> dict[str, tuple[int, Tile]]:
    """Return the tiles that a file knows.

    Raises:
        InvalidArgumentError: It cannot be read, or is none of these files.
    """
    what = f"TuningFile {path!r} of backend 'GpuAcc'"
    try:
        with open(path, "rb", opener=_at_once) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidArgumentError(f"cannot read {what}: it is not a regular file")
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot read {what}: {error.strerror}; TuningLevel 1 to {MOST_LEVEL} writes it"
        ) from error
    try:
        found: Any = json.loads(content) if len(content) <= _MOST_BYTES else None
    except (ValueError, RecursionError):
        found = None
    tiles = found.get("tiles") if isinstance(found, Mapping) else None
    if not isinstance(tiles, Mapping) or found.get("format") != _FORMAT:
        raise InvalidArgumentError(
            f"{what} begins with {content[:32]!r}: expected JSON with the format {_FORMAT!r}, of "
            f"at most {_MOST_BYTES} bytes, as TuningLevel 1 to {MOST_LEVEL} writes it"
        )
    for key, value in tiles.items():
        if not _is_numbers(value, 5) or value[0] > MOST_LEVEL:
            raise InvalidArgumentError(
                f"{what} has {value!r} for {key!r}: expected a level, at most {MOST_LEVEL}, and "
                f"rows, width, side and group of a tile, at most {max(_GROUPS)}"
            )
    return {key: (level, Tile(*tile)) for key, (level, *tile) in tiles.items()}
