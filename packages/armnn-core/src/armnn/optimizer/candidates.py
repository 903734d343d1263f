# SPDX-License-Identifier: MIT
"""The backends that take part in preparing one network, and what they say of its layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.backends import ArrayHandle, Support
from armnn.errors import BackendError
from armnn.layers import required_api

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.backends import Backend, ModelContext
    from armnn.graph import Layer


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A backend and what it knows of the network.

    Attributes:
        backend: The backend.
        model: Its context for the network, shared by all specialisations.
    """

    backend: Backend
    model: ModelContext

    @property
    def id(self) -> str:
        """The backend's id."""
        return self.backend.id

    def supports(self, layer: Layer) -> Support:
        """Return the backend's answer, or the host's on behalf of an older backend.

        A backend is never offered what is younger than the Backend API that it declares: it could
        not understand it, and so might compute it wrongly.

        Raises:
            BackendError: The backend failed instead of answering.
        """
        need = required_api(layer.spec, layer.descriptor, (*layer.input_infos, *layer.output_infos))
        version = self.backend.api_version
        if (version.major, version.minor) < need.version:
            major, minor = need.version
            return Support.no(
                f"needs Backend API {major}.{minor} for {need.item}, the backend declares {version}"
            )
        try:
            return self.backend.supports(layer, self.model)
        except Exception as error:
            raise BackendError(
                f"backend {self.id!r} failed when asked about layer {layer.name!r} ({layer.type}): "
                f"{error}"
            ) from error


class Evaluator:
    """Computes layers whose inputs are constant while a network is prepared.

    The first backend that supports a layer computes it: CpuRef if it is there, as the definition
    of right, then the backends of the network.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = tuple(candidates)

    def __call__(self, layer: Layer) -> Sequence[NDArray[Any]] | None:
        """Return the data of the outputs, None if no backend computes the layer.

        Args:
            layer: Its inputs are constant or absent, the shapes of its outputs are known.
        """
        for candidate in self._candidates:
            if candidate.supports(layer):
                return _compute(candidate, layer)
        return None


class Successors:
    """Says whether a layer may stand for another one: nobody shall lose the layer by that."""

    def __init__(self, candidates: Sequence[Candidate], named: Sequence[Candidate] = ()) -> None:
        self._candidates = tuple(candidates)
        self._named = {candidate.id: candidate for candidate in (*named, *candidates)}

    def __call__(self, successor: Layer, present: Callable[[], Layer]) -> bool:
        """Whether the backend that would compute the present layer computes its successor.

        Args:
            successor: The layer that would come; its hint is that of the present one.
            present: Makes the layer that is there; called only if it matters.
        """
        hinted = self._named.get(successor.backend_hint or "")
        ranked = self._candidates if hinted is None else (hinted, *self._candidates)
        for candidate in ranked:
            if candidate.supports(successor):
                return True
            if candidate.supports(present()):
                return False
        return False


def _compute(candidate: Candidate, layer: Layer) -> Sequence[NDArray[Any]]:
    inputs = [
        None if value is None else ArrayHandle(value.info, np.asarray(value.constant))
        for value in layer.inputs
    ]
    arrays = [np.empty(i.static_shape, i.data_type.numpy_dtype) for i in layer.output_infos]
    outputs = [
        ArrayHandle(info, array) for info, array in zip(layer.output_infos, arrays, strict=True)
    ]
    try:
        candidate.backend.create_workload(layer, candidate.model).bind(inputs, outputs)()
    except Exception as error:
        raise BackendError(
            f"backend {candidate.id!r} failed to compute the constant layer {layer.name!r} "
            f"({layer.type}): {error}"
        ) from error
    return arrays
