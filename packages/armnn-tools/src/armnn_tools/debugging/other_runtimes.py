# SPDX-License-Identifier: MIT
"""Model files compared with their own runtimes: onnxruntime and LiteRT.

Each tensor that the runtime computes is compared by its name with what the reference computes of
the runtime's own tensors before it, so that nothing accumulates. For that the runtime gets the file
with all tensors that nodes compute as outputs; a parser and the runtime read such a file alike.
"""

from __future__ import annotations

import os
import struct
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import file_path, instance
from armnn.backends import CreationOptions
from armnn.errors import ExecutionError, InvalidArgumentError, NotInstalledError, ParseError
from armnn.graph import Layer, Network, Value, initial_value
from armnn.installing import CPU_REF
from armnn.optimizer import OptimizerOptions
from armnn.parsing import checked_file, parse
from armnn.runtime import LoadedNetwork
from armnn.tensor import info_of
from armnn_tools.debugging.bench import Bench
from armnn_tools.debugging.findings import Figures, Findings, LayerFinding
from armnn_tools.debugging.judging import Opinions, Ties, floor_of, judged_with_ties
from armnn_tools.debugging.reference import NOT_COMPUTED, Reference, Visit
from armnn_tools.debugging.samples import checked_samples

Array = NDArray[Any]

Arrays = Mapping[str, "NDArray[Any]"]


def compare_with_tool(
    path: str | os.PathLike[str],
    *,
    reference: str = CPU_REF,
    inputs: Sequence[Arrays] | None = None,
    samples: int = 1,
    creation_options: CreationOptions | None = None,
) -> Findings:
    """Compare the reference's layers with another runtime's.

    The findings name the runtime as their backend: "onnxruntime" for .onnx files and "litert" for
    .tflite files. Both compute without optimizations. A wrong layer is one that runtime and
    reference compute differently; tensors that the file has no name for are not judged.

    Args:
        path: The model file.
        reference: The id of the backend that defines what is right; it must compute Float64.
        inputs: One mapping from names to arrays per sample; random ones if left out, and the first
            values of states.
        samples: How many random samples to run.
        creation_options: The options of the runtime.

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
            "expected a model file that holds all its data"
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
    return {
        layer.name: initial_value(
            network.metadata, layer.name, layer.output.info, layer.output.info.static_shape
        )
        for layer in network.inputs
        if layer.name in states
    }


@dataclass(slots=True)
class _ByName:
    """The findings about named tensors as they come."""

    bench: Bench
    network: Network
    reference: str
    tool: str
    by_layer: dict[tuple[str, ...], LayerFinding] = field(default_factory=dict)
    samples: int = 0
    layers: int = 0
    executions: int = 0

    def add(self, number: int, inputs: Arrays, made: Arrays) -> None:
        """Compare one sample, segment by segment."""
        network: Network | None = self.network
        arrays = dict(inputs)
        self.samples += 1
        while network is not None:
            head, rest = self.bench.layers(network, arrays)
            candidate = self.bench.candidate(self.reference, head)
            walk = _Walk(Reference(candidate), head, arrays, made)
            for layers, figures in walk.judged():
                names, types = (tuple(getattr(e, a) for e in layers) for a in ("name", "type"))
                finding = LayerFinding(names, types, self.tool, figures, sample=number)
                self._keep(replace(finding, wrong_runs=int(finding.is_wrong)))
            self.layers += walk.layers
            self.executions += walk.reference.executions
            arrays.update(walk.outputs)
            network = rest

    def findings(self) -> Findings:
        """Return the findings, in graph order."""
        return Findings(
            by_layer=tuple(self.by_layer.values()),
            unexplained=(),
            layers=self.layers,
            backend_runs=self.samples,
            reference_runs=self.executions / self.layers if self.layers else 0.0,
            largest_border_difference=0.0,
        )

    def _keep(self, finding: LayerFinding) -> None:
        """Keep the worse of a layer's findings over all samples."""
        known = self.by_layer.get(finding.layers)
        if known is None or finding.figures.severity > known.figures.severity:
            self.by_layer[finding.layers] = finding


