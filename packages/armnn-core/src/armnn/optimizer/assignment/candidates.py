# SPDX-License-Identifier: MIT
"""Backends' answers about layers, and the values of constant ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.backends import ArrayHandle, Support
from armnn.errors import BackendError
from armnn.graph import Layer, Network, Value
from armnn.layers import Descriptor
from armnn.optimizer.candidate import Candidate
from armnn.optimizer.symbolic.arithmetic import plain_outputs
from armnn.tensor import TensorInfo


class NetworkAnswers:
    """Backends' answers about a network's layers, each given once.

    A backend that answers for a whole network is asked about all layers when it is first asked
    about one of them. An answer holds as long as the layer has the parameters, the kinds of inputs
    (constant ones: the same values) and the kinds of outputs that the backend saw, whatever
    becomes of the layers around it. After that, the backend is asked about the layer alone.
    """

    def __init__(self, network: Network, layers: Iterable[Layer]) -> None:
        """Ask no backend yet.

        Args:
            network: The network, as backends are to see it.
            layers: Those of its layers that need a backend.
        """
        self._network = network
        self._layers = tuple(layers)
        self._answers: dict[str, dict[Layer, tuple[_Offer, Support]]] = {}

    def of(self, candidate: Candidate, layer: Layer) -> Support:
        """Return the answer of a backend about a layer.

        Raises:
            BackendError: The backend failed instead of answering.
        """
        answers_of_backend = self._answers.get(candidate.id)
        if answers_of_backend is None:
            answers = candidate.query(self._network, self._layers)
            answers_of_backend = self._answers[candidate.id] = {
                each: (_offer_of(each), answer) for each, answer in answers.items()
            }
        offer, known = _offer_of(layer), answers_of_backend.get(layer)
        if known is not None and known[0] == offer:
            return known[1]
        answer = candidate.supports(layer)
        answers_of_backend[layer] = offer, answer
        return answer

    def adopt(self, candidate: Candidate, layer: Layer, answer: Support) -> None:
        """Note a backend's earlier answer about an equal layer."""
        self._answers[candidate.id][layer] = _offer_of(layer), answer

    def ask_about(self, layers: Iterable[Layer]) -> None:
        """Ask backends that were not asked before about these layers."""
        self._layers = tuple(layers)


_Offer: TypeAlias = "list[Descriptor | TensorInfo | Value | None]"
"""What an answer depends on: parameters, inputs with those that are constant, outputs."""


def _offer_of(layer: Layer) -> _Offer:
    offer: _Offer = [layer.descriptor]
    # Asked of each layer several times: comprehensions and properties take twice the time.
    for value in layer.inputs:
        if value is None:
            offer.append(None)
            continue
        offer.append(value.info)
        if value.producer.data is not None:
            offer.append(value)
    for made in layer.outputs:
        offer.append(made.info)
    return offer


class Evaluator:
    """Computes layers with constant inputs during preparation.

    What has one right value is computed here. The first backend that supports another layer
    computes it: CpuRef if it is there, as the definition of right, then the backends of the
    network.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = tuple(candidates)

    def __call__(
        self, layer: Layer, spare: NDArray[Any] | None = None, /
    ) -> Sequence[NDArray[Any]] | None:
        """Return the outputs' data, None if no backend computes them.

        Args:
            layer: Its inputs are constant or absent, the shapes of its outputs are known.
            spare: The data of an input that nothing else needs; an output may be written there.
        """
        found = plain_outputs(layer, spare)
        if found is not None:
            return found
        for candidate in self._candidates:
            if candidate.supports(layer):
                return _compute(candidate, layer)
        return None


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
        candidate.bind(candidate.workload(layer), layer, inputs, outputs)()
    except Exception as error:
        raise BackendError(
            f"backend {candidate.id!r} failed to compute the constant layer {layer.name!r} "
            f"({layer.type}): {error}"
        ) from error
    return arrays
