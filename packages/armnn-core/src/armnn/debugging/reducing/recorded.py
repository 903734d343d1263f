# SPDX-License-Identifier: MIT
"""The reference's values of a model's segments, kept for cuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends import CreationOptions
from armnn.debugging.bench import Bench
from armnn.debugging.clean_values import CleanValues
from armnn.debugging.comparing import MOST_SEGMENTS
from armnn.debugging.reducing.candidate import Candidate
from armnn.debugging.reference import Reference
from armnn.optimizer.options import OptimizerOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Network, Value

    Array = NDArray[Any]

KEPT_BYTES = 2**20
"""Values from this size on are kept in files."""


class Recorder:
    """Computes and records values with the reference.

    Args:
        reference: The id of the backend.
        folder: Where large values are kept.
        rewrite: Whether the passes of the optimizer run.
    """

    def __init__(self, reference: str, folder: Path, *, rewrite: bool) -> None:
        self._reference, self._folder = reference, folder
        self._bench = Bench([reference], OptimizerOptions(rewrite=rewrite), CreationOptions())
        self._files = 0

    def close(self) -> None:
        """Close the backend."""
        self._bench.close()

    def segments(self, network: Network, inputs: Mapping[str, Array]) -> Iterator[Candidate]:
        """Yield a model's parts that wait for each other's data.

        Branches are resolved by these inputs, and so are unknown shapes.

        Raises:
            ArmnnError: The reference cannot run the model.
        """
        rest: Network | None = network
        arrays = dict(inputs)
        for _ in range(MOST_SEGMENTS):
            if rest is None:
                return
            cut = self._bench.layers(rest.clone, arrays)
            given = {layer.name: arrays[layer.name] for layer in cut.head.inputs}
            segment = Candidate(cut.head, given)
            yield segment
            arrays |= self.outputs(segment)
            rest = cut.rest

    def values(self, candidate: Candidate) -> dict[Value, Array]:
        """Return what each layer of a candidate computes.

        Raises:
            BackendError: The reference does not compute a layer.
        """
        found = {layer.output: candidate.inputs[layer.name] for layer in candidate.network.inputs}
        for visit in self._clean(candidate):
            for value, array in zip(visit.layer.outputs, visit.outputs, strict=True):
                found[value] = array if array.nbytes < KEPT_BYTES else self._mapped(array)
        return found

    def outputs(self, candidate: Candidate) -> dict[str, Array]:
        """Return the outputs of a candidate.

        Raises:
            BackendError: The reference does not compute a layer.
        """
        clean = self._clean(candidate)
        for _ in clean:
            pass
        return clean.outputs

    def _clean(self, candidate: Candidate) -> CleanValues:
        network = candidate.network
        reference = Reference(self._bench.candidate(self._reference, network))
        return CleanValues(network, candidate.inputs, reference)

    def _mapped(self, array: Array) -> Array:
        """Return an array that is read from a file."""
        path = self._folder / f"value {self._files}"
        self._files += 1
        np.ascontiguousarray(array).tofile(path)
        return np.memmap(path, array.dtype, "r", shape=array.shape)
