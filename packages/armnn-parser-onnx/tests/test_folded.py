# SPDX-License-Identifier: MIT
"""Quantized operators as layers on stored values, beside their definitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper

import armnn
from armnn.backends import ModelContext, Support
from armnn_backend_ref.backend import RefBackend
from armnn_parser_onnx.parser import parse

if TYPE_CHECKING:
    from armnn.graph import Layer

Array = NDArray[Any]

RNG = np.random.default_rng(20261127)
IMAGE = RNG.normal(size=(1, 4, 6, 5)).astype(np.float32)
BYTES = RNG.integers(0, 256, (3, 4, 3, 3)).astype(np.uint8)
OWN: dict[str, Array] = {
    "xs": np.array(0.03, np.float32), "xz": np.array(120, np.uint8),
    "w": BYTES, "ws": np.array(0.01, np.float32), "wz": np.array(118, np.uint8),
    "ys": np.array(0.2, np.float32), "yz": np.array(101, np.uint8),
    "b": np.array([7, -300, 20000], np.int32),
    "k": np.array([5, 250, 3], np.uint8).reshape(3, 1, 1), "ks": np.array(0.5, np.float32),
    "kz": np.array(9, np.uint8), "zs": np.array(0.4, np.float32), "zz": np.array(80, np.uint8),
}  # fmt: skip
PER_AXIS: dict[str, Array] = {
    "w": BYTES.view(np.int8), "ws": np.array([0.01, 0.02, 0.005], np.float32),
    "wz": np.zeros(3, np.int8),
}  # fmt: skip
DEPTHWISE: dict[str, Array] = {
    "w": BYTES.reshape(4, 1, 3, 9)[:, :, :, :3],
    "b": np.array([1, 2, 3, 4], np.int32),
}


def quantized(
    changes: dict[str, Array] | None = None,
    shape: tuple[int | str, ...] = IMAGE.shape,
    domain: str = "com.microsoft",
    **attributes: Any,
) -> onnx.ModelProto:
    """Return a convolution with a product and a sum."""
    constants = OWN | (changes or {})
    outputs = constants["w"].shape[0]
    constants["k"] = np.resize(constants["k"], (outputs, 1, 1))
    conv = ["q", "xs", "xz", "w", "ws", "wz", "ys", "yz", "b"]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "qs" if "qs" in constants else "xs", "xz"], ["q"]),
        helper.make_node("QLinearConv", conv, ["c"], **attributes),
        helper.make_node(
            "QLinearMul", ["c", "ys", "yz", "k", "ks", "kz", "zs", "zz"], ["m"], domain=domain
        ),
        helper.make_node(
            "QLinearAdd", ["m", "zs", "zz", "c", "ys", "yz", "zs", "zz"], ["a"], domain=domain
        ),
        helper.make_node("DequantizeLinear", ["a", "zs", "zz"], ["y"]),
    ]
    return model_of(nodes, constants, shape)


def model_of(
    nodes: list[onnx.NodeProto], constants: dict[str, Array], shape: tuple[int | str, ...]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(each, name) for name, each in constants.items()],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


HEAD: dict[str, Array] = {
    "xs": np.array(0.03, np.float32), "xz": np.array(120, np.uint8),
    "ps": np.array(0.02, np.float32), "pz": np.array(117, np.uint8),
    "w": BYTES[:, :, 0, 0].T.copy(),
    "ws": np.array(0.01, np.float32), "wz": np.array(118, np.uint8),
    "b": np.array([7, -300, 20000], np.int32),
    "gs": np.array(0.05, np.float32), "gz": np.array(101, np.uint8),
    "ss": np.array(2.0**-8, np.float32), "sz": np.array(0, np.uint8),
    "shape": np.array([1, 4], np.int64),
}  # fmt: skip


def classified(
    changes: dict[str, Array] | None = None, opset: int = 13, **attributes: Any
) -> onnx.ModelProto:
    """Return an image's mean, a product and probabilities."""
    constants = HEAD | (changes or {})
    own = {"domain": "com.microsoft"}
    product = ["r", "ps", "pz", "w", "ws", "wz", "b", "gs", "gz"]
    gemm = {key: value for key, value in attributes.items() if key != "channels_last"}
    pool = {key: value for key, value in attributes.items() if key == "channels_last"}
    to_pooled, to_soft = ["q", "xs", "xz", "ps", "pz"], ["g", "gs", "gz", "ss", "sz"]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        helper.make_node("QLinearGlobalAveragePool", to_pooled, ["p"], **own, **pool),
        helper.make_node("Reshape", ["p", "shape"], ["r"]),
        helper.make_node("QGemm", product, ["g"], **own, **gemm),
        helper.make_node("QLinearSoftmax", to_soft, ["s"], axis=-1, opset=opset, **own),
        helper.make_node("DequantizeLinear", ["s", "ss", "sz"], ["y"]),
    ]
    return model_of(nodes, constants, IMAGE.shape)


@pytest.fixture
def file(tmp_path: Path) -> Callable[[onnx.ModelProto], str]:
    """Return what writes a model."""

    def write(model: onnx.ModelProto) -> str:
        onnx.save(model, tmp_path / "model.onnx")
        return str(tmp_path / "model.onnx")

    return write


def rows(loaded: armnn.LoadedNetwork) -> list[tuple[str, str, str]]:
    return [(row.layer, row.type, row.backend) for row in loaded.report.rows]


