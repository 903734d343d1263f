# SPDX-License-Identifier: MIT
"""Exported models mean the same to onnxruntime.

They are single layers and whole networks. Expected values are those of the conformance cases, whose
oracles know neither ONNX nor a kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

import armnn
from armnn.backends import SubgraphView
from armnn.errors import InvalidArgumentError
from armnn.optimizer.shapes.specialize import fill_descriptor, update_outputs
from armnn.types import DataType
from armnn_conformance.cases import EXTREME, NAN, LayerCase, cases_of, data_types_of
from armnn_conformance.comparison import difference
from armnn_conformance.running import LAYER, feeds_of, network_of, output_name
from armnn_parser_onnx.export import OPSET, NotExportableError, export_support, to_onnx
from armnn_parser_onnx.export.graph import EXPORTERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPES = (
    DataType.FLOAT16,
    DataType.FLOAT32,
    DataType.SIGNED32,
    DataType.SIGNED64,
    DataType.BOOLEAN,
)
CELLS = [
    (layer, data_type)
    for layer in EXPORTERS
    for data_type in data_types_of(layer)
    if data_type in TYPES
]
DIFFERENT_THERE = {
    "SequenceLstm-Float32-clipped": "onnxruntime clips the cell, too",
    "SequenceLstm-Float16-clipped": "onnxruntime clips the cell, too",
}
UNDEFINED_THERE = {NAN, EXTREME}
"""Tags of cases about NaN and the largest numbers, which ONNX leaves to its runtimes."""
NOT_EXPORTED = [
    (layer, data_type)
    for layer in ("Pooling2d", "Pooling3d")
    for data_type in ("Signed32", "Signed64")
]
"""Layers that ONNX has no operator for in a type."""


def run_model(data: bytes, feeds: Mapping[str, NDArray[Any]]) -> Sequence[NDArray[Any]]:
    """Run a model on onnxruntime, else on ONNX's reference."""
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    given = {value.name: feeds[value.name] for value in model.graph.input}
    try:
        return onnxruntime.InferenceSession(data, options).run(None, given)
    except (
        onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented,
        onnxruntime.capi.onnxruntime_pybind11_state.Fail,
    ):
        return ReferenceEvaluator(model).run(None, given)


def prepared(case: LayerCase) -> armnn.Network:
    """Return a case's network, its descriptor filled from constants.

    A backend sees it like that.
    """
    network = network_of(case)
    layer = network.find(LAYER)
    fill_descriptor(network, layer)
    update_outputs(layer)
    return network


@pytest.mark.parametrize(
    ("layer", "data_type"), CELLS, ids=lambda each: getattr(each, "arm_name", each)
)
def test_an_exported_layer_computes_the_same(layer: str, data_type: DataType) -> None:
    exported = 0
    for case in cases_of(layer, data_type):
        network = prepared(case)
        readable = all(info.data_type in TYPES for info in case.outputs)
        supported = export_support(network.find(LAYER))
        differs = case.id in DIFFERENT_THERE or not UNDEFINED_THERE.isdisjoint(case.tags)
        if differs or not (readable and supported):
            continue
        outputs = run_model(to_onnx(network), feeds_of(case))
        exported += 1
        for index, (got, info, expected) in enumerate(
            zip(outputs, case.outputs, case.expected, strict=True)
        ):
            if index not in case.open_outputs:
                found = difference(got, info, expected, case.tolerance)
                assert found == "", f"{case.id}, {output_name(index)}"
    assert exported or (layer, data_type.arm_name) in NOT_EXPORTED


def test_a_network_keeps_the_names_of_its_inputs_and_outputs() -> None:
    net = armnn.Network("names")
    x = net.add_input("x", armnn.TensorInfo((2, 3), DataType.FLOAT32))
    y = net.add_activation(x, function=armnn.ActivationFunction.RELU, name="relu")
    net.add_output("y", y)
    net.add_output("again", y)
    model = onnx.load_from_string(to_onnx(net))
    assert [value.name for value in model.graph.input] == ["x"]
    assert [value.name for value in model.graph.output] == ["y", "again"]
    assert [entry.version for entry in model.opset_import] == [OPSET]
    first, second = run_model(to_onnx(net), {"x": np.float32([[-1, 0, 1], [2, -3, 4]])})
    assert first.tolist() == second.tolist() == [[0, 0, 1], [2, 0, 4]]


def test_a_part_of_a_network_has_the_values_that_enter_and_leave_it() -> None:
    net = armnn.Network("part")
    x = net.add_input("x", armnn.TensorInfo((3,), DataType.FLOAT32))
    weights = net.add_constant(np.float32([1, 2, 3]), name="weights")
    a = net.add_addition(x, weights, name="a")
    b = net.add_multiplication(a, a, name="b")
    net.add_output("out", net.add_floor(b, name="c"))
    view = SubgraphView.of(net, [net.find("a"), net.find("b")])
    model = onnx.load_from_string(to_onnx(view))
    assert [value.name for value in model.graph.input] == ["x"]
    assert [value.name for value in model.graph.output] == ["b"]
    assert [tensor.name for tensor in model.graph.initializer] == ["weights"]
    (out,) = run_model(to_onnx(view), {"x": np.float32([1, 1, 1])})
    assert out.tolist() == [4, 9, 16]


