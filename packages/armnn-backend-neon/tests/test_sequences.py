# SPDX-License-Identifier: MIT
"""Recurrent layers of odd sizes, on every level, against onnxruntime."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import armnn
from armnn import DataType, Network, TensorInfo
from armnn.errors import ExecutionError
from armnn.layers.sequence import GruDescriptor, RnnDescriptor, SequenceLstmDescriptor
from armnn.types import SequenceDirection

Array = NDArray[Any]

Sizes: TypeAlias = tuple[int, int, int, int]

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OUTPUTS = {"RNN": ["all", "last"], "GRU": ["all", "last"], "LSTM": ["all", "last", "cell"]}
LAYERS = {"RNN": "Rnn", "GRU": "Gru", "LSTM": "SequenceLstm"}
DESCRIPTORS: dict[str, Any] = {
    "RNN": RnnDescriptor,
    "GRU": GruDescriptor,
    "LSTM": SequenceLstmDescriptor,
}

SIZES = [
    # steps, batch, inputs, units
    (1, 1, 1, 1),
    (5, 3, 2, 7),
    (4, 1, 40, 17),
    (3, 2, 5, 130),
    (9, 1, 3, 64),
    (4, 35, 3, 21),  # more items than take their steps together
]


def weights(operator: str, sizes: Sizes, ways: int) -> dict[str, Array]:
    """Return weights, recurrent weights and biases in ONNX's layout."""
    _, _, width, units = sizes
    rows = GATES[operator] * units
    shapes = {"w": (ways, rows, width), "r": (ways, rows, units), "b": (ways, 2 * rows)}
    rng = np.random.default_rng(3)
    return {name: rng.uniform(-0.5, 0.5, shape).astype("f4") for name, shape in shapes.items()}


def expected(operator: str, sizes: Sizes, given: dict[str, Array], **options: Any) -> list[Array]:
    """Return what onnxruntime computes."""
    ways = 2 if options.get("direction") == "bidirectional" else 1
    constants = weights(operator, sizes, ways)
    names = OUTPUTS[operator]
    node = helper.make_node(
        operator, ["x", *constants, "lengths"], names, hidden_size=sizes[3], **options
    )
    kinds = {"x": TensorProto.FLOAT, "lengths": TensorProto.INT32}
    graph = helper.make_graph(
        [node],
        "recurrent",
        [helper.make_tensor_value_info(k, kinds[k], v.shape) for k, v in given.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    results: list[Array] = session.run(None, given)
    return results


def network(operator: str, sizes: Sizes, direction: SequenceDirection, **options: Any) -> Network:
    """Return a recurrent layer with constant weights."""
    steps, batch, width, _ = sizes
    ways = 2 if direction is SequenceDirection.BIDIRECTIONAL else 1
    result = Network(operator)
    x = result.add_input("x", TensorInfo((steps, batch, width), DataType.FLOAT32))
    lengths = result.add_input("lengths", TensorInfo((batch,), DataType.SIGNED32))
    constants = [result.add_constant(each) for each in weights(operator, sizes, ways).values()]
    descriptor = DESCRIPTORS[operator](direction=direction, time_major=True, **options)
    layer = result.add(LAYERS[operator], [x, *constants, lengths], descriptor)
    for name, value in zip(OUTPUTS[operator], layer.outputs, strict=True):
        result.add_output(name, value)
    return result


def feeds(sizes: Sizes) -> dict[str, Array]:
    steps, batch, width, _ = sizes
    x = np.random.default_rng(4).standard_normal((steps, batch, width), np.float32)
    return {"x": x, "lengths": np.arange(batch, dtype=np.int32) % steps + 1}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("direction", SequenceDirection)
@pytest.mark.parametrize("operator", GATES)
def test_sequences_agree_with_onnxruntime(
    operator: str,
    direction: SequenceDirection,
    threads: int,
    level: str,
) -> None:
    for sizes in SIZES:
        given = feeds(sizes)
        references = expected(operator, sizes, given, direction=direction.arm_name.lower())
        with armnn.Runtime() as runtime:
            options = {"CpuAcc": {"NumberOfThreads": threads}}
            loaded = runtime.load_model(
                network(operator, sizes, direction), backends=["CpuAcc"], backend_options=options
            )
            for _ in range(2):  # a run leaves nothing behind that the next one reads
                actual = loaded.run(given)
        for array, reference in zip(actual.values(), references, strict=True):
            np.testing.assert_allclose(array, reference, rtol=1e-5, atol=2e-6, err_msg=str(sizes))


@pytest.mark.parametrize("operator", GATES)
def test_items_have_the_same_bits_however_threads_share_them(operator: str, level: str) -> None:
    sizes = (6, 11, 5, 75)
    results = []
    for threads in (1, 2, 3, 16):  # blocks of 11, 6, 4 and 1
        with armnn.Runtime() as runtime:
            loaded = runtime.load_model(
                network(operator, sizes, SequenceDirection.FORWARD),
                backends=["CpuAcc"],
                backend_options={"CpuAcc": {"NumberOfThreads": threads}},
            )
            results.append(loaded.run(feeds(sizes)))
    for other in results[1:]:
        for name, array in results[0].items():
            np.testing.assert_array_equal(other[name], array)


@pytest.mark.parametrize("reset", [False, True])
def test_the_reset_of_a_gru_comes_before_or_behind_the_product(reset: bool) -> None:
    sizes = (6, 2, 5, 33)
    reference, _ = expected("GRU", sizes, feeds(sizes), linear_before_reset=int(reset))
    made = network("GRU", sizes, SequenceDirection.FORWARD, linear_before_reset=reset)
    actual = armnn.load_model(made, backends=["CpuAcc"]).run(feeds(sizes))
    np.testing.assert_allclose(actual["all"], reference, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("length", [-1, 5])
def test_a_length_that_is_none_of_an_item_is_an_error(length: int) -> None:
    sizes = (4, 1, 2, 3)
    given = feeds(sizes) | {"lengths": np.array([length], np.int32)}
    loaded = armnn.load_model(
        network("LSTM", sizes, SequenceDirection.FORWARD), backends=["CpuAcc"]
    )
    with pytest.raises(ExecutionError, match=f"the sequence length {length} is not that of an"):
        loaded.run(given)
