# SPDX-License-Identifier: MIT
"""A network with its backends, which makes plans: from its layers, or from stored plans.

A network from stored plans parses and prepares its layers only when they are needed: loading a
prepared model imports no parser, and of the optimizer only the imports of this module.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from armnn.backends import ProfilingSink
from armnn.graph.aliases import Aliases
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Participants
from armnn.optimizer.plan import NetworkFacts, Plan
from armnn.tensor import TensorInfo

if TYPE_CHECKING:
    from armnn.graph import Network
    from armnn.optimizer.assignment.report import Report
    from armnn.optimizer.preparation import Preparation
    from armnn.optimizer.shapes.specialize import SharedConstants


class PlanStore(Protocol):
    """A store of a network's plans, such as a prepared file or the folder ``cache_dir``."""

    def prepared(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        values: Mapping[str, NDArray[Any]],
        facts: NetworkFacts,
        participants: Participants,
        options: OptimizerOptions,
        /,
    ) -> Plan | None:
        """Return the plan for input shapes, if stored."""

    def keep(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        values: Mapping[str, NDArray[Any]],
        plan: Plan,
        facts: NetworkFacts,
        participants: Participants,
        /,
    ) -> None:
        """Store the plan for input shapes, if possible."""


class OptimizedNetwork:
    """A network with its backends (Arm NN: ``IOptimizedNetwork``).

    A network whose shapes are fixed is prepared at once, unless its plans are stored. One with
    unknown dimensions is prepared for each set of input shapes when a run has it.

    Attributes:
        facts: Its facts for all input shapes.
        participants: The backends that take part.
        options: The caller's decisions.
        store: The store of its plans, if it has one.
        file: The path of the model's file, for errors; "" without one.
    """

    store: PlanStore | None
    _prepared: Preparation | None
    _make: Callable[[], OptimizedNetwork] | None

    def __init__(
        self,
        network: Network,
        participants: Participants,
        options: OptimizerOptions,
        constants: SharedConstants | None = None,
        *,
        may_change: bool = False,
        again: Callable[[], Network] | None = None,
        states: Mapping[str, str] | str | None = None,
    ) -> None:
        """Prepare a network.

        Args:
            network: The network.
            participants: The backends that take part.
            options: The caller's decisions.
            constants: The constants of the whole network, where this one is a later segment of it.
            may_change: Whether no other object refers to the network. Then it is rewritten in
                place, so that weights which a pass replaces are freed at once.
            again: Makes the network again with float layers in place of quantized ones, for
                backends that refuse quantized layers, or cannot be asked about them. Without it a
                copy of the network is kept for that case.
            states: The input that each output is the next value of, or "auto": those that get
                longer with each run become caches with room.
        """
        from armnn.optimizer.preparation import Preparation  # late: a prepared load does without

        made = Preparation(
            network,
            participants,
            options,
            constants,
            may_change=may_change,
            again=again,
            states=states,
        )
        self._begin(made.facts, participants, options, network.file)
        self._prepared = made

    @classmethod
    def stored(
        cls,
        facts: NetworkFacts,
        participants: Participants,
        options: OptimizerOptions,
        store: PlanStore,
        make: Callable[[], OptimizedNetwork],
        file: str = "",
    ) -> OptimizedNetwork:
        """Return a network whose plans are stored.

        Args:
            facts: The facts of it.
            participants: The backends that take part.
            options: The caller's decisions.
            store: Where the plans are.
            make: Prepares it, for input shapes that are not stored; is called once, if ever.
            file: The path of the model's file.
        """
        made = cls.__new__(cls)
        made._begin(facts, participants, options, file)
        made.store, made._make = store, make
        return made

    def _begin(
        self, facts: NetworkFacts, participants: Participants, options: OptimizerOptions, file: str
    ) -> None:
        self.facts = facts
        self.file = file
        self.participants = participants
        self.options = options
        self.store = self._prepared = self._make = None
        self._lock = threading.Lock()

    @property
    def preparation(self) -> Preparation:
        """The object that prepares the network, of a stored one made at the first access."""
        with self._lock:
            if self._prepared is None and self._make is not None:
                self._prepared = self._make().preparation
            assert self._prepared is not None  # as the other way to make it prepares at once
            return self._prepared

    @property
    def name(self) -> str:
        """The name of the network."""
        return self.facts.name

    @property
    def title(self) -> str:
        """Its name in errors: its file if it has one, else its name."""
        return f"the model {self.file!r}" if self.file else f"the network {self.name!r}"

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the model's file."""
        return dict(self.facts.metadata)

    @property
    def aliases(self) -> Aliases:
        """Second names of its inputs and outputs."""
        return self.facts.aliases

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """The inputs by name, in the order of the network."""
        return dict(self.facts.inputs)

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        """The outputs by name, in the order of the network.

        Dimensions that are not known bear the names that the model's file gives them.
        """
        return dict(self.facts.outputs)

    @property
    def value_inputs(self) -> dict[str, int]:
        """The inputs whose values decide about shapes, with the elements they may have."""
        return dict(self.facts.value_inputs)

    @property
    def is_static(self) -> bool:
        """Whether there is only one set of input shapes.

        No value decides about others then.
        """
        return self.facts.is_static

    @property
    def profiler(self) -> ProfilingSink | None:
        """The profiler that records its phases: the given one or that of ``profiling_enabled``."""
        return self.participants.profiler

    @property
    def constants(self) -> SharedConstants:
        """The constants that its plans share, also with the plans of later segments."""
        return self.preparation.constants

    @property
    def network(self) -> Network:
        """The network: with assigned backends if its shapes are fixed, else rewritten only."""
        return self.preparation.network

    @property
    def report(self) -> Report:
        """Each layer's backend with reasons; empty for unknown shapes.

        ``LoadedNetwork.report`` has the rows of every set of shapes that it met.
        """
        participants = self.participants
        known = self.preparation.report
        return replace(known, skipped=participants.skipped, choice=participants.choice)

    def __str__(self) -> str:
        from armnn.graph.text import layer_lines  # late: it is seldom shown
        from armnn.optimizer.assignment.report import prepared_text

        title = repr(self).strip("<>")
        lines = layer_lines(self.network.topological_order())
        return prepared_text(title, self.inputs, self.report, self.outputs, lines)

    def __repr__(self) -> str:
        backends = ", ".join(candidate.id for candidate in self.participants.all)
        return f"<OptimizedNetwork {self.name!r} for {backends}>"

    def specialize(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Plan:
        """Return the plan for one set of input shapes.

        Args:
            shapes: The shape of each input.
            values: The data of the :attr:`value_inputs`; an input with more elements than
                ``value_inputs`` says is left out.

        Raises:
            ShapeError: The shapes do not fit.
            OptimizationError: Some layers cannot run on the backends, or one of these failed.
        """
        if self.store is None:
            return self.preparation.specialize(shapes, values)
        found = self.store.prepared(shapes, values, self.facts, self.participants, self.options)
        if found is not None:
            return found
        plan = self.preparation.specialize(shapes, values)
        if not plan.is_derived:  # deriving it again takes milliseconds; a file has all weights
            self.store.keep(shapes, values, plan, self.facts, self.participants)
        return plan

    specialise = specialize  # its name up to core 1.2

    def specialize_alone(self, shapes: Mapping[str, tuple[int, ...]]) -> Plan:
        """Return a plan for one set of input shapes that plans for other shapes are not made from.

        Raises:
            ShapeError: The shapes do not fit.
            OptimizationError: Some layers cannot run on the backends, or one of these failed.
        """
        return self.preparation.specialize_alone(shapes)

    def clear(self) -> None:
        """Take all layers out, so that their memory goes at once.

        Layers and values refer to each other: else they, and the weights and programs that they
        hold, stay until the garbage is collected. Only its sole owner may call it.
        """
        if self._prepared is not None:
            self._prepared.clear()

    def check_backends(self) -> None:
        """Check the choice of backends as far as it does not depend on the shapes of inputs.

        Stored plans need no check: it was made before the first one was stored.

        Raises:
            OptimizationError: Some layers cannot run on the backends, whichever sizes are assumed.
            ArmnnError: A backend does not know its options.
        """
        if self.store is None:
            self.preparation.check_backends()
