# SPDX-License-Identifier: MIT
"""Wrong arguments everywhere raise armnn's own errors only.

The public API is called with them at every parameter.
"""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import profiling, quantization
from armnn.errors import ArmnnError, UnknownNameError
from armnn.graph._builders import LayerBuilders
from armnn.layers import LAYERS
from armnn.tensor import info_of
from armnn.types import ArmnnEnum
from armnn_conformance.cases import cases_of

if TYPE_CHECKING:
    from pathlib import Path


class Anything:
    """An object without any use."""


WRONG: dict[str, Any] = {
    "None": None,
    "True": True,
    "0": 0,
    "-1": -1,
    "2**40": 2**40,
    "2**70": 2**70,
    "1.5": 1.5,
    "nan": float("nan"),
    "1j": 1j,
    "empty text": "",
    "text": "nonsense",
    "null": "a\0b",
    "bytes": b"x",
    "bytearray": bytearray(b"x"),
    "list": [1],
    "texts": ["a"],
    "nested": [[]],
    "ragged": [[1], [1, 2]],
    "list of None": [None],
    "tuple": (-1, 2.5),
    "set": {1},
    "dict": {"a": 1},
    "odd dict": {1: object()},
    "object": object(),
    "instance": Anything(),
    "class": Anything,
    "type": int,
    "function": lambda *_: None,
    "module": re,
    "array": np.zeros(3),
    "scalar array": np.array(-7),
    "text array": np.array(["a"]),
    "object array": np.array([None, Anything()], object),
    "NumPy float": np.float32(2),
    "NumPy class": np.floating,
    "dtype": np.dtype("M8[s]"),
    "member": armnn.DataLayout.NHWC,
    "iterator": iter(()),
}
INTERPRETER = re.compile(
    r"object has no attribute|not subscriptable|unsupported operand|unhashable|is not iterable"
    r"|object is not callable|not supported between|indices must be|has no len\(\)"
    r"|argument must be|cannot be interpreted as an integer|must be real number"
)
"""What only the interpreter says."""


def raised_wrongly(call: Callable[[], object]) -> str | None:
    """Return a wrong exception's text, "" for none, None if right."""
    try:
        call()
    except ArmnnError as error:
        text = str(error)
        is_proper = len(text) > 15 and not INTERPRETER.search(text)
        return None if is_proper else f"armnn says {text!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return ""


