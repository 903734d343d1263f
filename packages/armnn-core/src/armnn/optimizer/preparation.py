# SPDX-License-Identifier: MIT
"""From a network and backends to plans, one for each set of input shapes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

from numpy.typing import NDArray

from armnn.errors import OptimizationError, ShapeError
from armnn.graph import Network
from armnn.installing import REFERENCE
from armnn.optimizer.assignment.report import Report
from armnn.optimizer.assignment.substitute import check_options
from armnn.optimizer.folds import FoldsRefused, FoldTrial, fold_permission
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Participants
from armnn.optimizer.passes import quantises
from armnn.optimizer.passes.quantization import FoldPolicy
from armnn.optimizer.phases import assigned_layers, prepare_network, prepare_specialisation
from armnn.optimizer.plan import NetworkFacts, Plan
from armnn.optimizer.shapes.assumed import assume_shapes
from armnn.optimizer.shapes.specialise import SharedConstants, value_inputs
from armnn.optimizer.symbolic.trace import Trace, UntraceableError
from armnn.optimizer.template import Template
from armnn.tensor import Shape, completed_shape, format_shape
from armnn.types import QuantizedArithmetic

_log = logging.getLogger(__name__)

MOST_TEMPLATES = 8
"""Kinds of specialisations that others are made from; each keeps a graph of the network."""


class Preparation:
    """What prepares one :class:`armnn.optimizer.OptimizedNetwork`.

    Attributes:
        facts: What is known of the network for all input shapes.
        constants: Those that its plans share, and those of later segments.
    """

    def __init__(
        self,
        network: Network,
        participants: Participants,
        options: OptimizerOptions,
        constants: SharedConstants | None = None,
        *,
        may_change: bool = False,
        again: Callable[[], Network] | None = None,
    ) -> None:
        """Prepare a network; see OptimizedNetwork."""
        self._participants = participants
        self._options = options
        self.constants = SharedConstants() if constants is None else constants
        self._aliases, self._arithmetic = network.aliases, network.quantized_arithmetic
        self._declared = dict(network.declared_shapes)
        self._templates: dict[Hashable, tuple[Template, ...]] = {}
        self._is_traceable = True
        self._static: Plan | None = None
        source = network if may_change else network.clone()
        if not _may_fold_all(source, options):
            source = again() if again is not None and source.is_folded else source
            self._prepare_source(source, fold_permission(participants), may_change=may_change)
            return
        spare = source.clone() if again is None else Network("")
        trial = FoldTrial(participants.candidates, participants.named)
        if source.is_folded:
            trial.note(source.layers)
        try:
            self._prepare_source(source, trial, trial, may_change=may_change)
        except FoldsRefused as refusal:
            permission = fold_permission(participants, refusal.refused)
            source = spare if again is None else again()
            self._prepare_source(source, permission, may_change=may_change)
        else:
            spare.clear()

    def _prepare_source(
        self,
        source: Network,
        folds: FoldPolicy,
        trial: FoldTrial | None = None,
        *,
        may_change: bool,
    ) -> None:
        """Prepare a network, and its only specialisation if so.

        Raises:
            FoldsRefused: The trial failed.
        """
        self._source = prepare_network(source, self._participants, self._options, folds)
        if may_change and self._source is not source:
            source.clear()
        self._value_inputs = value_inputs(self._source)
        infos = [layer.output.info for layer in self._source.inputs]
        self._is_static = not self._value_inputs and all(info.is_static for info in infos)
        if trial is not None and not self._is_static:
            raise FoldsRefused(None)  # values decide about shapes: there is nothing to ask about
        self.constants.add(self._source)
        if not self._is_static:
            self.facts = self._facts()
            return
        inputs = self._source.inputs
        shapes = {layer.name: layer.output.info.static_shape for layer in inputs}
        self._static = self._prepare(shapes, {}, may_change=may_change, trial=trial)
        if self._static.rest is None:
            copied, self._source = self._source, self.network
            if copied is not self._source:
                copied.clear()  # whose weights went into compiled programs
        self.facts = self._facts()

    def _facts(self) -> NetworkFacts:
        settled = self._static is not None and self._static.rest is None
        made = {
            layer.name: layer.input_infos[0]
            for layer in (self.network if settled else self._source).outputs
        }
        return NetworkFacts(
            self._source.name,
            dict(self._source.metadata),
            {layer.name: layer.output.info for layer in self._source.inputs},
            {
                name: info.with_shape(completed_shape(info.shape, self._declared.get(name)))
                for name, info in made.items()
                if info is not None
            },
            self._value_inputs,
            self._is_static,
            self._arithmetic,
            self._aliases,
        )

    @property
    def network(self) -> Network:
        """The layers: with backends if shapes are fixed, else rewritten."""
        return self._source if self._static is None else self._static.network

    @property
    def report(self) -> Report:
        """Each layer's backend with reasons; empty for unknown shapes."""
        return Report() if self._static is None else self._static.report

    def specialise(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Plan:
        """Return the plan for one set of input shapes; see OptimizedNetwork."""
        if self._static is not None:
            return self._static
        return self._from_template(shapes, values) or self._traced(shapes, values)

    def clear(self) -> None:
        """Take all layers out; see OptimizedNetwork."""
        templates = [template for kept in self._templates.values() for template in kept]
        for template in templates:
            template.clear()
        if self._static is not None:
            self._static.clear()
        self._source.clear()
        self._templates.clear()
        self._static = None

    def check_backends(self) -> None:
        """Check what can be known of backends before the shapes of inputs are.

        Their layers are assigned for sizes that are assumed for open dimensions, as far as the
        options or the list of backends may be at fault: the first run would fail otherwise. Nothing
        is said about a network of which no such sizes are found.

        Raises:
            OptimizationError: Some layers cannot run on the backends, whichever sizes are assumed.
            ArmnnError: A backend does not know its options.
        """
        participants, options = self._participants, self._options
        runs_all = any(each.id == REFERENCE for each in participants.candidates)
        if self._is_static or (runs_all and not options.strict and not options.model_options):
            return
        made: list[Network] = []
        refused: list[tuple[OptimizationError, Mapping[str, Shape | None]]] = []

        def check(shapes: Mapping[str, Shape | None]) -> None:
            try:
                made.append(assigned_layers(self._source, shapes, participants, options)[0])
            except OptimizationError as error:
                refused.append((error, shapes))
                raise ShapeError(str(error)) from error  # it may take other sizes

        assumed = assume_shapes(self.facts.inputs, self.facts.metadata, check)
        if assumed.error is None:
            check_options(made[-1], participants.all, options.model_options)
        elif refused:
            error, shapes = refused[0]
            error.add_note(
                f"This was asked with inputs of the shapes {dict(shapes)}, and others that fit: "
                "shapes=[...] names those that are to be run."
            )
            raise error

    def _from_template(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Plan | None:
        """Return a specialisation like an earlier one, if possible."""
        for template in self._templates.get(_key(values) if values else (), ()):
            found = template.specialise(shapes, _label(shapes, values))
            if found is not None:
                return found
        return None

    def _traced(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Plan:
        """Prepare for shapes; keep a template for others, if possible."""
        kept = self._templates.get(_key(values), ())
        if self._is_traceable and sum(map(len, self._templates.values())) < MOST_TEMPLATES:
            try:
                trace = Trace(self._source, shapes)
                plan = self._prepare(shapes, values, trace=trace)
            except Exception as error:
                plan = self._prepare(shapes, values)  # fails with that, if it is the caller's
                self._is_traceable = False
                _log.debug("network %r is prepared for each shape: %r", self.facts.name, error)
                return plan
            try:
                template = Template(plan, trace, self._participants)
                self._templates[_key(values)] = (*kept, template)
            except UntraceableError as error:
                self._is_traceable = False
                _log.debug("network %r is prepared for each shape: %s", self.facts.name, error)
                return plan
            return plan
        return self._prepare(shapes, values)

    def _prepare(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        values: Mapping[str, NDArray[Any]],
        *,
        may_change: bool = False,
        trial: FoldTrial | None = None,
        trace: Trace | None = None,
    ) -> Plan:
        label = "" if self._is_static else describe(shapes, values)
        return prepare_specialisation(
            self._source,
            shapes,
            values,
            self._participants,
            self._options,
            self.constants,
            label,
            may_change=may_change,
            trial=trial,
            trace=trace,
        )


def _key(values: Mapping[str, NDArray[Any]]) -> Hashable:
    return tuple([(name, data.shape, data.tobytes()) for name, data in values.items()])


def _may_fold_all(network: Network, options: OptimizerOptions) -> bool:
    """Return whether layers on stored values may come unasked.

    The backends are asked about the whole network then, which needs its shapes.
    """
    if not options.rewrite or network.quantized_arithmetic is not QuantizedArithmetic.REAL:
        return False
    return quantises(network) and all(layer.output.info.is_static for layer in network.inputs)


def _label(
    shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
) -> Callable[[], str]:
    """Return what describes shapes later; the values may change."""
    kept = {name: value.copy() for name, value in values.items()} if values else values
    return partial(describe, shapes, kept)


def describe(shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]) -> str:
    """Return input shapes and values as text.

    An example is "x=[1,3,224,224], n=4".
    """
    parts = [f"{name}={format_shape(shape)}" for name, shape in shapes.items()]
    parts += [f"{name}={value.tolist()}" for name, value in values.items()]
    return ", ".join(parts)
