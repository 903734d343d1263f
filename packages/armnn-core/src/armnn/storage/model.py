# SPDX-License-Identifier: MIT
"""The entries of one model: facts and prepared networks."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._digest import sha256
from armnn.backends.cache import StaleEntryError
from armnn.graph import Aliases
from armnn.storage.container import VERSION
from armnn.storage.prepared import (
    UnstorableError,
    decoded,
    decoded_info,
    encoded,
    encoded_info,
    member_of,
)
from armnn.tensor import format_shape
from armnn.types import QuantizedArithmetic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from armnn.backends.cache import ProgramCache
    from armnn.graph import LayerGraph
    from armnn.optimizer import OptimizedNetwork, OptimizerOptions, Participants, Prepared
    from armnn.optimizer.sharing import SharedConstants
    from armnn.tensor import TensorInfo


@dataclasses.dataclass(frozen=True, slots=True)
class ModelFacts:
    """The facts of a model for all input shapes."""

    name: str
    metadata: dict[str, str]
    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]
    value_inputs: dict[str, int]
    is_static: bool
    quantized_arithmetic: QuantizedArithmetic
    aliases: Aliases

    @classmethod
    def of(cls, network: OptimizedNetwork, arithmetic: QuantizedArithmetic) -> ModelFacts:
        """Return the facts of a network."""
        return cls(
            network.name,
            network.metadata,
            network.inputs,
            network.outputs,
            dict(network.value_inputs),
            network.is_static,
            arithmetic,
            network.aliases,
        )

    def as_json(self) -> dict[str, Any]:
        """Return them as JSON."""
        stored = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        for side in ("inputs", "outputs"):
            stored[side] = {name: encoded_info(info) for name, info in stored[side].items()}
        stored["aliases"] = [dict(self.aliases.inputs), dict(self.aliases.outputs)]
        return stored | {"quantized_arithmetic": int(self.quantized_arithmetic)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> ModelFacts:
        """Return the facts of :meth:`as_json`.

        Raises:
            StaleEntryError: It is something else.
        """
        try:
            for side in ("inputs", "outputs"):
                stored[side] = {name: decoded_info(info) for name, info in stored[side].items()}
            arithmetic = member_of(QuantizedArithmetic, stored.pop("quantized_arithmetic"))
            inputs, outputs = (dict(names) for names in stored.pop("aliases"))
            aliases = Aliases(inputs, outputs)
            return cls(**stored, quantized_arithmetic=arithmetic, aliases=aliases)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise StaleEntryError(f"it is no model: {error!r}") from error


class ModelStore:
    """The entries of one model in a cache.

    Args:
        cache: The cache.
        dependencies: All that the preparation of the model depends on.
    """

    def __init__(self, cache: ProgramCache, dependencies: Mapping[str, Any]) -> None:
        self._cache = cache
        text = json.dumps({**dependencies, "format": VERSION}, sort_keys=True)
        self._key = sha256(text.encode()).hexdigest()

    def facts(self) -> ModelFacts | None:
        """Return the facts of the model, if they are stored."""
        start = time.perf_counter_ns()
        try:
            entry = self._cache.read("model", self._key)
            return None if entry is None else ModelFacts.from_json(entry[0])
        except StaleEntryError as error:
            self._cache.note("model", self._key[:12], f"parsed again: {error}", start)
            return None

    def keep_facts(self, facts: ModelFacts) -> None:
        """Store the facts of the model."""
        self._cache.write(facts.as_json(), (), "model", self._key)

    def prepared(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        values: Mapping[str, NDArray[Any]],
        facts: ModelFacts,
        participants: Participants,
        options: OptimizerOptions,
    ) -> Prepared | None:
        """Return the prepared network for input shapes, if stored."""
        start = time.perf_counter_ns()
        try:
            entry = self._cache.read("prepared", self._key, *_spelled(shapes, values))
            if entry is None:
                return None
            found = decoded(*entry, participants, options)
            _check_ports(found.network, shapes, facts)
        except StaleEntryError as error:
            self._cache.note("model", _title(shapes), f"prepared again: {error}", start)
            return None
        self._cache.note("model", _title(shapes), "taken from the cache", start)
        return found

    def keep(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        values: Mapping[str, NDArray[Any]],
        prepared: Prepared,
    ) -> None:
        """Store the prepared network for input shapes, if possible."""
        start = time.perf_counter_ns()
        outcome = "prepared and stored"
        try:
            header, arrays = encoded(prepared)
        except UnstorableError as error:
            outcome = f"prepared, not stored: {error}"
        else:
            key = ("prepared", self._key, *_spelled(shapes, values))
            self._cache.write(header, [[_bytes_of(array)] for array in arrays], *key)
        self._cache.note("model", _title(shapes), outcome, start)


class StoredNetwork:
    """A stored model with the interface of :class:`OptimizedNetwork`.

    Attributes:
        facts: What is known of the model.
        participants: The backends that take part.
        options: The caller's decisions.
    """

    def __init__(
        self,
        store: ModelStore,
        facts: ModelFacts,
        participants: Participants,
        options: OptimizerOptions,
        make: Callable[[], OptimizedNetwork],
    ) -> None:
        """Take the place of a model.

        Args:
            store: What the cache has of it.
            facts: What is known of it.
            participants: The backends that take part.
            options: The caller's decisions.
            make: Parses and optimises it; is called once, if ever.
        """
        self.facts = facts
        self.participants = participants
        self.options = options
        self._store = store
        self._make = make
        self._made: OptimizedNetwork | None = None
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """See :class:`OptimizedNetwork`; so for all that follows."""
        return self.facts.name

    @property
    def metadata(self) -> dict[str, str]:
        return dict(self.facts.metadata)

    @property
    def aliases(self) -> Aliases:
        return self.facts.aliases

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        return dict(self.facts.inputs)

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        return dict(self.facts.outputs)

    @property
    def value_inputs(self) -> dict[str, int]:
        return dict(self.facts.value_inputs)

    @property
    def is_static(self) -> bool:
        return self.facts.is_static

    @property
    def constants(self) -> SharedConstants:
        return self._optimized().constants

    def specialise(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Prepared:
        prepared = self._store.prepared(shapes, values, self.facts, self.participants, self.options)
        if prepared is None:
            prepared = self._optimized().specialise(shapes, values)
            self._store.keep(shapes, values, prepared)
        return prepared

    def _optimized(self) -> OptimizedNetwork:
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _check_ports(
    network: LayerGraph, shapes: Mapping[str, tuple[int, ...]], facts: ModelFacts
) -> None:
    """Check that a network has the model's inputs and outputs.

    Raises:
        StaleEntryError: It does not.
    """
    taken = {layer.name: layer.output.info for layer in network.inputs}
    wanted = {name: info.with_shape(shapes[name]) for name, info in facts.inputs.items()}
    made = [layer.name for layer in network.outputs]
    if taken != wanted or made != list(facts.outputs):
        raise StaleEntryError(f"it takes {taken} and makes {made}")


def _spelled(
    shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
) -> tuple[str, ...]:
    """Return input shapes and values as parts of a key."""
    parts = [f"{name}={shape}" for name, shape in shapes.items()]
    for name, value in values.items():
        digest = sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        parts.append(f"{name} is {value.dtype} {digest}")
    return tuple(parts)


def _title(shapes: Mapping[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name}={format_shape(shape)}" for name, shape in shapes.items())