def wrong_calls(
    call: Callable[..., object], good: Mapping[str, Any]
) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield calls with one wrong argument each, described."""
    for parameter in good:
        for label, value in WRONG.items():
            arguments = {**good, parameter: value}
            yield f"{parameter}={label}", lambda arguments=arguments: call(**arguments)


def failures(call: Callable[..., object], good: Mapping[str, Any]) -> list[str]:
    return [
        f"{label}: {problem}"
        for label, wrong in wrong_calls(call, good)
        if (problem := raised_wrongly(wrong))
    ]


def small_network() -> tuple[armnn.Network, armnn.Value]:
    network = armnn.Network("small")
    x = network.add_input("x", armnn.TensorInfo((1, 3)))
    network.add_output("y", network.add_activation(x, function="ReLu", name="relu"))
    return network, x


# -- layers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in LAYERS if n not in ("Input", "Output", "Constant")])
def test_builders_refuse_wrong_arguments_properly(name: str) -> None:
    spec = LAYERS[name]
    method = next(
        each for each in vars(LayerBuilders)
        if each.replace("_", "") == f"add{name.lower()}"
    )  # fmt: skip
    given = next(iter(cases_of(name)), None)
    network = armnn.Network()
    infos = [] if given is None else [None if t is None else t.info for t in given.inputs]
    values = [None if i is None else network.add_input(f"x{n}", i) for n, i in enumerate(infos)]
    if given is None:  # nothing computes it
        values = [
            network.add_input(f"x{n}", armnn.TensorInfo((1,))) for n in range(len(spec.inputs))
        ]
    descriptor = spec.descriptor() if given is None else given.descriptor
    slots = list(inspect.signature(getattr(network, method)).parameters)[: len(spec.inputs)]
    good: dict[str, Any] = dict.fromkeys(slots)
    if spec.is_variadic:
        good |= {**dict(zip(slots[:-1], values, strict=False)), slots[-1]: values[len(slots) - 1 :]}
    else:
        good |= dict(zip(slots, values, strict=False))
    good |= {field.name: getattr(descriptor, field.name) for field in fields(descriptor)}
    good["name"] = None
    parameters = inspect.signature(getattr(network, method)).parameters
    good |= {each: None for each in ("output", "outputs") if each in parameters}
    assert failures(getattr(network, method), good) == []


def test_networks_refuse_wrong_arguments_properly() -> None:
    problems = []
    kinds: dict[str, Callable[[armnn.Network, armnn.Value], Mapping[str, Any]]] = {
        "find": lambda n, x: {"name": "relu"},
        "add": lambda n, x: {
            "layer_type": "Activation", "inputs": [x], "descriptor": None, "name": None,
            "outputs": None,
        },
        "add_input": lambda n, x: {"name": "z", "info": armnn.TensorInfo((1,))},
        "add_output": lambda n, x: {"name": "z", "value": x},
        "add_constant": lambda n, x: {"data": np.zeros(3), "info": None, "name": None},
        "unique_name": lambda n, x: {"stem": "relu"},
        "replace_uses": lambda n, x: {"old": x, "new": x},
        "replace_input": lambda n, x: {"layer": n.find("relu"), "index": 0, "value": x},
        "replace_inputs": lambda n, x: {"layer": n.find("relu"), "values": [x]},
        "replace_descriptor": lambda n, x: {
            "layer": n.find("relu"), "descriptor": n.find("relu").descriptor,
        },
        "rename": lambda n, x: {"layer": n.find("relu"), "name": "other"},
        "remove": lambda n, x: {"layer": n.find("relu")},
        "extract": lambda n, x: {"layers": n.layers},
        "insert_copies": lambda n, x: {"layers": [n.find("relu")], "replacements": {x: x}},
        "__contains__": lambda n, x: {"layer": x.producer},
    }  # fmt: skip
    for method, arguments in kinds.items():
        for parameter in arguments(*small_network()):
            for label, value in WRONG.items():
                network, x = small_network()
                good = arguments(network, x)
                problem = raised_wrongly(
                    lambda: getattr(network, method)(**{**good, parameter: value})  # noqa: B023 - called at once
                )
                if problem:
                    problems.append(f"{method}({parameter}={label}): {problem}")
                if problem is None:
                    network.clone().validate()  # what is refused leaves the network as it was
    public = {name for name in vars(armnn.graph.Network) if not name.startswith("_")}
    plain = {name for name in public if callable(getattr(armnn.Network, name))}
    without = {"topological_order", "clear", "remove_unused", "clone", "validate", "check_outputs"}
    assert plain - without == kinds.keys() - {"__contains__"}
    assert problems == []


# -- values -------------------------------------------------------------------------------------

INFO = armnn.TensorInfo((2, 3), "QAsymmS8", (0.5, 0.25), (1, 2), 0)
CALLS: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
    "Network": (armnn.Network, {"name": "", "metadata": None}),
    "TensorInfo": (
        armnn.TensorInfo,
        {"shape": (2, 3), "data_type": "QAsymmS8", "scales": (0.5, 0.25), "zero_points": (1, 2),
         "axis": 0},
    ),
    "with_shape": (INFO.with_shape, {"shape": (2, 3)}),
    "with_data_type": (INFO.with_data_type, {"data_type": "Float32"}),
    "with_quantization_of": (INFO.with_quantization_of, {"other": INFO}),
    "is_type_space_match": (INFO.is_type_space_match, {"other": INFO}),
    "accepts": (INFO.accepts, {"shape": (2, 3)}),
    "info_of": (info_of, {"array": np.zeros(3)}),
    "CreationOptions": (
        armnn.CreationOptions, {f.name: f.default for f in fields(armnn.CreationOptions)
                                if f.default is not MISSING}
        | {"backend_options": {}, "custom_allocators": {}, "memory_strategies": {}},
    ),
    "quantize": (quantization.quantize, {"values": np.zeros((2, 3)), "info": INFO}),
    "dequantize": (quantization.dequantize, {"stored": np.zeros((2, 3), np.int8), "info": INFO}),
    "Recorder": (profiling.Recorder, {"is_recording": True, "limit": 2}),
    "Event": (
        profiling.Event,
        {"name": "e", "start_ns": 1, "end_ns": 2, "thread_id": 0, "details": {}},
    ),
    "Recorder.event": (
        profiling.Recorder().event, {"name": "e", "start_ns": 1, "end_ns": 2, "category": "run"},
    ),
    "chrome_trace": (profiling.chrome_trace, {"events": [profiling.Event("e", 1, 2)]}),
    "from_numpy": (armnn.DataType.from_numpy, {"dtype": np.float32}),
    "parse": (armnn.parse, {"source": b"", "suffix": "onnx", "parser_options": None}),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_functions_of_values_refuse_wrong_arguments_properly(name: str) -> None:
    assert failures(*CALLS[name]) == []


@pytest.mark.parametrize(
    "kind", [each for name in armnn.__all__ if isinstance(each := getattr(armnn, name), type) and
             issubclass(each, ArmnnEnum)]
)  # fmt: skip
def test_enumerations_refuse_what_is_no_member_properly(kind: type[ArmnnEnum]) -> None:
    assert failures(lambda value: kind.of(value), {"value": 1}) == []
    hashable = [value for value in WRONG.values() if value.__hash__ is not None]
    # mypy sees the signature of a member, not that of a look-up; the function is called at once.
    assert [p for each in hashable if (p := raised_wrongly(lambda: kind(each)))] == []  # type: ignore[call-arg]  # noqa: B023


def test_writing_a_trace_refuses_wrong_arguments_properly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some of the wrong paths are names of files
    good = {"events": [profiling.Event("e", 1, 2)], "path": tmp_path / "trace.json"}
    wrong = [
        problem
        for problem in failures(profiling.write_chrome_trace, good)
        if not problem.startswith(("path=empty text: FileNotFoundError",))  # OSError is promised
    ]
    assert wrong == []


# -- loading and running ------------------------------------------------------------------------


@pytest.fixture
def runtime(make_backend, make_runtime):
    return make_runtime(make_backend("Fake"))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enter a folder for files made by mistaken paths."""
    monkeypatch.chdir(tmp_path)