class _Walk:
    """One segment's layers, computed of the runtime's tensors.

    Attributes:
        reference: Computes them.
        layers: How many there are.
        outputs: The descriptions of the network's outputs.
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


@dataclass(frozen=True, slots=True)
class ModelElsewhere:
    """A model as another runtime reads it.

    Attributes:
        name: The name of the file, for messages.
        source: The path of the file, or its content.
        outputs: The names of our outputs, in the order of the file's.
        metadata: Our network's.
    """

    name: str
    source: str | bytes
    outputs: Sequence[str]
    metadata: Mapping[str, str]


def run_elsewhere(
    runtime: str, path: str | os.PathLike[str], loaded: LoadedNetwork, inputs: Arrays
) -> dict[str, NDArray[Any]]:
    """Return the outputs that another runtime computes of a model file.

    onnxruntime computes without its optimizations, and LiteRT with its reference kernels: both
    define what a model means, which their fast kernels approximate.

    Args:
        runtime: "onnxruntime" or "litert".
        path: The file that the network was loaded from.
        loaded: The network, for the names of its outputs.
        inputs: One array per input, as stored.

    Raises:
        InvalidArgumentError: The runtime is not known, reads other files, or keeps a state inside.
        NotInstalledError: The runtime is not installed.
        ExecutionError: It cannot run the model.
    """
    file = Path(file_path(path, "the path of the model"))
    if runtime not in RUNTIMES:
        raise InvalidArgumentError(
            f"the runtime to compare with is {runtime!r}: expected one of {', '.join(RUNTIMES)}"
        )
    suffix = RUNTIMES[runtime][0]
    if file.suffix.lower() != suffix:
        raise InvalidArgumentError(
            f"{runtime} cannot run {str(file)!r}: expected a file ending in {suffix}"
        )
    library = installed_runtime(runtime)
    model = ModelElsewhere(str(file), str(file), tuple(loaded.outputs), loaded.metadata)
    return run_model(runtime, library, model, inputs)


def runtime_of(file: Path) -> str:
    """Return the runtime that defines a file's format.

    Raises:
        InvalidArgumentError: None is known.
    """
    suffixes = {each[0]: name for name, each in RUNTIMES.items()}
    found = suffixes.get(file.suffix.lower())
    if found is None:
        raise InvalidArgumentError(
            f"no other runtime reads {str(file)!r}: expected a file ending in "
            f"{' or '.join(suffixes)}"
        )
    return found


def installed_runtime(runtime: str) -> Any:
    """Return a runtime's module.

    Raises:
        NotInstalledError: It is not installed.
    """
    _, module, distribution, _ = RUNTIMES[runtime]
    try:
        return import_module(module)
    except ImportError as error:
        raise NotInstalledError(
            f"{runtime} is not installed, to compare with it: pip install {distribution}"
        ) from error


def run_model(
    runtime: str, library: Any, model: ModelElsewhere, inputs: Arrays
) -> dict[str, NDArray[Any]]:
    """Return the outputs of a model by our names.

    Raises:
        InvalidArgumentError: The runtime keeps a state inside, or has other inputs.
        ExecutionError: It cannot run the model.
    """
    try:
        return RUNTIMES[runtime][3](library, model, inputs)
    except InvalidArgumentError:
        raise
    except Exception as error:
        raise ExecutionError(f"{runtime} cannot run {model.name!r}: {error}") from error


def _run_onnxruntime(
    library: Any, model: ModelElsewhere, inputs: Arrays
) -> dict[str, NDArray[Any]]:
    options = library.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = library.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = library.InferenceSession(model.source, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs() if output.name in model.outputs]
    found = session.run(names, {given.name: inputs[given.name] for given in session.get_inputs()})
    return dict(zip(names, map(np.asarray, found), strict=True))


def _run_litert(library: Any, model: ModelElsewhere, inputs: Arrays) -> dict[str, NDArray[Any]]:
    states = [name for name in inputs if name in model.outputs]
    for name in states:
        _check_first_value(name, inputs[name], model.metadata)
    source = "model_path" if isinstance(model.source, str) else "model_content"
    interpreter = library.Interpreter(
        experimental_op_resolver_type=library.OpResolverType.BUILTIN_REF, **{source: model.source}
    )
    given = [array for name, array in inputs.items() if name not in states]
    details = interpreter.get_input_details()
    names = [name for name in model.outputs if name not in states]
    if len(given) != len(details) or len(names) != len(interpreter.get_output_details()):
        raise InvalidArgumentError(
            f"litert cannot be compared with: {model.name!r} has {len(details)} inputs and "
            f"{len(interpreter.get_output_details())} outputs there, {len(given)} and "
            f"{len(names)} here; choose neither signature nor subgraph"
        )
    for detail, array in zip(details, given, strict=True):
        if tuple(detail["shape"]) != array.shape:
            interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, given, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    made = interpreter.get_output_details()
    arrays = (np.array(interpreter.get_tensor(detail["index"])) for detail in made)
    return dict(zip(names, arrays, strict=True))


def _check_first_value(name: str, array: NDArray[Any], metadata: Mapping[str, str]) -> None:
    """Raise InvalidArgumentError unless a state is as a run begins."""
    if not np.array_equal(array, initial_value(metadata, name, info_of(array), array.shape)):
        first = textwrap.shorten(metadata.get(f"initial {name}", "0"), 60, placeholder=" ...")
        raise InvalidArgumentError(
            f"LiteRT takes no first value of the state {name!r}, which begins with {first} there: "
            "give armnn the same first value, so that the first runs can be compared"
        )


Run = Callable[[Any, ModelElsewhere, Arrays], "dict[str, NDArray[Any]]"]

RUNTIMES: dict[str, tuple[str, str, str, Run]] = {
    "onnxruntime": (".onnx", "onnxruntime", "onnxruntime", _run_onnxruntime),
    "litert": (".tflite", "ai_edge_litert.interpreter", "ai-edge-litert", _run_litert),
}
"""Suffix of files, module, distribution and function of each runtime."""

_GRAPH, _NODE, _OUTPUT = 7, 1, 12
"""Fields of ONNX's ModelProto and GraphProto."""