def test_what_was_exported_parses_back_to_the_same_values() -> None:
    rng = np.random.default_rng(3)
    net = armnn.Network("round trip")
    x = net.add_input("x", armnn.TensorInfo((1, 7, 5, 3), DataType.FLOAT32))
    kernel = rng.standard_normal((4, 3, 3, 3), np.float32)
    y = net.add_convolution2d(
        x,
        net.add_constant(kernel, name="kernel"),
        pad_left=1,
        pad_top=2,
        stride_x=2,
        data_layout=armnn.DataLayout.NHWC,
        name="conv",
    )
    net.add_output("y", net.add_softmax(y, axis=3, name="softmax"))
    array = rng.standard_normal((1, 7, 5, 3), np.float32)
    with armnn.Runtime() as runtime:
        before = runtime.load_network(runtime.optimize(net)).run({"x": array})["y"]
        parsed = armnn.parse(to_onnx(net), suffix=".onnx")
        after = runtime.load_network(runtime.optimize(parsed)).run({"x": array})["y"]
    np.testing.assert_allclose(after, before, rtol=1e-5, atol=1e-6)


def test_names_of_layers_are_never_taken_for_new_values() -> None:
    net = armnn.Network("clash")
    x = net.add_input("n/Relu.1", armnn.TensorInfo((2,), DataType.FLOAT32))
    y = net.add_activation(x, function=armnn.ActivationFunction.RELU, name="n")
    net.add_output("y", y)
    (out,) = run_model(to_onnx(net), {"n/Relu.1": np.float32([-1, 1])})
    assert out.tolist() == [0, 1]


def test_a_layer_without_counterpart_is_refused_by_name() -> None:
    net = armnn.Network("refused")
    x = net.add_input("x", armnn.TensorInfo((2, 3), DataType.FLOAT32))
    net.add_output("y", net.add_fake_quantization(x, name="fake"))
    message = r"layer 'fake' \(FakeQuantization\) cannot be exported to ONNX: the ONNX expor"
    with pytest.raises(NotExportableError, match=message):
        to_onnx(net)
    assert "FakeQuantization" in export_support(net.find("fake")).reason


def test_a_layer_that_quantizes_is_refused_for_its_type() -> None:
    net = armnn.Network("quantized")
    info = armnn.TensorInfo((2,), "QAsymmU8", 0.5, 3)
    x = net.add_input("x", armnn.TensorInfo((2,)))
    net.add_output("y", net.add_quantize(x, output=info, name="q"))
    with pytest.raises(NotExportableError, match="'q' is QAsymmU8, expected a type that is not"):
        to_onnx(net)


def test_quantized_tensors_are_refused() -> None:
    net = armnn.Network("quantized")
    info = armnn.TensorInfo((2,), DataType.QASYMM_U8, scales=0.5, zero_points=3)
    x = net.add_input("x", info)
    net.add_output("y", net.add_floor(x, name="down"))
    with pytest.raises(NotExportableError, match="'x' is QAsymmU8, expected a type that is not"):
        to_onnx(net)


def test_a_type_that_the_operator_lacks_is_refused_with_the_words_of_onnx() -> None:
    net = armnn.Network("type")
    x = net.add_input("x", armnn.TensorInfo((2,), DataType.FLOAT16))
    y = net.add_activation(x, function=armnn.ActivationFunction.CELU, a=1.0, name="celu")
    net.add_output("y", y)
    with pytest.raises(NotExportableError, match=r"ONNX refuses it.*Celu.*float16"):
        to_onnx(net)


def test_more_constants_than_a_message_holds_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("armnn_parser_onnx.export.graph._LARGEST", 11)
    net = armnn.Network("large")
    x = net.add_input("x", armnn.TensorInfo((3,), DataType.FLOAT32))
    net.add_output("y", net.add_addition(x, net.add_constant(np.ones(3, np.float32))))
    with pytest.raises(NotExportableError, match="'large' has 12 bytes of constants: expected at"):
        to_onnx(net)


def test_a_network_of_open_shapes_is_refused() -> None:
    network = armnn.Network()
    network.add_output("y", network.add_input("x", armnn.TensorInfo((None, 2))))
    with pytest.raises(InvalidArgumentError, match=r"the shape \[\?,2\] is not known in full"):
        to_onnx(network)


def test_a_parameter_that_onnx_would_round_is_refused_in_float64() -> None:
    network = armnn.Network("slope")
    x = network.add_input("x", armnn.TensorInfo((2,), DataType.FLOAT64))
    exact = network.add_activation(x, function="LeakyReLu", a=0.125)
    rounded = network.add_activation(x, function="LeakyReLu", a=0.1, name="rounded")
    assert export_support(exact.producer)
    reason = export_support(rounded.producer).reason
    assert reason.startswith(
        "layer 'rounded' (Activation) cannot be exported to ONNX: its alpha is"
    )