WISHES: dict[str, Any] = {
    "backends": ["Fake"],
    "options": None,
    "backend_options": None,
    "profiler": None,
    "cache_dir": None,
}
KEYWORDS: dict[str, Any] = {
    each.name: armnn.OptimizerOptions.__dataclass_fields__[each.name].metadata["convert"](None, "")
    if each.name in ("layer_backends", "model_options")
    else each.default
    for each in fields(armnn.OptimizerOptions)
}


@pytest.mark.parametrize("method", ["optimize", "load_model"])
def test_preparing_refuses_wrong_arguments_properly(method: str, runtime) -> None:
    first = "network" if method == "optimize" else "model"
    of_loading = {
        "shapes": [{"x": (1, 3)}], "quantize": False, "format": None, "folder": None,
        "parser_options": None, "properties": None, "states": None,
    }  # fmt: skip
    further = {} if method == "optimize" else of_loading
    good = {first: small_network()[0], **WISHES, **further}
    parameters = set(inspect.signature(getattr(armnn, method)).parameters)
    assert set(good) == parameters - {"keywords"}
    assert failures(getattr(runtime, method), {**good, **KEYWORDS}) == []
    assert failures(getattr(armnn, method), {first: good[first]}) == []


@pytest.mark.parametrize("function", [armnn.optimize, armnn.load_model, armnn.parse])
def test_help_describes_every_argument(function: Any) -> None:
    shown = pydoc.render_doc(function, renderer=pydoc.plaintext)
    for name in inspect.signature(function).parameters:
        assert f"        {name}: " in shown
    assert "    Raises:\n" in shown


def test_runtimes_refuse_wrong_arguments_properly(runtime) -> None:
    assert failures(armnn.Runtime, {"options": None}) == []
    optimized = runtime.optimize(small_network()[0], ["Fake"])
    loading = {"network": optimized, "properties": None, "states": None}
    assert failures(runtime.load_network, loading) == []
    assert failures(runtime.unload_network, {"network": runtime.load_network(optimized)}) == []
    assert failures(runtime.registry.get, {"backend_id": "Fake"}) == []
    assert failures(runtime.registry.find_usable, {"backend_ids": ["Fake"]}) == []
    # What loaded networks call is not for users.
    plain = {name for name in vars(armnn.Runtime) if not name.startswith("_")}
    properties = {"registry", "is_closed"}
    assert plain - properties - {"close", "load_again", "trim"} == {
        "optimize", "compile_network", "load_network", "load_model", "unload_network",
    }  # fmt: skip


