# SPDX-License-Identifier: MIT
"""Options of the parser for decoders, beside ONNX's reference."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import armnn
from armnn.errors import ArmnnError

RNG = np.random.default_rng(0)
HELD = {
    "table": RNG.standard_normal((11, 4)).astype(np.float32),
    "weights": RNG.standard_normal((4, 6)).astype(np.float32),
    "bias": RNG.standard_normal(6).astype(np.float32),
    "scale": np.array(0.5, np.float32),
    "places": np.arange(4, dtype=np.float32)[:, None],
}
TOKENS = np.array([[3, 1, 10, 7], [0, 2, 2, 9]])


def decoder(*tail: tuple[str, ...], rows: str = "new", outputs: tuple[str, ...] = ()) -> bytes:
    """Return a table and a product of it, with nodes behind it; the last one makes logits."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["x"]),
        helper.make_node("MatMul", ["x", "weights"], ["product"]),
    ]
    for operator, *inputs, output in tail:
        more = {"to": TensorProto.FLOAT} if operator == "Cast" else {}
        nodes.append(helper.make_node(operator, inputs, [output], **more))
    float32 = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "decoder",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "new"])],
        [
            helper.make_tensor_value_info("logits", float32, ["batch", rows, 6]),
            *(helper.make_tensor_value_info(name, float32, None) for name in outputs),
        ],
        [numpy_helper.from_array(data, name) for name, data in HELD.items()],
        value_info=[helper.make_tensor_value_info("x", float32, ["batch", "new", 4])],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    content: bytes = made.SerializeToString()
    return content


def captured() -> bytes:
    """Return a decoder of which a branch reads the product."""
    model = onnx.load_from_string(decoder(("Identity", "product", "logits"), outputs=("y",)))
    inner = [helper.make_tensor_value_info("z", TensorProto.FLOAT, None)]
    branch = helper.make_graph([helper.make_node("Neg", ["product"], ["z"])], "branch", [], inner)
    model.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    node = helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch)
    model.graph.node.append(node)
    content: bytes = model.SerializeToString()
    return content


SCALED = ("Add", "product", "bias", "biased"), ("Mul", "scale", "biased", "scaled")


@pytest.mark.parametrize(
    "tail",
    [
        [("Identity", "product", "logits")],
        [*SCALED, ("Cast", "scaled", "cast"), ("Tanh", "cast", "logits")],
    ],
    ids=["product", "elements"],
)
@pytest.mark.parametrize("row", [0, 2, 3])
def test_logits_of_one_token(tail: list[tuple[str, ...]], row: int) -> None:
    content = decoder(*tail)
    (expected,) = ReferenceEvaluator(onnx.load_from_string(content)).run(None, {"ids": TOKENS})
    network = armnn.parse(content, parser_options={"row_of": "logits"})
    with armnn.load_model(network, ["CpuRef"]) as model:
        made = model.run({"ids": TOKENS, "logits.row": np.array([row])})["logits"]
        with pytest.raises(armnn.ArmnnError, match="index 4 is outside"):
            model.run({"ids": TOKENS, "logits.row": np.array([4])})
    assert made.shape == (2, 1, 6)
    np.testing.assert_allclose(made, expected[:, row : row + 1], 1e-5, 1e-6)


@pytest.mark.parametrize(
    "content",
    [
        decoder(("Softmax", "product", "logits")),
        decoder(("Add", "product", "places", "logits")),
        captured(),
        decoder(("Mul", "product", "product", "logits")),
        decoder(("Identity", "product", "logits"), outputs=("product",)),
        decoder(("Identity", "product", "logits"), rows="others"),
        decoder(("Transpose", "product", "turned"), ("Transpose", "turned", "logits")),
    ],
    ids=[
        "no elements",
        "numbers of places",
        "read in a branch",
        "two operands",
        "read elsewhere",
        "other rows",
        "moved",
    ],
)
def test_other_logits_stay_as_they_are(content: bytes) -> None:
    network = armnn.parse(content, parser_options={"row_of": "logits"})
    assert [layer.name for layer in network.inputs] == ["ids"]


def attention(behind: onnx.NodeProto) -> bytes:
    """Return attention of 4 heads on caches of 2, whose size the file leaves open."""
    float32, names = TensorProto.FLOAT, ("past_key", "past_value")
    caches = [
        helper.make_tensor_value_info(name, float32, ["batch", 2, "past", "kv_cache_dim"])
        for name in names
    ]
    held = {"weights": np.zeros((32, 5), np.float32), "bytes": np.zeros((5, 1, 16), np.uint8)}
    held |= {"scales": np.ones((5, 1), np.float32), "stored": np.zeros((32, 5), np.int8)}
    held["step"] = np.array(1, np.float32)
    node = helper.make_node(
        "GroupQueryAttention",
        ["packed", "", "", *names, "seqlens", "total"],
        ["heads", "key", "value"],
        domain="com.microsoft",
        num_heads=4,
        kv_num_heads=2,
    )
    graph = helper.make_graph(
        [node, helper.make_node("DequantizeLinear", ["stored", "step"], ["read"]), behind],
        "attention",
        [
            helper.make_tensor_value_info("packed", float32, ["batch", "new", 64]),
            *caches,
            helper.make_tensor_value_info("seqlens", TensorProto.INT32, ["batch"]),
            helper.make_tensor_value_info("total", TensorProto.INT32, []),
        ],
        [helper.make_tensor_value_info(name, float32, None) for name in ("y", "key", "value")],
        [numpy_helper.from_array(data, name) for name, data in held.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    content: bytes = made.SerializeToString()
    return content


PRODUCT = helper.make_node("MatMul", ["heads", "weights"], ["y"])
STORED = helper.make_node("MatMul", ["heads", "read"], ["y"])
FORM = {"K": 32, "N": 5, "bits": 4, "block_size": 32}
FEW_BITS = helper.make_node(
    "MatMulNBits", ["heads", "bytes", "scales"], ["y"], domain="com.microsoft", **FORM
)


def sizes_of_caches(content: bytes) -> dict[str, object]:
    """Return the last dimension of each cache."""
    shapes = {layer.name: layer.output.info.shape for layer in armnn.parse(content).inputs}
    return {name: shape[3] for name, shape in shapes.items() if shape and len(shape) == 4}


@pytest.mark.parametrize(
    "behind", [PRODUCT, STORED, FEW_BITS], ids=["MatMul", "DequantizeLinear", "MatMulNBits"]
)
def test_the_size_of_caches_follows_from_the_product_behind(behind: onnx.NodeProto) -> None:
    assert sizes_of_caches(attention(behind)) == {"past_key": 8, "past_value": 8}


def test_a_size_that_nothing_tells_stays_open() -> None:
    found = sizes_of_caches(attention(helper.make_node("Relu", ["heads"], ["y"])))
    assert found == {"past_key": "kv_cache_dim", "past_value": "kv_cache_dim"}


@pytest.mark.parametrize("operator", ["MatMul", "GroupQueryAttention"])
@pytest.mark.parametrize("holder", ["input", "output"])
def test_nodes_without_inputs_or_outputs_tell_nothing(operator: str, holder: str) -> None:
    model = onnx.load_from_string(attention(PRODUCT))
    (node,) = (each for each in model.graph.node if each.op_type == operator)
    del getattr(node, holder)[:]
    with pytest.raises(ArmnnError):
        armnn.parse(model.SerializeToString())