_NODE_OUTPUT, _NODE_TYPE = 2, 4
"""Fields of ONNX's NodeProto."""

_SUBGRAPHS, _TENSORS, _OUTPUTS, _OPERATORS, _MADE = 2, 0, 2, 3, 2
"""Slots of TensorFlow Lite's tables Model, SubGraph (three) and Operator."""

_TENSOR_TYPE = 1
_NUMBERS = (0, 1, 2, 3, 4, 6, 7, 9, 10, 11, 15, 16)
"""TensorFlow Lite's types of real and whole numbers and Booleans of at least a byte."""


def marked_onnx(content: bytes) -> bytes:
    """Return an ONNX model with all computed tensors as outputs.

    Those of the main graph are marked, behind the model's own outputs.

    Raises:
        ParseError: It is not an ONNX model.
    """
    outputs: dict[str, None] = {}
    made: dict[str, None] = {}
    for graph in _messages(content, _GRAPH):
        for output in _messages(graph, _OUTPUT):
            outputs |= dict.fromkeys(_texts(output, 1))
        for node in _messages(graph, _NODE):
            if _texts(node, _NODE_TYPE) != ["Constant"]:
                made |= dict.fromkeys(name for name in _texts(node, _NODE_OUTPUT) if name)
    added = b"".join(
        _field(_OUTPUT, _field(1, name.encode())) for name in made if name not in outputs
    )
    # Protocol Buffers merge a message that stands twice, so the outputs may follow the file.
    return content + _field(_GRAPH, added)


