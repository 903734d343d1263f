# SPDX-License-Identifier: MIT
"""Fixtures of the stand-ins: a process with backends and parser."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from armnn.backends import ModelContext, OptionValue
from armnn.errors import InvalidArgumentError
from armnn.runtime import default_runtime
from armnn_compat import onnxruntime as ort
from fakes.misbehaving import SmallBackend
from fakes.plugins import Plugin, backend_plugin, installed

PARSER = """\
import onnx
from armnn.errors import ParseError, UnsupportedOperatorError
from armnn.graph import Network
from armnn.tensor import TensorInfo

def parse(source):
    model = onnx.load_from_string(source) if isinstance(source, bytes) else onnx.load(source)
    (node,) = model.graph.node
    if node.op_type != "Add":
        raise UnsupportedOperatorError(f"no layer computes {node.op_type}")
    if not model.graph.output:
        raise ParseError("there is no output")
    network = Network(model.graph.name)
    values = {
        given.name: network.add_input(given.name, TensorInfo((None, 2)))
        for given in model.graph.input
        if given.name in ("x", "y")
    }
    network.add_output("z", network.add_addition(values["x"], values["y"]))
    return network
"""


Seen = dict[str, dict[str, OptionValue]]


@pytest.fixture
def install_stand_ins(tmp_path: Path) -> Iterator[Callable[[Plugin], Seen]]:
    """Install a parser and the backends First and Second.

    One of the two takes threads. The result of the installer gives the options that a backend was
    given, by its id.
    """
    with ExitStack() as stack:

        def install(parser: Plugin) -> Seen:
            seen: Seen = {}

            def context_with_threads(_self: Any, options: dict[str, OptionValue]) -> ModelContext:
                unknown = [name for name in options if name != "NumberOfThreads"]
                if unknown:
                    raise InvalidArgumentError(f"backend 'First' has no option {unknown}")
                seen["First"] = dict(options)
                return ModelContext(options)

            taking = {"create_model_context": context_with_threads, "score": lambda _: 5}
            kinds: list[Any] = [
                type("First", (SmallBackend,), {"id": "First", **taking}),
                type("Second", (SmallBackend,), {"id": "Second"}),
            ]
            module = ModuleType("armnn_test_compat_kinds")
            vars(module).update({kind.id: kind for kind in kinds})
            plugins = [
                backend_plugin(
                    kind.id,
                    distribution=f"armnn-backend-{kind.id}",
                    source=f"from {module.__name__} import {kind.id} as backend\n",
                )
                for kind in kinds
            ]
            monkeypatch = stack.enter_context(pytest.MonkeyPatch.context())
            monkeypatch.setitem(sys.modules, module.__name__, module)
            stack.enter_context(installed(tmp_path / "plugins", *plugins, parser, alone=True))
            default_runtime().close()
            stack.callback(lambda: default_runtime().close())
            return seen

        yield install


@pytest.fixture
def onnx_parser() -> Plugin:
    """Return a parser of ONNX files that hold one Add."""
    entry = {"armnn.parsers": {"onnx": "armnn_parser_fake:parse"}}
    return Plugin("armnn-parser-fake", "1", (), entry, {"armnn_parser_fake": PARSER})


@pytest.fixture
def options_seen(install_stand_ins: Callable[[Plugin], Seen], onnx_parser: Plugin) -> Seen:
    """Return the backends' options in a process with ONNX parser."""
    return install_stand_ins(onnx_parser)


@pytest.fixture
def session(options_seen: Seen) -> ort.InferenceSession:
    """Return a session of the model adding ``x`` and ``y``."""
    return ort.InferenceSession(_sum_model())


@pytest.fixture
def sum_model() -> Callable[..., bytes]:
    """Return what makes the model that adds ``x`` and ``y``."""
    return _sum_model


def _tensor(name: str, shape: list[int | str | None] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _sum_model(operator: str = "Add", outputs: list[onnx.ValueInfoProto] | None = None) -> bytes:
    """Return ``z = x + y`` with all kinds of metadata.

    An initializer is an input, too.
    """
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "y"], ["z"])],
        "sum",
        [_tensor("x", ["rows", 2]), _tensor("y", [None, 2]), _tensor("unused", [1])],
        [_tensor("z")] if outputs is None else outputs,
        [helper.make_tensor("unused", TensorProto.FLOAT, [1], [5])],
        doc_string="adds",
    )
    model = helper.make_model(
        graph,
        producer_name="here",
        model_version=3,
        domain="org.example",
        doc_string="a sum",
        opset_imports=[helper.make_opsetid("", 17)],
    )
    helper.set_model_props(model, {"labels": "a\nb", "producer_name": "custom"})
    return model.SerializeToString()
