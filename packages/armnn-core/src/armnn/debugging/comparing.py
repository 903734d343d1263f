# SPDX-License-Identifier: MIT
"""Naming the layers that a backend computes wrongly.

Stage 1 runs the network as it is and compares where compiled parts border. Stage 2 looks into bad
parts only: at each layer alone with clean inputs, then at layers that only a fusion gets wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from armnn._arguments import instance, refused
from armnn._installing import REFERENCE
from armnn._process_memory import trim_memory
from armnn.backends import CreationOptions
from armnn.debugging.alone import Examiner
from armnn.debugging.bench import Bench
from armnn.debugging.borders import Observations, Suspicion, parts_of, suspicion_of
from armnn.debugging.clean_values import NOT_COMPUTED, CleanValues, is_small
from armnn.debugging.findings import Findings, Unexplained
from armnn.debugging.fused import FusedSearch, at_borders, read_or_made
from armnn.debugging.reference import Reference
from armnn.debugging.samples import checked_samples
from armnn.errors import GraphError
from armnn.graph import Network
from armnn.optimizer.options import OptimizerOptions
from armnn.parsing import parse

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from armnn.debugging.bench import Source
    from armnn.debugging.verdicts import LayerVerdict
    from armnn.graph import Layer, Value
    from armnn.optimizer import ReportRow
    from armnn.parsing import ParserOptions

    Arrays = Mapping[str, NDArray[Any]]

MOST_SEGMENTS = 200
"""Parts of a network that wait for each other's data, as in the runtime."""


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """How thoroughly layers are compared.

    Attributes:
        every_layer: Whether stage 2 looks at every layer, not only where stage 1 is suspicious.
        repeats: How often the network, and a wrong layer, is run with the same inputs.
    """

    every_layer: bool = False
    repeats: int = 20

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError unless there is a run at least."""
        if isinstance(self.repeats, bool) or not isinstance(self.repeats, int) or self.repeats < 1:
            raise refused("the repeats", self.repeats, "1 or more")


def compare(
    model: str | PathLike[str] | Network,
    backends: Sequence[str],
    *,
    reference: str = REFERENCE,
    inputs: Sequence[Arrays] | None = None,
    samples: int = 1,
    options: OptimizerOptions | None = None,
    creation_options: CreationOptions | None = None,
    thoroughness: CompareOptions | None = None,
    parser_options: ParserOptions | None = None,
) -> Findings:
    """Name the layers that backends compute wrongly.

    Args:
        model: The path of a model file, or a network. A file takes less memory: it is read again
            when its weights are needed again.
        backends: Ids in the order of preference, as for ``load_model``.
        reference: The id of the backend that defines what is right; it must compute Float64.
        inputs: One mapping from names to arrays per sample; random ones if left out, which needs
            inputs of known shapes.
        samples: How many random samples there are.
        options: How the network is prepared.
        creation_options: Those of a runtime.
        thoroughness: Whether all layers are looked at, and how often they are run.
        parser_options: Options of the parser of a file.

    Raises:
        InvalidArgumentError: An argument is of another kind, or an input is missing.
        BackendError: A backend or the reference cannot be used.
        OptimizationError: Some layers cannot run on the backends.
    """
    source = model.clone if isinstance(model, Network) else partial(_read, model, parser_options)
    network = source()
    given = checked_samples(network, inputs, samples)
    network.clear()
    creation = CreationOptions() if creation_options is None else creation_options
    instance(creation, CreationOptions, "the creation_options")
    chosen = OptimizerOptions() if options is None else options
    bench = Bench(backends, instance(chosen, OptimizerOptions, "the options"), creation)
    try:
        how = CompareOptions() if thoroughness is None else thoroughness
        comparison = _Comparison(bench, source, reference, how)
        for number, arrays in enumerate(given):
            comparison.add(number, arrays)
        return comparison.findings()
    finally:
        bench.close()


def _read(model: str | PathLike[str], parser_options: ParserOptions | None) -> Network:
    return parse(model, parser_options=parser_options)


@dataclass(frozen=True, slots=True)
class _Segment:
    """One part of a network with its sample."""

    number: int
    rows: Mapping[str, ReportRow]
    layers: Network
    reference: Reference
    clean: CleanValues


@dataclass(slots=True)
class _Comparison:
    """The verdicts of one comparison as they come."""

    bench: Bench
    source: Source
    reference: str
    options: CompareOptions
    verdicts: dict[tuple[str, ...], LayerVerdict] = field(default_factory=dict)
    unexplained: list[Unexplained] = field(default_factory=list)
    order: dict[str, int] = field(default_factory=dict)
    layers: int = 0
    reference_layers: int = 0
    largest: float = 0.0

    def add(self, number: int, inputs: Arrays) -> None:
        """Compare one sample, segment by segment with clean inputs."""
        arrays = dict(inputs)
        rest = self._segment(number, self.source, arrays)
        for _ in range(MOST_SEGMENTS):
            if rest is None:
                return
            rest = self._segment(number, rest.clone, arrays)
        raise GraphError(
            f"the network is cut into more than {MOST_SEGMENTS} segments that wait for each other"
        )

    def findings(self) -> Findings:
        """Return what was found, in graph order."""
        at = self.order
        ordered = sorted(self.verdicts.values(), key=lambda each: at.get(each.layers[0], len(at)))
        return Findings(
            verdicts=tuple(ordered),
            unexplained=tuple(self.unexplained),
            layers=self.layers,
            backend_runs=self.bench.runs,
            reference_runs=self.reference_layers / self.layers if self.layers else 0.0,
            largest_border_difference=self.largest,
        )

    def _segment(
        self, number: int, source: Source, arrays: dict[str, NDArray[Any]]
    ) -> Network | None:
        """Compare one part; add its outputs to the arrays.

        Returns:
            What waits for them.
        """
        rows, observed = self._observed(source, arrays)
        try:
            cut = self.bench.layers(source, arrays)
            trim_memory()  # of the weights before the optimizer changed them
            layers = cut.head
            for layer in layers.topological_order():
                if layer.type not in NOT_COMPUTED:
                    self.order.setdefault(layer.name, len(self.order))
            candidate = self.bench.candidate(self.reference, layers)
            reference = Reference(candidate, remembers=is_small(layers))
            clean = CleanValues(layers, arrays, reference)
            suspicion = suspicion_of(observed, rows, layers, clean)
        finally:
            observed.close()
        self.largest = max(self.largest, suspicion.largest)
        parts = [
            part
            for part in (parts_of(rows, layers) if self.options.every_layer else suspicion.parts)
            if rows[part[0].name].backend != self.reference
        ]
        if parts:
            self._examine(_Segment(number, rows, layers, reference, clean), parts, suspicion)
        self.layers += len(rows)
        self.reference_layers += reference.executions
        arrays.update(clean.outputs)
        return cut.rest

    def _observed(
        self, source: Source, arrays: Arrays
    ) -> tuple[Mapping[str, ReportRow], Observations]:
        """Run a part as it is, and free its memory."""
        loaded = self.bench.load(source, arrays)
        observed = Observations()
        try:
            observed.run(loaded, arrays, self.options.repeats)
        except BaseException:
            observed.close()
            raise
        finally:
            loaded.close()
        return loaded.rows, observed

    def _examine(
        self, segment: _Segment, parts: Sequence[tuple[Layer, ...]], suspicion: Suspicion
    ) -> None:
        rows, layers = segment.rows, segment.layers
        examiner = Examiner(self.bench, segment.reference, layers, self.options.repeats)
        wanted = {layer: part for part in parts for layer in part}
        wrong: set[Layer] = set()
        for visit in segment.clean.again():
            if visit.layer not in wanted:
                continue
            name = visit.layer.name
            flaky = name in suspicion.flaky
            verdict = examiner.layer(visit, rows[name].backend, suspected_flaky=flaky)
            self._keep(segment.number, verdict)
            if verdict.is_wrong:
                wrong.add(visit.layer)
            del visit  # its values go before the next layer's are made
        for part in suspicion.parts:
            if part in parts and not wrong.intersection(part):
                found = self._fusions(segment, examiner, part)
                names = {name for verdict in found for name in verdict.layers}
                wrong.update(layer for layer in part if layer.name in names)
        for part in suspicion.parts:
            if part in parts and not _reached(wrong).intersection(part):
                named = tuple(layer.name for layer in part)
                backend = rows[named[0]].backend
                self.unexplained.append(Unexplained(named, backend, segment.number))

    def _fusions(
        self, segment: _Segment, examiner: Examiner, part: tuple[Layer, ...]
    ) -> list[LayerVerdict]:
        if len(part) == 1:
            return []
        backend = segment.rows[part[0].name].backend

        def search(held: dict[Value, None]) -> FusedSearch:
            values = segment.clean.again(held)
            clean = {value: values.until(value) for value in held}
            return FusedSearch(examiner, part, clean, backend)

        # The values inside of a large part are kept only if it is wrong.
        if not is_small(segment.layers) and not search(at_borders(part)).differs():
            return []
        found = search(read_or_made(part)).run()
        for verdict in found:
            self._keep(segment.number, verdict)
        return found

    def _keep(self, number: int, verdict: LayerVerdict) -> None:
        """Keep the worse of a layer's verdicts over all samples."""
        known = self.verdicts.get(verdict.layers)
        verdict = replace(verdict, sample=number)
        if known is None or verdict.figures.severity > known.figures.severity:
            self.verdicts[verdict.layers] = verdict


def _reached(layers: set[Layer]) -> set[Layer]:
    """Return layers with all that are behind them."""
    found, pending = set(layers), list(layers)
    while pending:
        for value in pending.pop().outputs:
            for reader in value.consumers:
                if reader not in found:
                    found.add(reader)
                    pending.append(reader)
    return found
