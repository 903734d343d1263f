# SPDX-License-Identifier: MIT
"""Naming the optimizer's pass that makes a network wrong.

The changes of all passes are counted. With the first k of them only, outputs are right up to some k
and wrong from then on; halving finds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any

from numpy.typing import NDArray

from armnn.backends import CreationOptions
from armnn.errors import InvalidArgumentError
from armnn.graph import Network, Value
from armnn.installing import CPU_REF
from armnn.optimizer import OptimizerOptions
from armnn.optimizer.passes import Pass, pass_control
from armnn.parsing import parse
from armnn_tools.debugging.bench import Bench
from armnn_tools.debugging.findings import ErrorKind, Figures
from armnn_tools.debugging.judging import Opinions, floor_of, judge
from armnn_tools.debugging.reference import CleanValues, Reference
from armnn_tools.debugging.samples import checked_samples

Arrays = Mapping[str, NDArray[Any]]


_RIGHT = Figures()


@dataclass(frozen=True, slots=True)
class PassFinding:
    """The first change of a pass that makes outputs wrong.

    Attributes:
        name: The name of the pass; "" if the passes change nothing for the worse.
        number: Which change of all passes it is, counted from 1.
        changes: How many changes there are.
        layers: The names of layers that the change took out.
        added: The names of layers that it put in.
        output: The name of the output that is wrong.
        figures: The figures of this output.
    """

    name: str = ""
    number: int = 0
    changes: int = 0
    layers: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    output: str = ""
    figures: Figures = _RIGHT

    @property
    def agrees(self) -> bool:
        """Whether outputs are right with all passes."""
        return not self.name


class _Counter:
    """Lets the first changes happen and records the last."""

    def __init__(self, limit: int | None = None) -> None:
        self.count = 0
        self.last: tuple[str, tuple[str, ...], tuple[str, ...]] = ("", (), ())
        self._limit = limit

    def __call__(self, name: str, network: Network, rewrite: Pass) -> int:
        """Run a pass unless all changes have been made."""
        if self._limit is not None and self.count >= self._limit:
            return 0
        before = dict.fromkeys(layer.name for layer in network.layers)
        changes = rewrite(network)
        if changes:
            self.count += 1
            after = dict.fromkeys(layer.name for layer in network.layers)
            gone = tuple(each for each in before if each not in after)
            self.last = name, gone, tuple(each for each in after if each not in before)
        return changes


def find_wrong_pass(
    model: str | PathLike[str] | Network,
    *,
    reference: str = CPU_REF,
    inputs: Sequence[Arrays] | None = None,
    samples: int = 1,
    creation_options: CreationOptions | None = None,
) -> PassFinding:
    """Name the pass whose change makes a network wrong.

    The network runs on the reference, with and without the passes; other backends take no part.

    Args:
        model: The path of a model file, or a network.
        reference: The id of the backend that defines what is right; it must compute Float64.
        inputs: One mapping from names to arrays per sample; random ones if left out.
        samples: How many random samples to run.
        creation_options: The options of the runtime.

    Raises:
        InvalidArgumentError: An input is missing, or a segment of the network waits for computed
            data.
        BackendError: The reference cannot be used.
    """
    network = model if isinstance(model, Network) else parse(model)
    creation = CreationOptions() if creation_options is None else creation_options
    bench = Bench([reference], OptimizerOptions(), creation)
    try:
        for arrays in checked_samples(network, inputs, samples):
            finding = _Search(bench, network, arrays, reference).run()
            if not finding.agrees:
                return finding
        return finding
    finally:
        bench.close()


@dataclass(slots=True)
class _Search:
    bench: Bench
    network: Network
    inputs: Arrays
    reference: str

    def run(self) -> PassFinding:
        judged = self._judge_of_unchanged()
        total = _Counter()
        if judged(self._outputs(total))[1].kind is ErrorKind.NONE:
            return PassFinding(changes=total.count)
        right, wrong = 0, total.count
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if judged(self._outputs(_Counter(middle)))[1].kind is ErrorKind.NONE:
                right = middle
            else:
                wrong = middle
        last = _Counter(wrong)
        output, figures = judged(self._outputs(last))
        return PassFinding(
            last.last[0], wrong, total.count, last.last[1], last.last[2], output, figures
        )

    def _outputs(self, control: _Counter) -> Arrays:
        """Return the outputs with the counter's changes."""
        with _controlled(control):
            loaded = self.bench.load(self.network, self.inputs)
        try:
            return loaded.run(self.inputs)
        finally:
            loaded.close()

    def _judge_of_unchanged(self) -> Callable[[Arrays], tuple[str, Figures]]:
        """Return a judge that knows the unchanged network's outputs."""
        built = Bench([self.reference], OptimizerOptions(rewrite=False), CreationOptions())
        try:
            head, rest = built.layers(self.network, self.inputs)
        finally:
            built.close()
        if rest is not None:
            raise InvalidArgumentError(
                f"a segment of the network {self.network.name!r} waits for computed data: its "
                "passes cannot be told apart, expected a network of known shapes"
            )
        reference = Reference(self.bench.candidate(self.reference, head))
        reals: dict[Value, NDArray[Any]] = {}
        clean = CleanValues(head, self.inputs, reference)
        floor = 0.0
        for visit in clean.visits:
            made = reference.exact(visit.layer, visit.operands, reals)
            pairs = zip(visit.layer.outputs, made, strict=True)
            reals.update({value: real for value, real in pairs if real is not None})
            floor = max(floor, floor_of(visit.layer, visit.layer.outputs[0].info))
        values = {layer.name: layer.inputs[0] for layer in head.outputs}

        def judged(outputs: Arrays) -> tuple[str, Figures]:
            found = [
                (
                    name,
                    judge(
                        Opinions(outputs[name], clean.outputs[name], reals.get(value)),
                        value.info,
                        floor,
                    ),
                )
                for name, value in values.items()
                if value is not None
            ]
            return max(found, key=lambda each: each[1].severity)

        return judged


@contextmanager
def _controlled(control: _Counter) -> Iterator[None]:
    token = pass_control.set(control)
    try:
        yield
    finally:
        pass_control.reset(token)
