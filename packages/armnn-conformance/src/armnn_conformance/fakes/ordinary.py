# SPDX-License-Identifier: MIT
"""Fake backends that compute nothing, refuse, fail or record.

They test everything around backends. They work as entry points and as instances;
``NullBackend("B")`` gives an instance another id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from armnn.backends import (
    BACKEND_API_VERSION,
    SUPPORTED,
    Backend,
    BackendContext,
    BackendVersion,
    CreationOptions,
    ModelContext,
    OptimizationViews,
    OptionValue,
    Step,
    SubgraphView,
    Support,
    TensorHandle,
    Workload,
)
from armnn.errors import BackendError

if TYPE_CHECKING:
    from armnn.graph import Layer

Stage: TypeAlias = Literal[
    "create_context",
    "create_model_context",
    "supports",
    "optimize_subgraph",
    "create_workload",
    "bind",
    "execute",
]
"""Where a FailingBackend fails."""


def _nothing() -> None:
    """Do nothing."""


class NullWorkload(Workload):
    """Leaves its outputs as they are."""

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return a step that does nothing."""
        return _nothing


class NullBackend(Backend):
    """Supports every layer and computes none; any options are accepted."""

    id: ClassVar[str] = "Null"
    api_version: ClassVar[BackendVersion] = BACKEND_API_VERSION

    def __init__(self, backend_id: str | None = None) -> None:
        """Make a backend, with another id if one is given."""
        if backend_id is not None:
            self.id = backend_id  # type: ignore[misc]  # instances of one class have different ids

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Say yes."""
        return SUPPORTED

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload that does nothing."""
        return NullWorkload()

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Accept any options."""
        return ModelContext(options)


class SelectiveBackend(NullBackend):
    """Supports some layers, which another backend runs."""

    id = "Selective"

    def __init__(
        self,
        backend_id: str | None = None,
        support: Mapping[str, bool | str] | None = None,
        *,
        default: bool | str = False,
        inner: Backend | None = None,
    ) -> None:
        """Make a backend from a map of what it supports.

        Args:
            backend_id: Its id.
            support: From the name or the type of a layer (the name counts first) to whether it
                is supported; a text is a refusal with that reason.
            default: The same for layers that are not in the map.
            inner: What runs the layers.
        """
        super().__init__(backend_id)
        self._support = {} if support is None else dict(support)
        self._default = default
        self._inner = NullBackend() if inner is None else inner

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Answer from the map, if the inner backend agrees."""
        answer = self._support.get(layer.name, self._support.get(layer.type, self._default))
        if answer is True:
            return self._inner.supports(layer, model)
        reason = answer if isinstance(answer, str) else f"{layer.type} is not in the support map"
        return Support.no(reason)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return the inner backend's workload."""
        return self._inner.create_workload(layer, model)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a RecordingBackend got.

    Attributes:
        method: Its name; those of contexts and workloads are recorded as well.
        subject: The layer's name, the number of the network, or empty.
    """

    method: str
    subject: str = ""


class RecordingBackend(NullBackend):
    """Delegates to another backend and records the calls.

    Attributes:
        calls: In the order in which they came; threads may interleave.
    """

    id = "Recording"

    def __init__(self, backend_id: str | None = None, inner: Backend | None = None) -> None:
        """Make a backend that records the calls of ``inner``."""
        super().__init__(backend_id)
        self.calls: list[Call] = []
        self._inner = NullBackend() if inner is None else inner

    def methods(self) -> list[str]:
        """Return the names of the methods that were called."""
        return [call.method for call in self.calls]

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Record the layer's name."""
        self.calls.append(Call("supports", layer.name))
        return self._inner.supports(layer, model)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Record the layer's name; the workload records ``bind`` and ``execute``."""
        self.calls.append(Call("create_workload", layer.name))
        return _RecordingWorkload(self.calls, layer.name, self._inner.create_workload(layer, model))

    def create_context(self, options: CreationOptions) -> BackendContext:
        """Record the call; the context records its events."""
        self.calls.append(Call("create_context"))
        self._inner.create_context(options)
        return _RecordingContext(self.calls)

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Record the call."""
        self.calls.append(Call("create_model_context"))
        return self._inner.create_model_context(options)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Record the layers' names, separated by spaces."""
        names = " ".join(layer.name for layer in view.layers)
        self.calls.append(Call("optimize_subgraph", names))
        return self._inner.optimize_subgraph(view, model)


class _RecordingContext(BackendContext):
    def __init__(self, calls: list[Call]) -> None:
        self._calls = calls

    def before_load_network(self, network_id: int) -> None:
        self._calls.append(Call("before_load_network", str(network_id)))

    def after_load_network(self, network_id: int) -> None:
        self._calls.append(Call("after_load_network", str(network_id)))

    def before_unload_network(self, network_id: int) -> None:
        self._calls.append(Call("before_unload_network", str(network_id)))

    def after_unload_network(self, network_id: int) -> None:
        self._calls.append(Call("after_unload_network", str(network_id)))

    def after_enqueue_workload(self, network_id: int) -> None:
        self._calls.append(Call("after_enqueue_workload", str(network_id)))

    def close(self) -> None:
        self._calls.append(Call("close"))


class _RecordingWorkload(Workload):
    def __init__(self, calls: list[Call], layer_name: str, inner: Workload) -> None:
        self._calls = calls
        self._layer_name = layer_name
        self._inner = inner

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        self._calls.append(Call("bind", self._layer_name))
        inner = self._inner.bind(inputs, outputs)

        def execute() -> None:
            self._calls.append(Call("execute", self._layer_name))
            inner()

        return execute


class FailingBackend(NullBackend):
    """Raises at one stage and is a NullBackend otherwise."""

    id = "Failing"

    def __init__(
        self,
        backend_id: str | None = None,
        stage: Stage = "create_workload",
        error: BaseException | None = None,
    ) -> None:
        """Make a backend that fails.

        Args:
            backend_id: Its id.
            stage: Where it fails.
            error: What it raises; a BackendError that names the stage by default.
        """
        super().__init__(backend_id)
        self._stage = stage
        self._error = BackendError(f"told to fail in {stage}") if error is None else error

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Say yes, or fail."""
        self._fail_in("supports")
        return super().supports(layer, model)

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        """Return nothing, or fail."""
        self._fail_in("create_context")
        return super().create_context(options)

    def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
        """Accept any options, or fail."""
        self._fail_in("create_model_context")
        return super().create_model_context(options)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Leave all as it is, or fail."""
        self._fail_in("optimize_subgraph")
        return super().optimize_subgraph(view, model)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload that fails when bound or run."""
        self._fail_in("create_workload")
        return _FailingWorkload(self._fail_in)

    def _fail_in(self, stage: Stage) -> None:
        if stage == self._stage:
            raise self._error


class _FailingWorkload(Workload):
    def __init__(self, fail_in: Callable[[Stage], None]) -> None:
        self._fail_in = fail_in

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        self._fail_in("bind")
        return lambda: self._fail_in("execute")
