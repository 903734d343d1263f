# SPDX-License-Identifier: MIT
"""Layers of a model file, compared with its own runtime.

Each tensor that the runtime computes is compared by its name with what the reference computes of
the runtime's own tensors before it, so that nothing accumulates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._arguments import file_path, instance
from armnn._installing import REFERENCE
from armnn.backends import CreationOptions
from armnn.debugging.alone import judged_with_ties
from armnn.debugging.bench import Bench
from armnn.debugging.clean_values import NOT_COMPUTED, Visit
from armnn.debugging.findings import Findings
from armnn.debugging.judging import Opinions
from armnn.debugging.marking import MARKS
from armnn.debugging.noise import floor_of
from armnn.debugging.reference import Reference
from armnn.debugging.runtimes import ModelElsewhere, installed_runtime, run_model, runtime_of
from armnn.debugging.samples import checked_samples
from armnn.debugging.ties import Ties
from armnn.debugging.verdicts import LayerVerdict
from armnn.errors import InvalidArgumentError
from armnn.optimizer.options import OptimizerOptions
from armnn.parsing import checked_file, parse

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from armnn.debugging.verdicts import Figures
    from armnn.graph import Layer, Network, Value

    Array = NDArray[Any]
    Arrays = Mapping[str, Array]


def compare_with_tool(
    path: str | PathLike[str],
    *,
    reference: str = REFERENCE,
    inputs: Sequence[Arrays] | None = None,
    samples: int = 1,
    creation_options: CreationOptions | None = None,
) -> Findings:
    """Compare the reference's layers with another runtime's.

    The verdicts name the runtime as their backend: "onnxruntime" for .onnx files and "litert" for
    .tflite files. Both compute without optimisations. A wrong layer is one that runtime and
    reference compute differently; tensors that the file has no name for are not judged.

    Args:
        path: The model file.
        reference: The id of the backend that defines what is right; it must compute Float64.
        inputs: One mapping from names to arrays per sample; random ones if left out, and the first
            values of states.
        samples: How many random samples there are.
        creation_options: Those of a runtime.

    Raises:
        InvalidArgumentError: No runtime reads the file, it keeps data in other files, or an input
            is missing.
        NotInstalledError: The runtime is not installed.
        ExecutionError: The runtime cannot run the model.
        ParseError: The model is malformed.
    """
    file = checked_file(file_path(path, "the path of the model"))
    tool = runtime_of(file)
    library = installed_runtime(tool)
    if parse(file).external_files:
        raise InvalidArgumentError(
            f"{tool} cannot show the layers of {str(file)!r}: it keeps data in other files, "
            "expected a file with all its data"
        )
    content = MARKS[file.suffix.lower()](file.read_bytes())
    network = parse(content, suffix=file.suffix)
    names = tuple(output.name for output in network.outputs)
    model = ModelElsewhere(str(file), content, names, network.metadata)
    creation = CreationOptions() if creation_options is None else creation_options
    instance(creation, CreationOptions, "the creation_options")
    bench = Bench([reference], OptimizerOptions(rewrite=False), creation)
    try:
        comparison = _ByName(bench, network, reference, tool)
        first = first_states(network) if inputs is None else {}
        for number, given in enumerate(checked_samples(network, inputs, samples)):
            arrays = {**given, **first}
            comparison.add(number, arrays, run_model(tool, library, model, arrays))
        return comparison.findings()
    finally:
        bench.close()


def first_states(network: Network) -> Arrays:
    """Return the values that states have before the first run."""
    states = {output.name for output in network.outputs}
    first = network.metadata
    return {
        layer.name: np.full(
            layer.output.info.static_shape,
            float(first.get(f"initial {layer.name}", "0")),
            layer.output.info.data_type.numpy_dtype,
        )
        for layer in network.inputs
        if layer.name in states
    }


@dataclass(slots=True)
class _ByName:
    """The verdicts about named tensors as they come."""

    bench: Bench
    network: Network
    reference: str
    tool: str
    verdicts: dict[tuple[str, ...], LayerVerdict] = field(default_factory=dict)
    samples: int = 0
    layers: int = 0
    executions: int = 0

    def add(self, number: int, inputs: Arrays, made: Arrays) -> None:
        """Compare one sample, segment by segment."""
        network: Network | None = self.network
        arrays = dict(inputs)
        self.samples += 1
        while network is not None:
            cut = self.bench.layers(network.clone, arrays)
            candidate = self.bench.candidate(self.reference, cut.head)
            walk = _Walk(Reference(candidate), cut.head, arrays, made)
            for layers, figures in walk.judged():
                names, types = (tuple(getattr(e, a) for e in layers) for a in ("name", "type"))
                verdict = LayerVerdict(names, types, self.tool, figures, sample=number)
                self._keep(replace(verdict, wrong_runs=int(verdict.is_wrong)))
            self.layers += walk.layers
            self.executions += walk.reference.executions
            arrays.update(walk.outputs)
            network = cut.rest

    def findings(self) -> Findings:
        """Return what was found, in graph order."""
        return Findings(
            verdicts=tuple(self.verdicts.values()),
            unexplained=(),
            layers=self.layers,
            backend_runs=self.samples,
            reference_runs=self.executions / self.layers if self.layers else 0.0,
            largest_border_difference=0.0,
        )

    def _keep(self, verdict: LayerVerdict) -> None:
        """Keep the worse of a layer's verdicts over all samples."""
        known = self.verdicts.get(verdict.layers)
        if known is None or verdict.figures.severity > known.figures.severity:
            self.verdicts[verdict.layers] = verdict


