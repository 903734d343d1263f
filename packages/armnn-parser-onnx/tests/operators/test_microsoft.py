# SPDX-License-Identifier: MIT
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from numpy.typing import NDArray
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

import armnn
from armnn.errors import ExecutionError, ParseError
from armnn_parser_onnx.parser import parse

Array = NDArray[Any]
Run = Callable[..., list[Array]]
Model = Callable[..., onnx.ModelProto]
DOMAIN = "com.microsoft"
RNG = np.random.default_rng(5)


def reals(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def weights_of_seven_bits(*shape: int) -> Array:
    """Return weights whose products with bytes no runtime saturates.

    onnxruntime adds two of them in 16 bits where the CPU has AVX2 alone.
    """
    return RNG.integers(-64, 64, shape).astype(np.int8)


def node(op_type: str, inputs: list[str], outputs: list[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, outputs, domain=DOMAIN, **attributes)


@pytest.fixture
def agree(run: Run, model: Model) -> Callable[..., None]:
    """Return a function that compares a node with onnxruntime.

    Inputs are named in their order.
    """

    def compare(
        op_type: str,
        operands: Mapping[str, Array | None],
        outputs: int = 1,
        *,
        atol: float = 1e-5,
        constants: bool | set[str] = False,
        threads: int = 0,
        **attributes: Any,
    ) -> None:
        names = [name if array is not None else "" for name, array in operands.items()]
        given = {name: array for name, array in operands.items() if array is not None}
        first = next(iter(given))
        if constants is True:
            constants = set(given) - {first}
        feeds = {name: array for name, array in given.items() if name not in (constants or ())}
        held = {name: array for name, array in given.items() if name not in feeds}
        made_names = [f"out{index}" for index in range(outputs)]
        made = model(
            node(op_type, names, made_names, **attributes), feeds, made_names, held, opset=17
        )
        made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = threads
        results = run(made, feeds)
        for value, result in zip(made.graph.output, results, strict=True):
            # onnxruntime does not accept an output of an unknown type.
            value.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(result.dtype)
        session = ort.InferenceSession(made.SerializeToString(), options)
        for result, expected in zip(results, session.run(None, feeds), strict=True):
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(
                result.astype(np.float64), expected.astype(np.float64), 1e-4, atol
            )

    return compare


@pytest.mark.parametrize(
    ("op_type", "bias", "attributes"),
    [
        ("Gelu", None, {}),
        ("BiasGelu", (4,), {}),
        ("FastGelu", None, {}),
        ("FastGelu", (4,), {}),
        ("QuickGelu", None, {}),
        ("QuickGelu", None, {"alpha": 0.5}),
    ],
)
def test_activations(
    agree: Callable[..., None], op_type: str, bias: tuple[int, ...] | None, attributes: Any
) -> None:
    operands = {"x": 3 * reals(2, 3, 4)} | ({"b": reals(*bias)} if bias else {})
    agree(op_type, operands, atol=5e-4, **attributes)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("wanted", [1, 4])
def test_normalization_of_sums(agree: Callable[..., None], bias: bool, wanted: int) -> None:
    operands = {"x": reals(2, 3, 8), "s": reals(2, 3, 8), "g": reals(8), "b": reals(8)}
    extra = reals(8) if bias else None
    if wanted == 1:
        agree("SkipLayerNormalization", {**operands, "e": extra}, epsilon=1e-5)
        del operands["b"]
        agree("SkipSimplifiedLayerNormalization", {**operands, "e": extra}, epsilon=1e-5)


def test_the_sum_itself_is_an_output(run: Run, model: Model) -> None:
    feeds = {"x": reals(2, 3, 8), "s": reals(2, 3, 8), "g": reals(8)}
    made = model(node("SkipLayerNormalization", [*feeds], ["y", "", "", "t"]), feeds, ["t"])
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    np.testing.assert_allclose(run(made, feeds)[0], feeds["x"] + feeds["s"], 1e-6)


@pytest.mark.parametrize("op_type", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_statistics_of_the_sum_are_outputs(run: Run, model: Model, op_type: str) -> None:
    # onnxruntime computes them in training only.
    feeds = {"x": reals(2, 3, 8), "s": reals(2, 3, 8), "g": reals(8)}
    asked = node(op_type, [*feeds], ["y", "m", "i"], epsilon=1e-3)
    made = model(asked, feeds, ["y", "m", "i"])
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    total = feeds["x"].astype(np.float64) + feeds["s"]
    mean = total.mean(-1, keepdims=True)
    centered = total - mean if op_type == "SkipLayerNormalization" else total
    inverse = 1 / np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-3)
    expected = (centered * inverse * feeds["g"], mean, inverse)
    for result, wanted in zip(run(made, feeds), expected, strict=True):
        np.testing.assert_allclose(result, wanted, 1e-5, 1e-6)


def test_simplified_layer_normalization_says_what_it_multiplies_by(run: Run, model: Model) -> None:
    feeds = {"x": reals(2, 3, 8), "g": reals(3, 8)}
    plain = helper.make_node(
        "SimplifiedLayerNormalization", ["x", "g"], ["y", "i"], epsilon=1e-3, axis=1
    )
    types = dict.fromkeys("yi", onnx.TensorProto.FLOAT)
    made = model(plain, feeds, ["y", "i"], opset=17, output_types=types)
    expected = ort.InferenceSession(made.SerializeToString()).run(None, feeds)
    for result, wanted in zip(run(made, feeds), expected, strict=True):
        assert result.shape == wanted.shape
        np.testing.assert_allclose(result, wanted, 1e-5, 1e-6)


def test_simplified_layer_normalization_has_no_domain(run: Run, model: Model) -> None:
    feeds = {"x": reals(2, 3, 8), "g": reals(8)}
    plain = helper.make_node("SimplifiedLayerNormalization", ["x", "g"], ["y"], epsilon=1e-5)
    made = model(plain, feeds, opset=17)
    x = feeds["x"].astype(np.float64)
    expected = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * feeds["g"]
    np.testing.assert_allclose(run(made, feeds)[0], expected, 1e-5, 1e-6)


@pytest.mark.parametrize("segments", [False, True])
def test_embeddings(agree: Callable[..., None], segments: bool) -> None:
    ids = RNG.integers(0, 10, (2, 5)).astype(np.int32)
    operands = {
        "ids": ids,
        "segments": (ids % 2) if segments else None,
        "words": reals(10, 8),
        "positions": reals(6, 8),
        "of_segments": reals(2, 8) if segments else None,
        "g": reals(8),
        "b": reals(8),
        "mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
    }
    agree("EmbedLayerNormalization", operands, 2, epsilon=1e-5)


MASKS = {
    "none": None,
    "counts": np.array([3, 5], np.int32),
    "each key": np.array([[1, 1, 0, 0, 1], [1, 1, 1, 1, 1]], np.int32),
    "each query": RNG.integers(0, 2, (2, 5, 5)).astype(np.int32) | np.eye(5, dtype=np.int32),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("unidirectional", [0, 1])
def test_attention(agree: Callable[..., None], mask: str, unidirectional: int) -> None:
    operands = {"x": reals(2, 5, 8), "w": reals(8, 24), "b": reals(24), "m": MASKS[mask]}
    agree("Attention", operands, num_heads=2, unidirectional=unidirectional)


def test_attention_with_values_of_another_size(agree: Callable[..., None]) -> None:
    operands = {"x": reals(2, 5, 8), "w": reals(8, 20), "b": reals(20)}
    agree("Attention", operands, num_heads=2, qkv_hidden_sizes=[8, 8, 4])


@pytest.mark.parametrize("bias", [False, True])
def test_attention_of_several_heads(agree: Callable[..., None], bias: bool) -> None:
    operands = {
        "q": reals(2, 3, 8),
        "k": reals(2, 5, 8),
        "v": reals(2, 5, 8),
        "b": reals(24) if bias else None,
        "mask": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
        "added": reals(2, 2, 3, 5),
    }
    agree("MultiHeadAttention", operands, num_heads=2, scale=0.3)


def test_attention_with_a_cache(agree: Callable[..., None]) -> None:
    operands = {"q": reals(2, 3, 8), "k": reals(2, 3, 8), "v": reals(2, 3, 8)}
    cache = {"b": None, "m": None, "a": None, "pk": reals(2, 2, 4, 4), "pv": reals(2, 2, 4, 4)}
    agree("MultiHeadAttention", {**operands, **cache}, 3, num_heads=2)


@pytest.mark.parametrize(
    "attributes", [{}, {"transA": 1}, {"transB": 1, "alpha": 0.5}, {"transA": 1, "transB": 1}]
)
def test_fused_products(agree: Callable[..., None], attributes: Any) -> None:
    a = reals(2, 4, 3) if attributes.get("transA") else reals(2, 3, 4)
    b = reals(5, 4) if attributes.get("transB") else reals(4, 5)
    agree("FusedMatMul", {"a": a, "b": np.broadcast_to(b, (2, *b.shape)).copy()}, **attributes)


@pytest.mark.parametrize(
    "attributes",
    [
        {"activation": "Relu"},
        {"activation": "LeakyRelu", "activation_params": [0.2]},
        {"activation": "Clip", "activation_params": [-0.5, 1.5]},
        {"activation": "HardSigmoid", "activation_params": [0.3, 0.4]},
        {"activation": "Tanh", "pads": [1, 1, 1, 1], "strides": [2, 1]},
    ],
)
@pytest.mark.parametrize("added", [False, True])
def test_fused_convolutions(agree: Callable[..., None], attributes: Any, added: bool) -> None:
    x, w, b = reals(1, 2, 5, 6), reals(3, 2, 3, 3), reals(3)
    shape = (1, 3, 3, 6) if "pads" in attributes else (1, 3, 3, 4)
    agree(
        "FusedConv", {"x": x, "w": w, "b": b, "z": reals(*shape) if added else None}, **attributes
    )


def test_fused_gemm(agree: Callable[..., None]) -> None:
    operands = {"a": reals(3, 4), "b": reals(5, 4), "c": reals(5)}
    attributes = {"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.3}
    agree("FusedGemm", operands, **attributes)


STEP = np.float32(0.05)
POINT = np.array(3, np.uint8)
BYTES = RNG.integers(0, 256, (1, 2, 6, 4)).astype(np.uint8)
OTHERS = RNG.integers(0, 256, (1, 2, 6, 4)).astype(np.uint8)


@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
def test_quantized_arithmetic(agree: Callable[..., None], op_type: str) -> None:
    operands = {
        "a": BYTES, "as": np.array(STEP), "az": POINT,
        "b": OTHERS, "bs": np.array(np.float32(0.03)), "bz": np.array(120, np.uint8),
        "cs": np.array(np.float32(0.21)), "cz": np.array(60, np.uint8),
    }  # fmt: skip
    agree(op_type, operands, constants=True, atol=1)


@pytest.mark.parametrize(
    ("op_type", "attributes"),
    [
        ("QLinearSigmoid", {}),
        ("QLinearLeakyRelu", {"alpha": 0.2}),
        ("QLinearGlobalAveragePool", {}),
        ("QLinearGlobalAveragePool", {"channels_last": 1}),
        ("QLinearAveragePool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}),
        ("QLinearSoftmax", {"opset": 13, "axis": 1}),
        ("QLinearSoftmax", {"opset": 12, "axis": 2}),
    ],
)
def test_quantized_functions(agree: Callable[..., None], op_type: str, attributes: Any) -> None:
    operands = {
        "x": BYTES, "xs": np.array(STEP), "xz": np.array(128, np.uint8),
        "ys": np.array(np.float32(1 / 256 if "S" in op_type[2:] else 0.06)),
        "yz": np.array(0, np.uint8),
    }  # fmt: skip
    agree(op_type, operands, constants=True, atol=1, **attributes)


def test_quantized_parts_are_joined(agree: Callable[..., None]) -> None:
    operands = {
        "ys": np.array(np.float32(0.07)), "yz": np.array(9, np.uint8),
        "a": BYTES, "as": np.array(STEP), "az": POINT,
        "b": OTHERS, "bs": np.array(np.float32(0.03)), "bz": np.array(120, np.uint8),
    }  # fmt: skip
    agree("QLinearConcat", operands, axis=1, atol=1)


def test_quantized_matrices(agree: Callable[..., None]) -> None:
    operands = {
        "a": BYTES.reshape(6, 8), "as": np.array(STEP), "az": POINT,
        "b": OTHERS[:, :, :, :2].reshape(3, 8), "bs": np.array(np.float32(0.02)),
        "bz": np.array(100, np.uint8), "c": np.array([100, -2000, 5], np.int32),
        "ys": np.array(np.float32(0.9)), "yz": np.array(90, np.uint8),
    }  # fmt: skip
    agree("QGemm", operands, constants=True, atol=1, transB=1)


def test_windows_of_images_with_channels_last(agree: Callable[..., None]) -> None:
    x = np.ascontiguousarray(BYTES.transpose(0, 2, 3, 1))
    agree("NhwcMaxPool", {"x": x}, kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])


@pytest.mark.parametrize("bias", [False, True])
def test_products_of_integers_as_real_numbers(agree: Callable[..., None], bias: bool) -> None:
    weights = weights_of_seven_bits(8, 3)
    scales, points = np.array([0.1, 0.02, 0.3], np.float32), np.array([3, 0, -7], np.int8)
    operands = {
        "a": BYTES.reshape(6, 8), "b": weights, "as": np.array(STEP), "bs": scales,
        "az": POINT, "bz": points, "bias": reals(3) if bias else None,
    }  # fmt: skip
    agree("MatMulIntegerToFloat", operands, atol=1e-3)
    x = reals(6, 8)
    agree(
        "DynamicQuantizeMatMul",
        {"a": x, "b": weights, "bs": scales, "bz": points, "bias": operands["bias"]},
        atol=1e-3,
    )


def test_operators_wait_for_a_shape_that_an_input_tells(run: Run, model: Model) -> None:
    """Their shapes are known in a run only.

    Until then the types of their outputs count.
    """
    tensor = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["r"]),
        node("FusedMatMul", ["r", "r"], ["product"], transB=1, alpha=0.25),
        helper.make_node("Reshape", ["ids", "shape"], ["words"]),
        node(
            "EmbedLayerNormalization",
            ["words", "", "table", "table", "", "gamma", "beta"],
            ["embedded", "counts"],
        ),
    ]
    made = model(
        nodes,
        {"shape": (onnx.TensorProto.INT64, [2]), "x": reals(6), "ids": np.arange(6, dtype="i4")},
        constants={"table": reals(8, 4), "gamma": reals(4), "beta": reals(4)},
        opset=17,
    )
    del made.graph.output[:]
    types = {"product": "FLOAT", "embedded": "FLOAT", "counts": "INT32"}
    made.graph.output.extend(
        tensor(name, onnx.TensorProto.DataType.Value(said), None) for name, said in types.items()
    )
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    session = ort.InferenceSession(made.SerializeToString())
    for shape in ((2, 3), (3, 2)):
        feeds = {"shape": np.array(shape), "x": reals(6), "ids": np.arange(6, dtype="i4")}
        for result, expected in zip(run(made, feeds), session.run(None, feeds), strict=True):
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, 1e-4, 1e-5)


def lstm_of_bytes(
    steps: int, items: int, directions: int = 1, *, per_column: bool = False, unsigned: bool = False
) -> dict[str, Array | None]:
    """Return operands of DynamicQuantizeLSTM with 3 inputs and 6 units."""
    kind = np.uint8 if unsigned else np.int8
    count = (directions, 24) if per_column else (directions,)

    def weights(rows: int) -> Array:
        return weights_of_seven_bits(directions, rows, 24).view(kind) ^ kind(0x80 * unsigned)

    points = np.full(count, 128, kind) if unsigned else np.zeros(count, kind)
    if unsigned and not per_column:
        points += np.arange(directions, dtype=kind)
    return {
        "x": reals(steps, items, 3), "w": weights(3), "r": weights(6), "b": reals(directions, 48),
        "l": None, "h": reals(directions, items, 6), "c": reals(directions, items, 6), "p": None,
        "ws": RNG.uniform(0.002, 0.01, count).astype("f4"), "wz": points,
        "rs": RNG.uniform(0.002, 0.01, count).astype("f4"), "rz": points,
    }  # fmt: skip


@pytest.mark.parametrize("per_column", [False, True])
@pytest.mark.parametrize("unsigned", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_an_lstm_with_weights_of_bytes(
    agree: Callable[..., None], direction: str, unsigned: bool, per_column: bool
) -> None:
    """The output of each step is rounded as in onnxruntime."""
    ways = 2 if direction == "bidirectional" else 1
    operands = lstm_of_bytes(5, 1, ways, per_column=per_column, unsigned=unsigned)
    agree("DynamicQuantizeLSTM", operands, 3, constants=True, direction=direction, hidden_size=6)


def test_an_lstm_of_bytes_with_all_inputs(agree: Callable[..., None]) -> None:
    """onnxruntime rounds items by themselves where each has a thread."""
    operands = lstm_of_bytes(5, 2, 2) | {"l": np.array([3, 5], np.int32), "p": reals(2, 18)}
    agree(
        "DynamicQuantizeLSTM", operands, 3, constants=True, direction="bidirectional",
        hidden_size=6, threads=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (node("Attention", ["x", "w", "b", "", "p"], ["y"], num_heads=2), "a cache of past keys"),
        (
            node("Attention", ["x", "w"], ["y"], num_heads=2, qkv_hidden_sizes=[8, 8]),
            r"the sizes of queries, keys and values are \[8, 8\]: expected three that make 24",
        ),
        (node("Attention", ["x", "w"], ["y"]), "the number of heads is 0: expected at least 1"),
        (node("MultiHeadAttention", ["x"], ["y"], num_heads=2), "are packed into one tensor"),
        (node("FusedMatMul", ["x", "w"], ["y"], transBatchA=1), "the axes of the batch"),
        (node("FusedMatMul", ["b", "w"], ["y"]), "it multiplies a vector"),
        (
            node("FusedGemm", ["w", "w"], ["y"], activation="Unheard"),
            "the activation 'Unheard' with 1 parameters is not supported: expected one of Relu",
        ),
        (node("QuickGelu", ["x"], ["y"], beta=1.0), "the operator has no attribute 'beta'"),
    ],
)
def test_what_cannot_be_converted_is_refused(
    model: Model, made: onnx.NodeProto, message: str
) -> None:
    feeds = {"x": reals(2, 5, 8), "w": reals(8, 24), "b": reals(24), "p": reals(2, 2, 2, 4, 4)}
    wrong = model(made, feeds, opset=17)
    wrong.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    with pytest.raises(ParseError, match=message):
        parse(wrong.SerializeToString())


def few_bits(rows: int, blocks: int, block_size: int, bits: int) -> Array:
    return RNG.integers(0, 256, (rows, blocks, block_size * bits // 8)).astype(np.uint8)


@pytest.mark.parametrize(
    ("bits", "block_size", "size", "points"),
    [
        (4, 16, 64, "none"),
        (4, 32, 80, "none"),
        (4, 16, 64, "packed"),
        (4, 32, 80, "packed"),
        (4, 32, 80, "real"),
        (4, 256, 300, "real"),
        (8, 64, 64, "none"),
        (8, 16, 40, "packed"),
        (2, 32, 64, "packed"),
    ],
)
def test_products_with_weights_of_few_bits(
    agree: Callable[..., None], bits: int, block_size: int, size: int, points: str
) -> None:
    columns, blocks = 6, -(-size // block_size)
    packed = RNG.integers(0, 256, (columns, -(-blocks * bits // 8))).astype(np.uint8)
    given = {"none": None, "packed": packed, "real": 7 + reals(columns, blocks)}[points]
    operands = {
        "a": reals(2, 3, size),
        "b": few_bits(columns, blocks, block_size, bits),
        "s": np.abs(reals(columns, blocks)) / 16,
        "z": given,
        "g": None,
        "bias": reals(columns) if points == "packed" else None,
    }
    agree(
        "MatMulNBits", operands, constants=True, K=size, N=columns, bits=bits, block_size=block_size
    )


@pytest.mark.parametrize("size", [40, 48])
def test_rows_of_weights_that_are_in_their_order(
    agree: Callable[..., None], model: Model, size: int
) -> None:
    """onnxruntime is right about g_idx for 4 bits without zero points only."""
    operands: dict[str, Array | None] = {
        "a": reals(2, 40),
        "b": few_bits(6, 3, 16, 4),
        "s": np.abs(reals(6, 3)) / 16,
        "z": None,
        "g": np.arange(size, dtype=np.int32) // 16,
    }
    attributes = {"K": 40, "N": 6, "bits": 4, "block_size": 16}
    agree("MatMulNBits", operands, constants=True, **attributes)
    operands["g"] = np.arange(size, dtype=np.int32)[::-1] // 16
    names = [name if array is not None else "" for name, array in operands.items()]
    given = {name: array for name, array in operands.items() if array is not None}
    for held in (given, {}):  # constant, or fed
        fed = {name: given[name] for name in given if name not in held or name == "a"}
        held = {name: held[name] for name in held if name != "a"}
        made = model(node("MatMulNBits", names, ["y"], **attributes), fed, ["y"], held, opset=17)
        made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
        with pytest.raises(ParseError, match=r"orders the rows of its weights \(g_idx\)"):
            parse(made.SerializeToString())


@pytest.mark.parametrize(("gathered", "blocked"), [(0, 2), (2, 0), (1, 1), (1, -1), (-1, 2)])
@pytest.mark.parametrize("kind", [onnx.TensorProto.UINT4, onnx.TensorProto.INT4])
def test_numbers_of_4_bits_along_any_axis(
    run: Run, model: Model, gathered: int, blocked: int, kind: int
) -> None:
    shape, blocks = [3, 5, 17], [3, 5, 17]
    blocks[blocked] = -(-shape[blocked] // 16)
    held = {}
    for name, dims in (("data", shape), ("points", blocks)):
        numbers = RNG.integers(0, 8, dims)
        held[name] = helper.make_tensor(name, kind, dims, numbers.reshape(-1))
    axes = {"gather_axis": gathered, "quantize_axis": blocked}
    nodes = node("GatherBlockQuantized", ["data", "ids", "scales", "points"], ["y"], **axes)
    nodes.attribute.append(helper.make_attribute("block_size", 16))
    feeds = {"ids": np.array([[2, 0], [1, 1]])}
    made = model(nodes, feeds, ["y"], {"scales": reals(*blocks)}, opset=21)
    made.graph.initializer.extend(held.values())
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    (expected,) = ort.InferenceSession(made.SerializeToString()).run(None, feeds)
    np.testing.assert_allclose(run(made, feeds)[0], expected, 1e-5, 1e-6)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("has_points", [False, True])
def test_rows_of_few_bits(agree: Callable[..., None], bits: int, has_points: bool) -> None:
    data = RNG.integers(0, 256, (9, 64 * bits // 8)).astype(np.uint8)
    points = RNG.integers(0, 256, (9, -(-4 * bits // 8))).astype(np.uint8)
    operands = {
        "data": data,
        "ids": np.array([[3, 0], [8, 3]]),
        "scales": reals(9, 4),
        "points": points if has_points else None,
    }
    agree("GatherBlockQuantized", operands, bits=bits, block_size=16)


@pytest.mark.parametrize("heads", [0, 2])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("positions", [[3], [[2, 0, 1], [5, 4, 7]]], ids=["offset", "each"])
def test_rotary_embeddings(
    agree: Callable[..., None], heads: int, interleaved: int, positions: Any
) -> None:
    angles = reals(8, 2 if heads else 4)
    operands = {"x": reals(2, 3, 16), "p": np.array(positions)}
    operands |= {"cos": np.cos(angles), "sin": np.sin(angles)}
    partial = {"num_heads": heads, "rotary_embedding_dim": 4} if heads else {}
    agree("RotaryEmbedding", operands, interleaved=interleaved, **partial)
    four = {**operands, "x": reals(2, 2, 3, 8)}
    agree("RotaryEmbedding", four, interleaved=interleaved, scale=0.5, **partial)


def grouped(
    new: int, past: int, lengths: list[int], total: int, *, packed: bool = False, **more: Any
) -> dict[str, Array | None]:
    """Return operands of 4 heads of queries and 2 of keys, of 16 numbers each.

    The rows of caches behind the past are zeros, as onnxruntime leaves them.
    """
    batch = len(lengths)
    caches = [reals(batch, 2, past, 16) for _ in range(2)]
    for n, length in enumerate(lengths):
        for cache in caches:
            cache[n, :, max(length - new, 0) :] = 0
    angles = reals(40, 8)
    operands: dict[str, Array | None] = {
        "q": reals(batch, new, 128 if packed else 64),
        "k": None if packed else reals(batch, new, 32),
        "v": None if packed else reals(batch, new, 32),
        "pk": caches[0],
        "pv": caches[1],
        "lengths": np.array(lengths, np.int32) - 1,
        "total": np.array(total, np.int32),
        "cos": np.cos(angles),
        "sin": np.sin(angles),
        "positions": None,
        "bias": None,
        "sink": None,
        "k_scale": None,
        "v_scale": None,
        "q_norm": None,
        "k_norm": None,
    }
    assert set(more) <= set(operands)
    return operands | more


GROUPS = {"num_heads": 4, "kv_num_heads": 2}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "attributes",
    [
        {"do_rotary": 1},
        {"do_rotary": 1, "rotary_interleaved": 1, "scale": 0.3},
        {"local_window_size": 3},
        {"softcap": 0.8, "smooth_softmax": 1},
    ],
    ids=["rotary", "interleaved", "window", "softcap and smooth"],
)
@pytest.mark.parametrize(
    ("new", "past", "lengths", "total"),
    [(1, 12, [6, 9], 9), (5, 12, [5, 5], 5), (4, 12, [9], 9)],
    ids=["step", "prompt", "chunk"],
)
def test_grouped_queries_in_a_shared_cache(
    agree: Callable[..., None],
    packed: bool,
    attributes: Any,
    new: int,
    past: int,
    lengths: list[int],
    total: int,
) -> None:
    operands = grouped(new, past, lengths, total, packed=packed)
    agree("GroupQueryAttention", operands, 3, **GROUPS, **attributes)


@pytest.mark.parametrize("held", [{"lengths", "total"}, set()], ids=["constants", "inputs"])
@pytest.mark.parametrize("past", [0, 6])
def test_a_cache_that_grows(agree: Callable[..., None], past: int, held: set[str]) -> None:
    new = 1 if past else 3
    operands = grouped(new, past, [past + new, past + new], past + new)
    assert held < set(operands)
    agree("GroupQueryAttention", operands, 3, constants=held, do_rotary=1, **GROUPS)


def test_bias_and_sinks_of_grouped_queries(agree: Callable[..., None]) -> None:
    operands = grouped(1, 12, [6, 9], 9, bias=reals(2, 4, 1, 9), sink=reals(4))
    agree("GroupQueryAttention", operands, 3, do_rotary=1, **GROUPS)
    agree("GroupQueryAttention", operands | {"bias": reals(1, 1, 1, 9)}, 3, causal=0, **GROUPS)


@pytest.mark.parametrize("kind", ["PER_TENSOR", "PER_CHANNEL"])
@pytest.mark.parametrize(("new", "lengths", "total"), [(1, [6, 9], 9), (4, [4, 4], 4)])
def test_caches_of_8_bits(
    agree: Callable[..., None], kind: str, new: int, lengths: list[int], total: int
) -> None:
    operands = grouped(new, 12, lengths, total)
    size = 1 if kind == "PER_TENSOR" else 32
    for name in "kv":
        operands[f"p{name}"] = np.rint(50 * operands[f"p{name}"]).clip(-128, 127).astype(np.int8)
        # Some numbers are beyond 127 steps.
        operands[f"{name}_scale"] = RNG.uniform(0.01, 0.03, size).astype(np.float32)
    types = {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": 8}
    agree("GroupQueryAttention", operands, 3, do_rotary=1, **GROUPS, **types)


def test_norms_of_grouped_queries(run: Run, model: Model) -> None:
    # onnxruntime has them on GPUs only: it gets what they make.
    operands = grouped(1, 12, [6, 9], 9, q_norm=reals(16), k_norm=reals(16))
    made = grouped_model(model, operands)
    results = run(made, {name: each for name, each in operands.items() if each is not None})
    for name, heads in (("q", 4), ("k", 2)):
        x = operands[name].reshape(2, 1, heads, 16).astype(np.float64)
        x *= operands[f"{name}_norm"] / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
        operands[name] = x.reshape(2, 1, -1).astype(np.float32)
        operands[f"{name}_norm"] = None
    session = ort.InferenceSession(grouped_model(model, operands).SerializeToString())
    expected = session.run(None, {n: each for n, each in operands.items() if each is not None})
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, 1e-4, 1e-5)


def grouped_model(
    model: Model, operands: Mapping[str, Array | None], outputs: int = 3, **attributes: Any
) -> onnx.ModelProto:
    names = [name if array is not None else "" for name, array in operands.items()]
    given = {name: array for name, array in operands.items() if array is not None}
    results = [f"out{index}" for index in range(outputs)]
    made = model(
        node("GroupQueryAttention", names, results, do_rotary=1, **GROUPS, **attributes),
        given,
        results,
        opset=17,
        output_types=dict.fromkeys(results, onnx.TensorProto.FLOAT),
    )
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    return made


@pytest.mark.parametrize("lengths", [[13, 9], [9, 2**31 - 1]])
def test_positions_outside_of_a_cache_are_an_error(
    run: Run, model: Model, lengths: list[int]
) -> None:
    operands = grouped(1, 12, [6, 9], 9)
    made = grouped_model(model, operands)
    operands["lengths"] = np.array(lengths, np.int32)
    with pytest.raises(ExecutionError, match=r"from position .* do not fit|outside of axis 0"):
        run(made, {name: each for name, each in operands.items() if each is not None})


@pytest.mark.parametrize(
    ("new", "past", "causal"), [(1, 12, 1), (1, 12, 0), (4, 12, 1), (1, 0, 1), (3, 0, 1), (3, 0, 0)]
)
@pytest.mark.parametrize("length", [-1, -2, -(2**31)])
def test_lengths_below_0_are_an_error(
    run: Run, model: Model, new: int, past: int, causal: int, length: int
) -> None:
    operands = grouped(new, 12, [new, new], new)
    if not past:
        operands |= {"pk": None, "pv": None}
    names = [name if array is not None else "" for name, array in operands.items()]
    feeds = {name: array for name, array in operands.items() if array is not None}
    results = ["y", "k_out", "v_out"]
    made = model(
        node("GroupQueryAttention", names, results, causal=causal, **GROUPS),
        feeds,
        results,
        opset=17,
        output_types=dict.fromkeys(results, onnx.TensorProto.FLOAT),
    )
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    run(made, feeds)
    feeds["lengths"] = np.array([new - 1, length], np.int32)
    session = ort.InferenceSession(made.SerializeToString())
    with pytest.raises(InvalidArgument, match=r"seqlens_k.* is out of range"):
        session.run(None, feeds)
    with pytest.raises(ExecutionError, match=r"from position -\d+ on do not fit|cannot have -\d+"):
        run(made, feeds)


@pytest.mark.parametrize("positions", [[[-1, 0, 1]], [[6, 7, 8]], [-1], [6]])
def test_positions_outside_of_a_table_are_an_error(run: Run, model: Model, positions: Any) -> None:
    feeds = {"x": reals(1, 3, 16), "p": np.array(positions)}
    feeds |= {"cos": reals(8, 4), "sin": reals(8, 4)}
    made = model(node("RotaryEmbedding", [*feeds], ["y"]), feeds, ["y"], opset=17)
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    with pytest.raises(ExecutionError, match="the index 8 is outside of axis 0"):
        run(made, feeds)


@pytest.mark.parametrize("position", [-1, 8])
def test_positions_outside_of_a_table_of_onnx_are_an_error(
    run: Run, model: Model, position: int
) -> None:
    feeds = {"x": reals(1, 1, 2, 8), "cos": reals(8, 4), "sin": reals(8, 4)}
    feeds["p"] = np.array([[7, position]])
    made = model(helper.make_node("RotaryEmbedding", [*feeds], ["y"]), feeds, ["y"], opset=23)
    with pytest.raises(ExecutionError, match="the index 8 is outside of axis 0"):
        run(made, feeds)


def test_a_cache_grows_by_its_new_rows_at_most(run: Run, model: Model) -> None:
    operands = grouped(1, 6, [7, 7], 2**31 - 1)
    feeds = {name: each for name, each in operands.items() if each is not None}
    with pytest.raises(ParseError, match="is 2147483647: expected at most 7, 1 rows behind"):
        run(grouped_model(model, operands), feeds)


@pytest.mark.parametrize("position", [-1, 40, 2**40])
def test_positions_of_grouped_queries_outside_of_a_table_are_an_error(
    run: Run, model: Model, position: int
) -> None:
    operands = grouped(1, 12, [6, 9], 9, positions=np.array([[5], [8]]))
    made = grouped_model(model, operands)
    feeds = {name: each for name, each in operands.items() if each is not None}
    run(made, feeds)
    feeds["positions"] = np.array([[5], [position]])
    with pytest.raises(ExecutionError, match=r"the index \d+ is outside of axis 0: .* to 39"):
        run(made, feeds)


@pytest.mark.parametrize(
    ("size", "window", "chunks", "batch"),
    [
        (6, 4, [1] * 14, 1),
        (4, 4, [2, 1, 1, 1, 1], 2),
        (6, 1, [3, 1, 1, 1, 1, 1, 1], 2),
        (8, 3, [11, 1, 6, 1, 1, 4], 1),
    ],
    ids=["steps", "as large as the window", "one row", "longer than the cache"],
)
@pytest.mark.parametrize("kind", ["NONE", "PER_TENSOR"])
def test_a_cache_that_moves_with_its_window(
    model: Model, size: int, window: int, chunks: list[int], batch: int, kind: str
) -> None:
    """What it holds and what is computed is onnxruntime's after each chunk of positions."""
    attributes = {"local_window_size": window, "sliding_window_cache": 1, "do_rotary": 1}
    stored, scales = np.float32, {}
    if kind != "NONE":
        attributes |= {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": 8}
        stored = np.int8
        scales = {f"{name}_scale": np.array([0.02], np.float32) for name in "kv"}
    caches = [np.zeros((batch, 2, size, 16), stored) for _ in range(2)]
    angles, networks = reals(40, 8), {}
    total = 0
    for new in chunks:
        total += new
        feeds = {
            "q": reals(batch, new, 64),
            "k": reals(batch, new, 32),
            "v": reals(batch, new, 32),
            "pk": caches[0],
            "pv": caches[1],
            "lengths": np.full(batch, total - 1, np.int32),
            "total": np.array(total, np.int32),
            "cos": np.cos(angles),
            "sin": np.sin(angles),
            **scales,
        }
        names = [*list(feeds)[:9], "", "", "", *scales]
        results = ["y", "k_out", "v_out"]
        if new not in networks:
            types = [1, *[onnx.helper.np_dtype_to_tensor_dtype(np.dtype(stored))] * 2]
            made = model(
                node("GroupQueryAttention", names, results, **GROUPS, **attributes),
                feeds,
                results,
                opset=17,
                output_types=dict(zip(results, types, strict=True)),
            )
            made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
            data = made.SerializeToString()
            networks[new] = armnn.load_model(parse(data), ["CpuRef"]), ort.InferenceSession(data)
        mine, theirs = networks[new]
        made, (y, *expected) = mine.run(feeds), theirs.run(None, feeds)
        step = size - window + 1
        held = total if total <= size else total - step * -(-(total - size) // step)
        np.testing.assert_allclose(made["y"], y, 1e-4, 1e-5)
        for name, wanted in zip(results[1:], expected, strict=True):
            assert made[name].shape == wanted.shape
            np.testing.assert_allclose(made[name][:, :, :held], wanted[:, :, :held], 1e-4, 1e-5)
        caches = [made[name] for name in results[1:]]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"sliding_window_cache": 1}, "'local_window_size' is -1: expected 1 to 12, the rows"),
        ({"sliding_window_cache": 1, "local_window_size": 13}, "is 13: expected 1 to 12"),
        ({"qk_output": 1}, "products of queries and keys are an output"),
        ({"k_quant_type": "PER_TENSOR", "kv_cache_bit_width": 4}, "is Float32 of 4 bits"),
        ({"num_heads": 3}, "3 heads of queries and 2 of keys"),
        ({"num_heads": 2**40, "smooth_softmax": 1}, "a multiple of these, at most 65536"),
    ],
)
def test_grouped_queries_of_other_kinds_are_refused(
    model: Model, attributes: dict[str, Any], message: str
) -> None:
    operands = grouped(1, 12, [6, 9], 9)
    names = [name if array is not None else "" for name, array in operands.items()]
    given = {name: array for name, array in operands.items() if array is not None}
    asked = GROUPS | attributes
    made = model(node("GroupQueryAttention", names, ["y"], **asked), given, ["y"], opset=17)
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    with pytest.raises(ParseError, match=message):
        parse(made.SerializeToString())


@pytest.mark.parametrize("what", ["no past_key", "attention_bias"])
def test_caches_that_move_are_refused_without_what_they_need(model: Model, what: str) -> None:
    operands = grouped(1, 12, [6, 9], 9, bias=reals(2, 4, 1, 9))
    if what == "no past_key":
        operands |= {"pk": None, "pv": None, "bias": None}
    attributes = {"sliding_window_cache": 1, "local_window_size": 4}
    with pytest.raises(ParseError, match=rf"moves with the window .*, and has {what}"):
        parse(grouped_model(model, operands, **attributes).SerializeToString())


def test_sequences_that_are_too_long_are_refused(model: Model) -> None:
    float32, shapes = onnx.TensorProto.FLOAT, {"x": (1, 2**40, 16), "c": (8, 4), "s": (8, 4)}
    inputs = {name: (float32, shape) for name, shape in shapes.items()}
    inputs["p"] = (onnx.TensorProto.INT64, (1,))
    made = model(node("RotaryEmbedding", ["x", "p", "c", "s"], ["y"]), inputs, ["y"], opset=17)
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    with pytest.raises(ParseError, match=f"its sequence has {2**40} positions"):
        parse(made.SerializeToString())


@pytest.mark.parametrize(
    ("op_type", "attributes", "message"),
    [
        ("MatMulNBits", {"bits": 3}, "its weights have 3 bits"),
        ("MatMulNBits", {"weight_prepacked": 1}, "packed for one processor"),
        ("MatMulNBits", {"block_size": 24}, "a power of two of 16 or more"),
        ("MatMulNBits", {"K": 48}, "its rows have 64 numbers: expected 48"),
        ("MatMulNBits", {"N": 5}, "expected 160 elements in 5 rows"),
        ("GatherBlockQuantized", {"gather_axis": 1}, "gathers bytes along another axis"),
        ("GatherBlockQuantized", {"bits": 5}, "its numbers have 5 bits"),
        ("GatherBlockQuantized", {"block_size": 20}, "a power of two of 16 or more"),
    ],
)
def test_few_bits_of_other_kinds_are_refused(
    model: Model, op_type: str, attributes: dict[str, Any], message: str
) -> None:
    weights = {"b": few_bits(4, 4, 16, 4), "s": reals(4, 4)}
    if op_type == "MatMulNBits":
        given = {"a": reals(2, 64)}
        names = ["a", "b", "s"]
        usual = {"K": 64, "N": 4, "block_size": 16, "bits": 4}
    else:
        given = {"i": np.array([1])}
        names = ["b", "i", "s"]
        usual = {"block_size": 16, "bits": 4}
    weights["b"] = weights["b"] if op_type == "MatMulNBits" else weights["b"].reshape(4, 32)
    made = model(
        node(op_type, names, ["y"], **(usual | attributes)), given, ["y"], weights, opset=17
    )
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    with pytest.raises(ParseError, match=message):
        parse(made.SerializeToString())
