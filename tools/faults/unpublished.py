# SPDX-License-Identifier: MIT
"""Faults of the newest releases, without a public report."""

from __future__ import annotations

import numpy as np

import armnn
from armnn.types import DataType
from tools.faults.fault import Fault, Model, numbers, surrounded, whole


def response_with_half_a_k() -> Model:
    """Normalise local responses, with 1.5 added to the sums."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        return net.add_normalization(
            x, norm_size=3, alpha=0.5, beta=0.75, k=1.5, data_layout="NCHW", name="response"
        )

    return surrounded((1, 4, 2, 2), fault), {"x": numbers(1, 4, 2, 2)}


def hard_sigmoid_through_zero() -> Model:
    """Compute HardSigmoid with nothing added."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        return net.add_activation(x, function="HardSigmoid", a=0.5, b=0.0, name="hard")

    return surrounded((2, 3), fault), {"x": numbers(2, 3)}


def product_of_higher_rank() -> Model:
    """Transpose a matrix; multiply by one number of rank 3."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        value = net.add_transpose(x, dim_mappings=(1, 0), name="turn")
        factor = net.add_constant(np.full((1, 1, 1), 2, np.float32))
        return net.add_multiplication(value, factor, name="double")

    return surrounded((2, 3), fault), {"x": numbers(2, 3)}


def cubic_without_outside() -> Model:
    """Resize cubically with samples of the picture only."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        return net.add_resize(
            x,
            target_height=3,
            target_width=3,
            method="Cubic",
            half_pixel_centers=True,
            exclude_outside=True,
            data_layout="NCHW",
            name="cubic",
        )

    return surrounded((1, 1, 4, 4), fault), {"x": numbers(1, 1, 4, 4)}


def coupled_gates() -> Model:
    """Run an LSTM whose input and forget gates are coupled."""
    return _lstm(input_forget=True)


def peepholes() -> Model:
    """Run an LSTM whose gates see the cell."""
    return _lstm(peepholes=True)


def highest_integers() -> Model:
    """Find the largest of integers."""

    def fault(net: armnn.Network, values: list[armnn.Value]) -> armnn.Value:
        return net.add_reduce(values[0], axis=(1,), reduce_operation="Max", name="highest")

    given = np.array([[2**24, 3], [7, 2**25 + 2]], np.int32)
    return whole({"x": (2, 2)}, fault), {"x": given}


def shrunk_doubles() -> Model:
    """Shrink numbers of Float64."""
    net = armnn.Network("fault")
    x = net.add_input("x", armnn.TensorInfo((2,), DataType.FLOAT64))
    value = net.add_addition(x, x, name="twice")
    value = net.add_activation(value, function="Shrink", a=0.5, b=0.0, name="shrink")
    net.add_output("y", net.add_addition(value, value, name="again"))
    return net, {"x": np.array([1 + 1e-12, 3.3])}


def _lstm(*, input_forget: bool = False, peepholes: bool = False) -> Model:
    """Return a network with an LSTM of two units."""

    def fault(net: armnn.Network, x: armnn.Value) -> armnn.Value:
        weights = [net.add_constant(numbers(1, 8, size)) for size in (3, 2)]
        outputs = net.add_sequence_lstm(
            x,
            weights[0],
            weights[1],
            peephole_weights=net.add_constant(numbers(1, 6)) if peepholes else None,
            time_major=True,
            input_forget=input_forget,
            name="lstm",
        )
        return outputs[0]

    return surrounded((4, 1, 3), fault), {"x": numbers(4, 1, 3)}


FAULTS = tuple(
    Fault(name, "", runtime, version, build, wrong)
    for name, runtime, version, build, wrong in (
        ("LRN with half a k", "openvino", "2026.4.1", response_with_half_a_k, ("response",)),
        ("HardSigmoid with b of 0", "openvino", "2026.4.1", hard_sigmoid_through_zero, ("hard",)),
        (
            "product of higher rank",
            "openvino",
            "2026.4.1",
            product_of_higher_rank,
            ("turn", "double"),
        ),
        ("Resize without outside", "openvino", "2026.4.1", cubic_without_outside, ("cubic",)),
        ("LSTM with coupled gates", "openvino", "2026.4.1", coupled_gates, ("lstm",)),
        ("LSTM with peepholes", "openvino", "2026.4.1", peepholes, ("lstm",)),
        ("Max of Signed32", "openvino", "2026.4.1", highest_integers, ("highest",)),
        ("Shrink of Float64", "onnxruntime", "1.32.0", shrunk_doubles, ("shrink",)),
    )
)