class _Walk:
    """One segment's layers, computed of the runtime's tensors.

    Attributes:
        reference: Computes them.
        layers: How many there are.
        outputs: What the network's outputs are.
    """

    def __init__(
        self, reference: Reference, network: Network, inputs: Arrays, made: Arrays
    ) -> None:
        self.reference = reference
        self.outputs: dict[str, Array] = {}
        self.layers = sum(layer.type not in NOT_COMPUTED for layer in network.layers)
        self._network = network
        self._values: dict[Value, Array] = {
            layer.output: inputs[layer.name] for layer in network.inputs
        }
        self._reals: dict[Value, Array] = {}
        self._floors: dict[Value, float] = {}
        self._unnamed: dict[Value, dict[Layer, None]] = {}
        self._made = {
            value: made[output.name]
            for output in network.outputs
            for value in output.inputs
            if value is not None and output.name in made
        }

    def judged(self) -> list[tuple[tuple[Layer, ...], Figures]]:
        """Return figures of layers up to each named tensor."""
        found = []
        for layer in self._network.topological_order():
            if layer.type == "Output":
                self.outputs[layer.name] = self._operand(layer.inputs[0])
            elif layer.type not in NOT_COMPUTED:
                layers, figures = self._visit(layer)
                if figures:
                    found.append((layers, max(figures, key=lambda each: each.severity)))
        return found

    def _visit(self, layer: Layer) -> tuple[tuple[Layer, ...], list[Figures]]:
        """Compute a layer and judge its named tensors."""
        read = [value for value in layer.inputs if value is not None]
        operands = [None if value is None else self._operand(value) for value in layer.inputs]
        own = self.reference.own(layer, operands)
        exact = self.reference.exact(layer, operands, self._reals)
        ties = Ties(Visit(layer, operands, own), self.reference)
        before = sum(self._floors.get(value, 0.0) for value in read)
        layers = {each: None for value in read for each in self._unnamed.get(value, ())}
        layers[layer] = None
        figures = []
        for value, mine, real in zip(layer.outputs, own, exact, strict=True):
            floor = floor_of(layer, value.info) + before
            got = self._made.get(value)
            if got is not None:
                opinions = Opinions(got, mine, real)
                figures.append(judged_with_ties(ties, value, opinions, floor))
            if got is not None and (got.shape, got.dtype) == (mine.shape, mine.dtype):
                self._values[value] = got
                continue
            self._values[value], self._floors[value] = mine, floor
            self._unnamed[value] = layers
            if real is not None:
                self._reals[value] = real
        return tuple(layers), figures

    def _operand(self, value: Value | None) -> Array:
        assert value is not None
        return self._values[value] if value.constant is None else value.constant
