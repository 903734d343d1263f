# SPDX-License-Identifier: MIT
"""Intermediate tensors, given to a function, printed or written."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import Step, TensorHandle, Workload
from armnn.errors import ExecutionError, InvalidArgumentError
from armnn.optimizer import OptimizerOptions
from armnn.optimizer.options import DEBUG_FOLDER
from armnn.optimizer.plan import Observation
from armnn.tensor import TensorInfo

MOST_PRINTED = 1000
"""Elements of a tensor up to which ``debug=True`` prints them all."""

_MOST_NAMED = 80
"""Characters of a layer's name that are in the name of its file."""


class TensorSink:
    """The receivers of a network's intermediate tensors.

    Args:
        options: The function, or whether tensors are printed; the folder, or whether there is one.

    Raises:
        InvalidArgumentError: The folder cannot be made.
    """

    def __init__(self, options: OptimizerOptions) -> None:
        self._callback = options.debug if callable(options.debug) else None
        self._prints = options.debug is True
        self._folder: Path | None = None
        self._numbers = itertools.count()
        if options.debug_to_file:
            chosen = options.debug_to_file
            self._folder = Path(DEBUG_FOLDER if chosen is True else str(chosen))
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidArgumentError(
                    f"the debug_to_file {str(self._folder)!r} cannot be made: "
                    f"{error.strerror or error}, expected a folder that is yours to write"
                ) from error

    def workload(self, observation: Observation) -> Workload:
        """Return the workload of an inserted Debug layer."""
        safe = re.sub(r"[^\w.-]", "_", observation.layer)[:_MOST_NAMED]
        stem = f"{next(self._numbers):04d}_{safe}_{observation.slot}"

        def receive(info: TensorInfo, array: NDArray[Any]) -> None:
            described = _described(observation, info, array)
            if self._folder is not None:
                _write(self._folder / stem, described, array)
            if self._prints:
                small = array.size <= MOST_PRINTED
                data = {"data": array.tolist()} if small else {}
                print(json.dumps({**described, **data}, default=str))
            if self._callback is not None:
                self._callback(observation.layer, observation.slot, array)

        return _ObservedTensor(receive)


class _ObservedTensor(Workload):
    """The copy of a tensor, shown on its way."""

    def __init__(self, receive: Callable[[TensorInfo, NDArray[Any]], None]) -> None:
        self._receive = receive

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        (source,), (target,) = inputs, outputs
        if source is None:
            raise ExecutionError("a Debug layer needs a tensor to show: got none")

        def step() -> None:
            try:
                array = np.array(source.map())
            finally:
                source.unmap()
            target.copy_from(array)
            self._receive(source.info, array)

        return step


def _described(observation: Observation, info: TensorInfo, array: NDArray[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "layer": observation.layer,
        "slot": observation.slot,
        "data_type": info.data_type.arm_name,
        "shape": list(array.shape),
    }
    if info.is_quantized:
        quantization = {"scales": info.scales, "zero_points": info.zero_points, "axis": info.axis}
        found.update(quantization)
    return {**found, "min": _extreme(array, np.min), "max": _extreme(array, np.max)}


def _extreme(array: NDArray[Any], function: Callable[..., Any]) -> object:
    """Return the least or largest number for JSON."""
    if array.size == 0:
        return None
    number = function(array)
    value = float(number) if array.dtype.kind in "fV" else number.item()
    return value if np.isfinite(value) else str(value)


def _write(stem: Path, described: dict[str, Any], array: NDArray[Any]) -> None:
    """Write an array and its description.

    Each file is complete whenever it is there: runs of several threads write the same ones.
    """
    for suffix in (".npy", ".json"):
        target = stem.with_name(stem.name + suffix)
        unfinished = stem.with_name(f".{stem.name}.{id(array)}{suffix}")
        if suffix == ".npy":
            np.save(unfinished, array)
        else:
            text = json.dumps({**described, "file": f"{stem.name}.npy"}, default=str, indent=1)
            unfinished.write_text(text + "\n", encoding="utf-8")
        unfinished.replace(target)
