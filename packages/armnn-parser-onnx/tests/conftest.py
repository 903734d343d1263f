# SPDX-License-Identifier: MIT
"""Models of a few nodes, and ONNX's reference results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_standard import load_cases

import armnn
from armnn_parser_onnx.parser import parse

Array = NDArray[Any]
Model = Callable[..., onnx.ModelProto]


@pytest.fixture
def model() -> Model:
    """Return what makes a model; see :func:`_model`."""
    return _model


def _model(
    nodes: Sequence[onnx.NodeProto] | onnx.NodeProto,
    inputs: Mapping[str, Array | tuple[int, Sequence[Any]]] | None = None,
    outputs: Sequence[str] = ("y",),
    constants: Mapping[str, Array] | None = None,
    *,
    opset: int = 21,
    ir_version: int = 8,
    output_types: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """Make a model.

    Args:
        nodes: In topological order.
        inputs: By name: an array of the type and shape, or (element type, dimensions).
        outputs: The names of the outputs; their types are left open if ``output_types`` says none.
        constants: Initializers.
        opset: The version of ONNX's operators.
        ir_version: The version of the file format.
        output_types: The element types of outputs.
    """
    given = []
    for name, what in (inputs or {}).items():
        if isinstance(what, tuple):
            given.append(helper.make_tensor_value_info(name, what[0], what[1]))
        else:
            element = helper.np_dtype_to_tensor_dtype(what.dtype)
            given.append(helper.make_tensor_value_info(name, element, what.shape))
    graph = helper.make_graph(
        [nodes] if isinstance(nodes, onnx.NodeProto) else list(nodes),
        "graph",
        given,
        [
            helper.make_tensor_value_info(name, (output_types or {}).get(name, 0), None)
            for name in outputs
        ],
        [numpy_helper.from_array(data, name) for name, data in (constants or {}).items()],
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version
    )


@pytest.fixture
def run() -> Callable[[onnx.ModelProto, Mapping[str, Array]], list[Array]]:
    """Return what parses a model and runs it on CpuRef."""
    return _run


def _run(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    network = parse(model.SerializeToString())
    with armnn.Runtime() as runtime:
        loaded = runtime.load_network(runtime.optimize(network, backends=["CpuRef"]))
        return list(loaded.run(feeds).values())


@pytest.fixture
def check(model: Model) -> Callable[..., list[Array]]:
    """Return what compares a model on CpuRef with onnx.reference.

    It takes the arguments of ``model``, whose inputs must be arrays; with ``dynamic=True`` the
    network does not know their dimensions.
    """

    def compare(
        nodes: Sequence[onnx.NodeProto] | onnx.NodeProto,
        inputs: Mapping[str, Array],
        outputs: Sequence[str] = ("y",),
        constants: Mapping[str, Array] | None = None,
        *,
        opset: int = 21,
        dynamic: bool = False,
        rtol: float = 1e-5,
        atol: float = 1e-6,
    ) -> list[Array]:
        made = model(nodes, inputs, outputs, constants, opset=opset)
        with np.errstate(all="ignore"):  # the reference warns about infinities
            expected = ReferenceEvaluator(made).run(None, dict(inputs))
        if dynamic:
            for value in made.graph.input:
                for dim in value.type.tensor_type.shape.dim:
                    dim.ClearField("value")
        results = _run(made, inputs)
        for result, wanted in zip(results, expected, strict=True):
            assert result.dtype == wanted.dtype
            assert result.shape == wanted.shape
            np.testing.assert_allclose(
                result.astype(np.float64), wanted.astype(np.float64), rtol, atol
            )
        return results

    return compare


@pytest.fixture
def rng() -> np.random.Generator:
    """Return a seeded source of numbers."""
    return np.random.default_rng(7)


@pytest.fixture(scope="session")
def node_tests() -> list[Any]:
    """Return ONNX's node tests; onnx takes seconds to compute them."""
    state = np.random.get_state()
    cases = load_cases()
    np.random.set_state(state)
    return cases
