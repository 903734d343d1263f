# SPDX-License-Identifier: MIT
"""A network prepared for its backends, ready to be loaded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from numpy.typing import NDArray

from armnn.backends import ProfilingSink
from armnn.errors import OptimizationError, ShapeError
from armnn.graph import Network
from armnn.graph.text import layer_lines
from armnn.installing import REFERENCE
from armnn.optimizer.assignment.report import Report, prepared_text
from armnn.optimizer.assignment.substitute import check_options
from armnn.optimizer.folds import FoldsRefused, FoldTrial, fold_permission
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Participants
from armnn.optimizer.passes import quantises
from armnn.optimizer.passes.quantization import FoldPolicy
from armnn.optimizer.phases import assigned_segments, prepare_network, prepare_specialisation
from armnn.optimizer.plan import Plan
from armnn.optimizer.shapes.assumed import assume_shapes
from armnn.optimizer.shapes.specialise import SharedConstants, value_inputs
from armnn.optimizer.symbolic.trace import Trace, UntraceableError
from armnn.optimizer.template import Template
from armnn.tensor import Shape, TensorInfo, completed_shape, format_shape
from armnn.types import QuantizedArithmetic

_log = logging.getLogger(__name__)

MOST_TEMPLATES = 8
"""Kinds of specialisations that others are made from; each keeps a graph of the network."""


class OptimizedNetwork:
    """A network with its backends (Arm NN: ``IOptimizedNetwork``).

    A network whose shapes are fixed is prepared at once. One with unknown dimensions is prepared
    for each set of input shapes when it is met.

    Attributes:
        participants: The backends that take part.
        options: The caller's decisions.
        constants: Those that its specialisations share, and those of later segments.
        value_inputs: The inputs whose values decide about shapes, with the elements they may have.
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
        """Prepare a network.

        Args:
            network: The network.
            participants: The backends that take part.
            options: The caller's decisions.
            constants: Those of the network that this one is a later segment of.
            may_change: Whether no other object has the network: it is rewritten in place then, so
                that weights that a pass replaces go at once.
            again: Makes the network again, in layers on floats where it has quantised ones for
                them; for networks whose quantised layers backends refuse, or cannot be asked about.
                Left out, a copy is kept, which takes longer where they refuse none.
        """
        self.participants = participants
        self.options = options
        self.constants = SharedConstants() if constants is None else constants
        self.aliases = network.aliases
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
        self._source = prepare_network(source, self.participants, self.options, folds)
        if may_change and self._source is not source:
            source.clear()
        self.value_inputs = value_inputs(self._source)
        if trial is not None and not self.is_static:
            raise FoldsRefused(None)  # values decide about shapes: there is nothing to ask about
        self.constants.add(self._source)
        if not self.is_static:
            return
        shapes = {name: info.static_shape for name, info in self.inputs.items()}
        self._static = self._prepare(shapes, {}, may_change=may_change, trial=trial)
        if self._static.rest is None:
            copied, self._source = self._source, self.network
            if copied is not self._source:
                copied.clear()  # whose weights went into compiled programs

    @property
    def name(self) -> str:
        """The name of the network."""
        return self._source.name

    @property
    def metadata(self) -> dict[str, str]:
        """What the model's file says about itself."""
        return dict(self._source.metadata)

    @property
    def profiler(self) -> ProfilingSink | None:
        """Where its phases are recorded, if anywhere.

        It is the profiler that was given, or the one of ``profiling_enabled``.
        """
        return self.participants.profiler

    @property
    def is_static(self) -> bool:
        """Whether there is only one set of input shapes.

        No value decides about others then.
        """
        return not self.value_inputs and all(info.is_static for info in self.inputs.values())

    @property
    def network(self) -> Network:
        """The layers: with backends if shapes are fixed, else rewritten."""
        return self._source if self._static is None else self._static.network

    @property
    def inputs(self) -> dict[str, TensorInfo]:
        """The inputs by name, in the order of the network."""
        return {layer.name: layer.output.info for layer in self._source.inputs}

    @property
    def outputs(self) -> dict[str, TensorInfo]:
        """The outputs by name, in the order of the network.

        Dimensions that are not known bear the names that the model's file gives them.
        """
        settled = self._static is not None and self._static.rest is None
        network = self.network if settled else self._source
        infos = {layer.name: layer.input_infos[0] for layer in network.outputs}
        return {
            name: info.with_shape(completed_shape(info.shape, self._declared.get(name)))
            for name, info in infos.items()
            if info is not None
        }

    @property
    def report(self) -> Report:
        """Each layer's backend with reasons; empty for unknown shapes.

        ``LoadedNetwork.report`` has the rows of every set of shapes that it met.
        """
        known = Report() if self._static is None else self._static.report
        participants = self.participants
        return replace(known, skipped=participants.skipped, choice=participants.choice)

    def __str__(self) -> str:
        title = repr(self).strip("<>")
        return prepared_text(
            title,
            self.inputs,
            self.report,
            self.outputs,
            layer_lines(self.network.topological_order()),
        )

    def __repr__(self) -> str:
        backends = ", ".join(candidate.id for candidate in self.participants.all)
        return f"<OptimizedNetwork {self.name!r} for {backends}>"

    def specialise(
        self, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, NDArray[Any]]
    ) -> Plan:
        """Prepare the network for one set of input shapes.

        Args:
            shapes: The shape of each input.
            values: The data of each of the :attr:`value_inputs` that is small enough.

        Raises:
            ShapeError: The shapes do not fit.
            OptimizationError: Some layers cannot run on the backends, or one of these failed.
        """
        if self._static is not None:
            return self._static
        return self._from_template(shapes, values) or self._traced(shapes, values)

    def clear(self) -> None:
        """Take all layers out, so that their memory goes at once.

        Layers and values refer to each other: else they, and the weights and programs that they
        hold, stay until the garbage is collected. Only its sole owner may call it.
        """
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
        participants, options = self.participants, self.options
        runs_all = any(each.id == REFERENCE for each in participants.candidates)
        if self.is_static or (runs_all and not options.strict and not options.model_options):
            return
        made: list[Network] = []
        refused: list[tuple[OptimizationError, Mapping[str, Shape | None]]] = []

        def check(shapes: Mapping[str, Shape | None]) -> None:
            try:
                made.append(assigned_segments(self._source, shapes, participants, options).head)
            except OptimizationError as error:
                refused.append((error, shapes))
                raise ShapeError(str(error)) from error  # it may take other sizes

        assumed = assume_shapes(self.inputs, self.metadata, check)
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
                _log.debug("network %r is prepared for each shape: %r", self.name, error)
                return plan
            try:
                template = Template(plan, trace, self.participants)
                self._templates[_key(values)] = (*kept, template)
            except UntraceableError as error:
                self._is_traceable = False
                _log.debug("network %r is prepared for each shape: %s", self.name, error)
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
        label = "" if self.is_static else describe(shapes, values)
        return prepare_specialisation(
            self._source,
            shapes,
            values,
            self.participants,
            self.options,
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
