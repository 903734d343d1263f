# SPDX-License-Identifier: MIT
"""Recurrent layers of odd sizes, on every level, against onnxruntime."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
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


def have_equal_bits(
    operator: str, sizes: Sizes, way: SequenceDirection, threads: list[int]
) -> None:
    results = []
    for count in threads:
        with armnn.Runtime() as runtime:
            loaded = runtime.load_model(
                network(operator, sizes, way),
                backends=["CpuAcc"],
                backend_options={"CpuAcc": {"NumberOfThreads": count}},
            )
            results.append(loaded.run(feeds(sizes)))
    for other in results[1:]:
        for name, array in results[0].items():
            np.testing.assert_array_equal(other[name], array)


@pytest.mark.parametrize("operator", GATES)
def test_items_have_the_same_bits_however_threads_share_them(operator: str, level: str) -> None:
    """Blocks of 11, 6, 4 and 1."""
    have_equal_bits(operator, (6, 11, 5, 75), SequenceDirection.FORWARD, [1, 2, 3, 16])


@pytest.mark.parametrize("operator", GATES)
@pytest.mark.parametrize("batch", [1, 3])
def test_directions_have_the_same_bits_with_threads_of_their_own_or_shared_steps(
    operator: str, batch: int, level: str
) -> None:
    """Two threads take one each, sixteen share the steps."""
    have_equal_bits(operator, (4, batch, 5, 200), SequenceDirection.BIDIRECTIONAL, [1, 2, 16])


def in_steps(
    operator: str, sizes: Sizes, *, quantum: int = 1, bits: int = 8, per_row: bool = False
) -> dict[str, Array]:
    """Return weights whose recurrent part is whole steps."""
    made = weights(operator, sizes, 1)
    generator = np.random.default_rng(11)
    shape = made["r"].shape
    most = 2 ** (bits - 1) // quantum - 1
    steps = quantum * generator.integers(-most, most + 1, shape)
    scale = generator.uniform(0.001, 0.004, (*shape[:2], 1) if per_row else (1, 1, 1))
    return made | {"r": steps.astype("f4") * scale.astype("f4")}


def kept_bytes(
    operator: str, sizes: Sizes, own: dict[str, Array], **options: Any
) -> tuple[Array, int]:
    """Return a layer's result and its bytes of weights."""
    net = Network(operator)
    given = {"x": feeds(sizes)["x"]}
    x = net.add_input("x", TensorInfo(given["x"].shape))
    constants = [net.add_constant(each) for each in own.values()]
    layer = net.add(LAYERS[operator], [x, *constants], DESCRIPTORS[operator](time_major=True))
    net.add_output("y", layer.outputs[0])
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(
            net, backends=["CpuAcc"], backend_options={"CpuAcc": options} if options else None
        )
        made = loaded.run(given)["y"]
        (part,) = loaded.report.compiled_parts
    return made, part.footprint.weight_bytes


@pytest.mark.parametrize("operator", GATES)
@pytest.mark.parametrize("per_row", [False, True])
def test_recurrent_weights_that_were_quantized_are_kept_in_bytes(
    operator: str, per_row: bool, level: str
) -> None:
    sizes = (5, 4, 3, 67)
    own = in_steps(operator, sizes, quantum=3 if per_row else 1, per_row=per_row)
    made, size = kept_bytes(operator, sizes, own)
    # One weight that is no whole step: all are floats.
    other = {name: array.copy() for name, array in own.items()}
    other["r"][0, 40, 7] = np.nextafter(other["r"][0, 40, 7], np.float32(1))
    floats, float_size = kept_bytes(operator, sizes, other)
    np.testing.assert_allclose(made, floats, rtol=1e-5, atol=2e-6)
    saved = 3 * own["r"].size
    assert 0.8 * saved < float_size - size < 1.2 * saved


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("operator", GATES)
def test_fast_math_rounds_recurrent_weights_that_no_near_cache_has(
    operator: str, threads: int, level: str
) -> None:
    """Sums stay in float32: rounded weights give the same bits."""
    sizes = (5, 4, 3, 131)
    own = weights(operator, sizes, 1)
    own["w"], own["b"] = np.zeros_like(own["w"]), own["b"] / 8
    exact, size = kept_bytes(operator, sizes, own, NumberOfThreads=threads)
    fast = {"FastMathEnabled": True, "NumberOfThreads": threads}
    made, small = kept_bytes(operator, sizes, own, **fast)
    if size - small < own["r"].size:  # a level that multiplies no bfloat16
        np.testing.assert_array_equal(made, exact)
        assert small == size
        return
    before = own | {"r": own["r"].astype(ml_dtypes.bfloat16).astype(np.float32)}
    np.testing.assert_array_equal(made, kept_bytes(operator, sizes, before, **fast)[0])
    assert 0 < np.abs(made - exact).max() < 0.02
    assert small < 0.6 * size


def test_few_recurrent_weights_are_not_rounded(level: str) -> None:
    sizes = (3, 1, 2, 16)
    own = weights("LSTM", sizes, 1)
    own["w"] = np.zeros_like(own["w"])
    made, exact = (
        kept_bytes("LSTM", sizes, own, FastMathEnabled=fast)[0] for fast in (True, False)
    )
    np.testing.assert_array_equal(made, exact)


@pytest.mark.parametrize("bits", [9, 16])
def test_steps_that_exceed_a_byte_stay_floats(bits: int) -> None:
    sizes = (3, 1, 2, 64)
    (_, wide), (_, narrow) = (
        kept_bytes("GRU", sizes, in_steps("GRU", sizes, bits=count)) for count in (bits, 8)
    )
    assert wide > 2 * narrow


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_no_numbers_stay_floats(value: float) -> None:
    sizes = (3, 1, 2, 16)
    own = in_steps("RNN", sizes)
    own["r"][0, 3, 5] = value
    made, _ = kept_bytes("RNN", sizes, own)
    assert np.isnan(made[2]).any() or np.abs(made[1, 0, 3]) == 1.0


def test_a_matrix_of_zeros_is_whole_steps() -> None:
    sizes = (2, 1, 2, 33)
    own = in_steps("RNN", sizes)
    own["r"][:] = 0.0
    made, _ = kept_bytes("RNN", sizes, own)
    x = feeds(sizes)["x"]
    bias = own["b"][0, :33] + own["b"][0, 33:]
    np.testing.assert_allclose(made[:, 0, 0], np.tanh(x[:, 0] @ own["w"][0].T + bias), rtol=1e-5)


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
