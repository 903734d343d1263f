# SPDX-License-Identifier: MIT
"""Layers with empty axes compute or fail as on CpuRef.

The networks are those of the conformance cases, with each axis of the first input made empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import armnn
from armnn.errors import ArmnnError, ExecutionError, OptimizationError
from armnn.types import DataType
from armnn_conformance.cases import LayerCase, cases_of, covered_layers

LAYERS = [layer for layer in covered_layers() if any(cases_of(layer, DataType.FLOAT32))]


def emptied(case: LayerCase) -> Iterator[tuple[armnn.Network, dict[str, np.ndarray]]]:
    """Yield a case's network and feeds per empty axis."""
    first = case.inputs[0] if case.inputs else None
    if first is None or first.constant:
        return
    for axis in range(len(first.info.static_shape)):
        shapes = [None if o is None else list(o.info.static_shape) for o in case.inputs]
        shapes[0][axis] = 0
        net = armnn.Network(f"{case.id} without axis {axis}")
        operands, feeds = [], {}
        try:
            for index, (operand, shape) in enumerate(zip(case.inputs, shapes, strict=True)):
                if operand is None:
                    operands.append(None)
                elif operand.constant:
                    operands.append(net.add_constant(operand.stored, operand.info))
                else:
                    name = f"input {index}"
                    operands.append(net.add_input(name, operand.info.with_shape(tuple(shape))))
                    feeds[name] = np.resize(operand.stored, shape)
            requested = [info.with_shape(None) for info in case.outputs]
            layer = net.add(case.layer, operands, case.descriptor, outputs=requested)
        except ArmnnError:
            continue  # the layer does not have such a shape
        for index, value in enumerate(layer.outputs):
            net.add_output(f"output {index}", value)
        yield net, feeds


def outcome(
    net: armnn.Network, feeds: dict[str, np.ndarray], backend: str
) -> dict[str, np.ndarray] | str | None:
    """Return the outputs, "fails", or None for a refusal."""
    try:
        return armnn.load_model(net, backends=[backend]).run(feeds)
    except ExecutionError:
        return "fails"
    except ArmnnError:
        return None


@pytest.mark.parametrize("layer", LAYERS)
def test_an_empty_axis_is_computed_as_on_the_reference(layer: str) -> None:
    for case in cases_of(layer, DataType.FLOAT32):
        for net, feeds in emptied(case):
            got, expected = outcome(net, feeds, "CpuAcc"), outcome(net, feeds, "CpuRef")
            if got is None or expected is None:
                continue
            if isinstance(got, str) or isinstance(expected, str):
                assert got == expected, net.name
                continue
            for name, array in expected.items():
                np.testing.assert_allclose(
                    got[name], array, rtol=1e-4, atol=1e-5, err_msg=f"{net.name}, {name}"
                )


def test_a_constant_without_elements_is_a_constant() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    net = armnn.Network("reversed along no axis")
    given = net.add_input("x", armnn.TensorInfo(x.shape))
    net.add_output("y", net.add_reverse_v2(given, np.zeros(0, np.int32)))
    loaded = armnn.load_model(net, backends=["CpuAcc"])
    np.testing.assert_array_equal(loaded.run({"x": x})["y"], x)


@pytest.mark.parametrize(
    ("data_type", "lowest"), [(DataType.QASYMM_U8, 0), (DataType.QASYMM_S8, -1)]
)
def test_a_product_of_bytes_without_inner_dimension_is_the_bias(
    data_type: DataType, lowest: int
) -> None:
    """It once read memory behind the weights."""
    steps = armnn.TensorInfo((2, 0), data_type, 0.5, 3)
    net = armnn.Network("sums of nothing")
    weights = net.add_constant(np.zeros((0, 3), data_type.numpy_dtype), steps.with_shape((0, 3)))
    bias = np.int32([-8, 0, 12])  # in steps of 0.25
    layer = net.add_fully_connected(
        net.add_input("x", steps),
        weights,
        net.add_constant(bias, armnn.TensorInfo((3,), DataType.SIGNED32)),
        output=steps.with_shape(None),
    )
    net.add_output("y", layer)
    loaded = armnn.load_model(net, backends=["CpuAcc"])
    y = loaded.run({"x": np.zeros((2, 0), data_type.numpy_dtype)})["y"]
    assert y.tolist() == [[lowest, 3, 9]] * 2


def test_a_transposed_convolution_without_outputs_is_refused() -> None:
    """It once divided by zero columns, and crashed."""
    net = armnn.Network("no outputs")
    weights = net.add_constant(np.zeros((0, 3, 2, 3), np.float32))
    x = net.add_input("x", armnn.TensorInfo((2, 3, 4, 3)))
    net.add_output("y", net.add_transpose_convolution2d(x, weights, stride_x=1, stride_y=1))
    with pytest.raises(OptimizationError, match="an empty window is not computed here"):
        armnn.load_model(net, backends=["CpuAcc"])