def marked_tflite(content: bytes) -> bytes:
    """Return a TensorFlow Lite model with computed tensors as outputs.

    Those of the main subgraph are marked, behind the model's own outputs.

    Raises:
        ParseError: It is not a TensorFlow Lite model.
    """
    try:
        main = next(_tables(content, _target(content, 0), _SUBGRAPHS))
        place = _slot(content, main, _OUTPUTS)
        types = [_type_of(content, at) for at in _tables(content, main, _TENSORS)]
        marked = dict.fromkeys(_integers(content, main, _OUTPUTS))
        for operator in _tables(content, main, _OPERATORS):
            made = _integers(content, operator, _MADE)
            marked |= {index: None for index in made if index >= 0 and types[index] in _NUMBERS}
    except (struct.error, IndexError, StopIteration) as error:
        raise ParseError("the model is not a TensorFlow Lite file: it ends too early") from error
    if not place:
        raise ParseError("the model's main subgraph has no outputs")
    padded = content + bytes(-len(content) % 4)
    vector = struct.pack(f"<I{len(marked)}i", len(marked), *marked)
    body = bytearray(padded + vector)
    struct.pack_into("<I", body, place, len(padded) - place)
    return bytes(body)


MARKS: dict[str, Callable[[bytes], bytes]] = {".onnx": marked_onnx, ".tflite": marked_tflite}
"""The mark of the tensors of files of a suffix."""


def _field(number: int, content: bytes) -> bytes:
    """Return a length-delimited field in the wire format."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def _texts(message: memoryview, field: int) -> list[str]:
    return [bytes(each).decode("utf-8", "replace") for each in _messages(message, field)]


def _messages(content: bytes | memoryview, wanted: int) -> Iterator[memoryview]:
    """Yield the length-delimited fields of a number."""
    view, at = memoryview(content), 0
    try:
        while at < len(view):
            key, at = _read_varint(view, at)
            kind, size = key & 7, 0
            if kind == 2:
                size, at = _read_varint(view, at)
            elif kind == 0:
                _, at = _read_varint(view, at)
            else:
                size = {1: 8, 5: 4}[kind]
            if at + size > len(view):
                raise IndexError(at)
            if key >> 3 == wanted and kind == 2:
                yield view[at : at + size]
            at += size
    except (IndexError, KeyError) as error:
        raise ParseError("the model is not an ONNX file: it cannot be read to its end") from error


def _read_varint(view: memoryview, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = view[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _target(content: bytes, place: int) -> int:
    """Return where a FlatBuffers offset points."""
    offset: int = struct.unpack_from("<I", content, place)[0]
    return place + offset


def _slot(content: bytes, table: int, slot: int) -> int:
    """Return a field's place, 0 if the table lacks it."""
    vtable = table - struct.unpack_from("<i", content, table)[0]
    if vtable < 0 or 4 + 2 * slot >= struct.unpack_from("<H", content, vtable)[0]:
        return 0
    offset: int = struct.unpack_from("<H", content, vtable + 4 + 2 * slot)[0]
    return table + offset if offset else 0


def _type_of(content: bytes, tensor: int) -> int:
    place = _slot(content, tensor, _TENSOR_TYPE)
    return content[place] if place else 0


def _integers(content: bytes, table: int, slot: int) -> tuple[int, ...]:
    place = _slot(content, table, slot)
    if not place:
        return ()
    vector = _target(content, place)
    (count,) = struct.unpack_from("<I", content, vector)
    if count > len(content):
        raise IndexError(count)
    return struct.unpack_from(f"<{count}i", content, vector + 4)


def _tables(content: bytes, table: int, slot: int) -> Iterator[int]:
    """Yield where the tables of a vector begin."""
    place = _slot(content, table, slot)
    if place:
        vector = _target(content, place)
        (count,) = struct.unpack_from("<I", content, vector)
        for number in range(count):
            yield _target(content, vector + 4 + 4 * number)
