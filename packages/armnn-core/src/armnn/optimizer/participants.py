# SPDX-License-Identifier: MIT
"""The backends that take part in preparing one network."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from armnn.backends import (
    HOST_FACTORY_ID,
    Backend,
    Capability,
    ModelContext,
    OptionValue,
    ProfilingSink,
    Step,
    SubgraphView,
    TensorHandle,
    TensorHandleFactories,
    Workload,
)
from armnn.backends.calling import attempt, call, check_answer
from armnn.backends.contract import NetworkBackend, Support
from armnn.backends.selection import SkippedBackend, any_placed
from armnn.errors import ArmnnError, BackendError
from armnn.types import MemorySource, QuantizedArithmetic

if TYPE_CHECKING:  # a prepared load imports neither graph nor layers
    from armnn.graph import Layer, Network
    from armnn.layers import RequiredApi


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A backend with its model context.

    Attributes:
        backend: The backend.
        model: Its context for the network, shared by all specializations.
    """

    backend: Backend
    model: ModelContext

    @classmethod
    def of(cls, backend: Backend, options: Mapping[str, OptionValue]) -> Candidate:
        """Return a backend with a new context for a network with these options.

        Raises:
            InvalidArgumentError: The backend does not know an option.
            BackendError: The backend returned something else than a context.
        """
        return cls(backend, call(backend.id, backend, "create_model_context", options))

    @property
    def id(self) -> str:
        """The backend's id."""
        return self.backend.id

    @property
    def handle_factory_preferences(self) -> Sequence[str]:
        """The ids of the tensor-handle factories of the network's tensors."""
        chosen = self.model.handle_factory_preferences
        return self.backend.handle_factory_preferences if chosen is None else chosen

    @property
    def memory(self) -> str:
        """The id of the factory of its tensors: the host's, if its backend works with that."""
        preferences = self.handle_factory_preferences or (HOST_FACTORY_ID,)
        return HOST_FACTORY_ID if HOST_FACTORY_ID in preferences else preferences[0]

    @property
    def copy_latency_bytes(self) -> int:
        """The bytes that are copied to its memory while a copy begins.

        0: It does not say, or is in the host's memory.
        """
        if self.memory == HOST_FACTORY_ID:
            return 0
        stated = call(self.id, self.backend, "capabilities").get(Capability.COPY_LATENCY_BYTES)
        return stated if type(stated) is int and stated > 0 else 0

    def places_on_host(self, layer: Layer) -> tuple[Collection[int], Collection[int]]:
        """Return the inputs and the outputs of a layer that are in host memory in any case."""
        kind, given = type(self.backend), (layer, self.model)
        inputs: Collection[int] = ()
        outputs: Collection[int] = ()
        if kind.host_inputs is not Backend.host_inputs:
            inputs = call(self.id, self.backend, "host_inputs", *given, about=layer)
        if kind.host_outputs is not Backend.host_outputs:
            outputs = call(self.id, self.backend, "host_outputs", *given, about=layer)
        return inputs, outputs

    def supports(self, layer: Layer) -> Support:
        """Return the backend's answer, or the host's for younger layers.

        The host answers on behalf of an older backend. A backend is never offered what is younger
        than the Backend API that it declares: it could not understand it, and so might compute it
        wrongly.

        Raises:
            BackendError: The backend failed instead of answering.
        """
        from armnn.layers import required_api  # late: a prepared load does without

        known = self._answer_of_host(layer, required_api)
        if known is not None:
            return known
        answer: Support = call(self.id, self.backend, "supports", layer, self.model, about=layer)
        return answer

    def workload(self, layer: Layer) -> Workload:
        """Return the backend's workload of a layer that it supports.

        Raises:
            BackendError: The backend failed, or returned something else.
        """
        made: Workload = call(
            self.id, self.backend, "create_workload", layer, self.model, about=layer
        )
        return made

    def bind(
        self,
        workload: Workload,
        layer: Layer,
        inputs: Sequence[TensorHandle | None],
        outputs: Sequence[TensorHandle],
        *scratch: NDArray[np.uint8],
    ) -> Step:
        """Return the step that runs a layer's workload on tensors.

        Args:
            workload: From :meth:`workload`.
            layer: The layer.
            inputs: See :meth:`armnn.backends.Workload.bind`.
            outputs: See there.
            scratch: The scratch memory, if the workload needs some.

        Raises:
            BackendError: The workload returned something that cannot be called.
            Exception: The workload failed; a note names the backend and the layer.
        """
        method = "bind_with_scratch" if scratch else "bind"
        step: Step = call(self.id, workload, method, inputs, outputs, *scratch, about=layer)
        return step

    def query(self, network: Network, layers: Sequence[Layer]) -> dict[Layer, Support]:
        """Return the answers about layers of a network.

        They are empty if the backend takes layers one by one, or fails to answer about all of them
        at once: one by one, the layer that it fails at gets its name into the error.

        Raises:
            BackendError: The backend answered with something else than one Support per layer.
        """
        if not isinstance(self.backend, NetworkBackend):
            return {}
        from armnn.layers import required_api  # late: a prepared load does without

        answers = {layer: self._answer_of_host(layer, required_api) for layer in layers}
        asked = [layer for layer, answer in answers.items() if answer is None]
        if asked:
            view = SubgraphView.of(network, asked)
            about = f"network {network.name!r}"
            try:
                found = attempt(self.id, self.backend, "query", view, self.model, about=about)
            except ArmnnError:
                return {}
            check_answer(self.id, "query", found, (view,), about)
            answers.update(zip(view.layers, found, strict=True))
        return {layer: answer for layer, answer in answers.items() if answer is not None}

    def _answer_of_host(self, layer: Layer, required: Callable[..., RequiredApi]) -> Support | None:
        """Return the refusal of a too young layer, else None.

        It is younger than the backend.
        """
        need = required(layer.spec, layer.descriptor, (*layer.input_infos, *layer.output_infos))
        version = self.backend.api_version
        if (version.major, version.minor) < need.version:
            major, minor = need.version
            return Support.no(
                f"needs Backend API {major}.{minor} for {need.item}, the backend declares {version}"
            )
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Participants:
    """The backends that take part in preparing a network.

    Attributes:
        candidates: The backends to choose from, in the order of preference.
        named: Further backends that only a layer's own choice or hint can reach.
        find_evaluators: Returns the :attr:`evaluators`; one of them may take long to import.
        factories: The tensor-handle factories of all of them.
        profiler: Where the phases are recorded, if anywhere.
        refused_folds: The layers on stored values that backends refused.
        skipped: The backends of the user's list that may be missing and cannot be used.
        choice: Why these take part, if a measurement was asked for.
        host_sources: The source of the host memory that a backend's tensors have, by backend id, if
            it is not plain memory.
    """

    candidates: tuple[Candidate, ...]
    named: tuple[Candidate, ...]
    find_evaluators: Callable[[], Sequence[Candidate]]
    factories: TensorHandleFactories
    profiler: ProfilingSink | None = None
    refused_folds: set[Hashable] = field(default_factory=set)
    skipped: tuple[SkippedBackend, ...] = ()
    choice: str = ""
    host_sources: Mapping[str, MemorySource] = field(default_factory=dict)
    _evaluators: list[Candidate] = field(default_factory=list)

    @property
    def all(self) -> tuple[Candidate, ...]:
        """Every backend that a layer may end up on."""
        return (*self.candidates, *self.named)

    @property
    def context_limit(self) -> int | None:
        """How many runs of a network with limited backends may have a context at a time.

        Raises:
            BackendError: A backend has something else as limit.
        """
        limits: list[int] = []
        for candidate in self.all:
            limit: object = candidate.model.context_limit
            if limit is None:
                continue
            if type(limit) is not int or limit < 1:
                raise BackendError(
                    f"the context_limit of the model context of backend {candidate.id!r} is "
                    f"{limit!r}: expected None or a whole number, at least 1"
                )
            limits.append(limit)
        return min(limits, default=None)

    @property
    def may_lose_one(self) -> bool:
        """Whether the process of a backend may be lost."""
        if not any_placed():
            return False
        # late: a prepared load does without
        from armnn.backends.worker.proxy import IsolatedBackend

        return any(isinstance(each.backend, IsolatedBackend) for each in self.all)

    @property
    def evaluators(self) -> Sequence[Candidate]:
        """The backends that compute constant layers, in order."""
        if not self._evaluators:
            self._evaluators.extend(self.find_evaluators())
            for each, first in itertools.product(self._evaluators, self.all[:1]):
                each.model.quantized_arithmetic = first.model.quantized_arithmetic
        return self._evaluators

    def preferred(self, layers: Sequence[Layer]) -> Layer | None:
        """Return the first layer that the most preferred backend runs.

        Backends that run none of them are passed over; None if all are.
        """
        runs = (layer for each in self.all for layer in layers if each.supports(layer))
        return next(runs, None)

    def places_on_host(self, layer: Layer) -> tuple[Collection[int], Collection[int]]:
        """Return the inputs and the outputs of a layer that its backend has in host memory."""
        for candidate in self.all:
            if candidate.id == layer.backend:
                return candidate.places_on_host(layer)
        return (), ()

    def compute_as(self, arithmetic: QuantizedArithmetic) -> None:
        """Tell every backend how the network's quantized layers round."""
        for candidate in (*self.all, *self._evaluators):
            candidate.model.quantized_arithmetic = arithmetic