DATA_TYPES = ["Float32", "Float16", "BFloat16", "Signed32", "Unsigned8", "Boolean", "QAsymmU8"]


def test_an_unknown_option_of_a_runtime_is_refused_with_the_closest_name() -> None:
    with pytest.raises(UnknownNameError, match=r"'memory_stategies' .*mean 'memory_strategies'"):
        armnn.CreationOptions(memory_stategies={})
    with pytest.raises(UnknownNameError, match="option 'x' of a runtime; known are dynamic_"):
        armnn.CreationOptions(None, x=1)
    assert armnn.CreationOptions("folder", plan_limit=2).plan_limit == 2


@pytest.mark.parametrize("quantize", [False, True])
@pytest.mark.parametrize("data_type", DATA_TYPES)
def test_runs_refuse_wrong_arguments_properly(data_type: str, quantize: bool, runtime) -> None:
    network = armnn.Network("run")
    scales = {"scales": 0.5, "zero_points": 3} if data_type == "QAsymmU8" else {}
    x = network.add_input("x", armnn.TensorInfo((None, 1), data_type, **scales))
    network.add_output("y", network.add_reshape(x, target_shape=(-1,)))
    network.add_output("copy", x)
    model = runtime.load_model(network, ["Fake"], quantize=quantize)
    array = np.zeros((1, 1), np.float32 if quantize and scales else x.info.data_type.numpy_dtype)
    arrays = {"inputs": {"x": array}, "outputs": {"copy": np.empty_like(array)}}
    limits = {"timeout": 10.0, "cancel": None, "profiler": None}
    good = {**arrays, "names": ["copy"], **limits, "imported": ()}
    assert set(good) == set(inspect.signature(model.run).parameters)
    model.run(**good)
    assert failures(model.run, good) == []
    assert failures(lambda inputs: model.run(inputs), {"inputs": {"x": array}}) == []  # again
    assert failures(lambda x: model.run({"x": x}), {"x": array}) == []
    assert failures(lambda y: model.run({"x": array}, {"copy": y}), {"y": array}) == []
    bound = {**arrays, "states": None}
    assert set(bound) == set(inspect.signature(model.bind).parameters)
    assert failures(model.bind, bound) == []
    assert failures(lambda x: model.bind({"x": x}), {"x": array}) == []
    assert failures(lambda y: model.bind({"x": array}, {"copy": y}), {"y": array}) == []
    assert failures(lambda s: model.bind({"x": array}, states={"x": s}), {"s": "copy"}) == []
    for imports, memory in ((model.import_inputs, "inputs"), (model.import_outputs, "outputs")):
        assert failures(imports, {memory: arrays[memory], "source": "Malloc"}) == []
    submitted = {name: value for name, value in good.items() if name != "imported"}
    assert set(submitted) == set(inspect.signature(model.submit).parameters)
    assert failures(lambda **given: model.submit(**given).result(), submitted) == []
    assert failures(model.bind({"x": array}).submit, {"timeout": None}) == []
    assert failures(model.forget_imports, {"ids": ()}) == []
    assert failures(model.prepare, {"shapes": {"x": (1, 1)}}) == []
    assert failures(lambda x: model.prepare({"x": x}), {"x": (1, 1)}) == []
    assert failures(lambda dim: model.prepare({"x": (dim, 1)}), {"dim": 1}) == []
    kept = runtime.load_model(network, ["Fake"], quantize=quantize, states={"copy": "x"})
    kept.set_states({"x": array})
    stream = kept.stream()
    stream.set_states({"x": array})
    for each in (kept, stream):
        assert failures(each.run, {**submitted, "inputs": {}, "outputs": {}}) == []
        assert failures(each.set_states, {"states": {"x": array}}) == []
        assert failures(lambda x, each=each: each.set_states({"x": x}), {"x": array}) == []
        with pytest.raises(armnn.errors.InvalidArgumentError, match="cannot be rewound"):
            each.rewind(0)
    assert failures(stream.bind, {"inputs": {}, "outputs": {}}) == []
    layer = model.runtime.optimize(network, ["Fake"]).network.layers[-1]
    assert failures(layer.input, {"name": "input"}) == []
    assert failures(layer.constant, {"name": "input"}) == []