WHOLE = [
    quantized(),
    quantized({"wz": np.array(0, np.uint8)}, pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2]),
    quantized(PER_AXIS, auto_pad="SAME_UPPER"),
    quantized(DEPTHWISE, group=4),
    quantized(
        DEPTHWISE | {"ws": np.full(4, 0.02, np.float32), "wz": np.array([1, 0, 255, 4], np.uint8)},
        group=4,
    ),
    quantized({"w": BYTES[:, :2], "b": np.array([1, 2, 3], np.int32)}, group=1, shape=(1, 2, 6, 5)),
    classified(),
    classified({"w": BYTES[:, :, 0, 0].view(np.int8), "wz": np.array(-3, np.int8)}, transB=1),
    classified({"shape": np.array([4, 1], np.int64)}, transA=1),
]


@pytest.mark.parametrize("model", WHOLE)
def test_the_layers_are_those_of_the_definitions(
    model: onnx.ModelProto, file: Callable[[onnx.ModelProto], str]
) -> None:
    path = file(model)
    folded, plain = parse(path, folded=True), parse(path)
    assert (folded.is_folded, plain.is_folded) == (True, False)
    kinds = {layer.type for layer in folded.layers}
    assert kinds.isdisjoint({"Cast"})
    at_once = armnn.load_model(path, backends=["CpuRef"])
    later = armnn.load_model(plain, backends=["CpuRef"])
    assert rows(at_once) == rows(later)
    made, kept = folded.layers, at_once.report.rows
    assert sum(each.type == "Quantize" for each in made) == sum(r.type == "Quantize" for r in kept)
    shape = next(iter(at_once.inputs.values())).static_shape
    feed = {"x": np.resize(IMAGE, shape)}
    np.testing.assert_array_equal(at_once.run(feed)["y"], later.run(feed)["y"], strict=True)


UNUSUAL = [
    (quantized({"b": np.array([1, 2, 2**21 + 1], np.int32)}), "c"),
    (quantized({"ws": np.array(1e-36, np.float32)}), "c"),
    (quantized({"ws": np.array(np.inf, np.float32)}), "c"),
    (quantized({"ws": np.array(-0.5, np.float32)}), "c"),
    (quantized({"qs": np.array(0.04, np.float32)}), "c"),
    (quantized({"ys": np.full(3, 0.5, np.float32), "yz": np.full(3, 1, np.uint8)}), "c"),
    (quantized({"wz": np.zeros(2, np.uint8), "ws": np.ones(2, np.float32)}), "c"),
    (quantized({"b": np.array([1, 2], np.int32)}), "c"),
    (quantized(group=2), "c"),
    (quantized(pads=[1]), "c"),
    (quantized(kernel_shape=[2, 2]), "c"),
    (classified(channels_last=1), "p"),
    (classified(alpha=0.5), "g"),
    (classified({"ws": np.full(3, 0.01, np.float32), "wz": np.zeros(3, np.uint8)}), "g"),
    (classified({"b": np.array([[7, -300, 20000]], np.int32)}), "g"),
    (classified({"b": np.array([7, -300], np.int32)}), "g"),
    (classified(transA=1), "g"),
    (classified(transA=2), "g"),
    (classified(opset=12), "s"),
]


@pytest.mark.parametrize(("model", "output"), UNUSUAL)
def test_what_is_unusual_is_left_to_the_definition(model: onnx.ModelProto, output: str) -> None:
    def outcome(*, folded: bool) -> list[str]:
        try:
            network = parse(model.SerializeToString(), folded=folded)
        except armnn.ArmnnError as error:
            return [str(error)]
        return [layer.type for layer in network.layers if layer.name.startswith(f"{output}/")]

    assert outcome(folded=True) == outcome(folded=False)


def test_unknown_shapes_are_left_to_the_definitions() -> None:
    network = parse(quantized(shape=("n", *IMAGE.shape[1:])).SerializeToString(), folded=True)
    assert not network.is_folded


def test_the_network_of_a_caller_is_not_folded(file: Callable[[onnx.ModelProto], str]) -> None:
    assert not armnn.parse(file(quantized())).is_folded


def test_a_refusal_has_the_file_parsed_again(
    file: Callable[[onnx.ModelProto], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = RefBackend.supports

    def supports(self: RefBackend, layer: Layer, model: ModelContext) -> Support:
        if layer.type == "Convolution2d" and layer.output.info.is_quantized:
            return Support(supported=False, reason="of floats only")
        return answer(self, layer, model)

    monkeypatch.setattr(RefBackend, "supports", supports)
    path = file(quantized())
    at_once = armnn.load_model(path, backends=["CpuRef"])
    later = armnn.load_model(armnn.parse(path), backends=["CpuRef"])
    assert rows(at_once) == rows(later)
    assert [row.type for row in at_once.report.rows if row.layer.startswith("c")] == [
        "Dequantize",
        "Convolution2d",
        "Quantize",
    ]


@pytest.mark.parametrize("options", [{"rewrite": False}, {"layer_backends": {"c": "CpuRef"}}])
def test_decisions_about_layers_on_floats_keep_them(
    options: dict[str, Any], file: Callable[[onnx.ModelProto], str]
) -> None:
    path = file(quantized())
    at_once = armnn.load_model(path, backends=["CpuRef"], **options)
    later = armnn.load_model(armnn.parse(path), backends=["CpuRef"], **options)
    assert rows(at_once) == rows(later)
    assert "c/real" in [row.layer for row in at_once.report.rows]
