# SPDX-License-Identifier: MIT
"""Layers that one kernel does: which are joined, and that results stay those of CpuRef."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import armnn
from armnn import Network, TensorInfo


def numbers(*shape: int) -> Any:
    return np.random.default_rng(shape).standard_normal(shape, np.float32)


def convolved(net: Network, x: Any, channels: int = 12) -> Any:
    weights = net.add_constant(numbers(channels, 1, 1, x.info.shape[-1]))
    return net.add_convolution2d(
        x, weights, net.add_constant(numbers(channels)), data_layout="NHWC"
    )


def residual(net: Network, x: Any) -> Any:
    y = convolved(net, x)
    z = net.add_activation(convolved(net, y), function="ReLu")
    return net.add_activation(net.add_addition(convolved(net, z), y), function="ReLu")


def swish(net: Network, x: Any) -> Any:
    y = convolved(net, x)
    return net.add_multiplication(y, net.add_activation(y, function="Sigmoid"))


def both_read(net: Network, x: Any) -> Any:
    y = convolved(net, x)
    net.add_output("inside", y)
    return net.add_activation(y, function="ReLu")


def per_channel(net: Network, x: Any) -> Any:
    y = net.add_multiplication(convolved(net, x), net.add_constant(numbers(12)))
    return net.add_subtraction(net.add_constant(numbers(1)), y)


def per_image(net: Network, x: Any) -> Any:
    y = convolved(net, x)
    scale = net.add_mean(x, axis=(1, 2), keep_dims=True)
    return net.add_multiplication(y, convolved(net, scale))


def depthwise(net: Network, x: Any) -> Any:
    y = net.add_depthwise_convolution2d(
        convolved(net, x),
        net.add_constant(numbers(1, 3, 3, 12)),
        pad_left=1,
        pad_right=1,
        pad_top=1,
        pad_bottom=1,
        data_layout="NHWC",
    )
    return net.add_activation(net.add_addition(y, net.add_constant(numbers(12))), function="ReLu")


def product(net: Network, x: Any) -> Any:
    y = net.add_batch_mat_mul(x, net.add_constant(numbers(11, 20)))
    y = net.add_addition(y, net.add_constant(numbers(20)))
    z = net.add_batch_mat_mul(y, y, transpose_y=True)
    return net.add_division(z, net.add_constant(np.float32([7])))


def few_bits(net: Network, x: Any) -> Any:
    rng = np.random.default_rng(4)
    weights, zeros = (rng.integers(0, 256, (20, count)).astype(np.uint8) for count in (8, 1))
    y = net.add_mat_mul_n_bits(
        x, net.add_constant(weights), net.add_constant(numbers(20, 1)), net.add_constant(zeros),
        net.add_constant(numbers(20)), bits=4, block_size=16,
    )  # fmt: skip
    return net.add_multiplication(y, net.add_activation(y, function="Sigmoid"))


def alone(net: Network, x: Any) -> Any:
    y = net.add_elementwise_unary(net.add_multiplication(x, x), operation="Sqrt")
    return net.add_subtraction(net.add_maximum(y, x), net.add_constant(numbers(11)))


CASES: dict[Callable[[Network, Any], Any], int] = {
    residual: 3,
    swish: 1,
    both_read: 2,
    per_channel: 1,
    per_image: 3,
    depthwise: 2,
    product: 2,
    few_bits: 1,
    alone: 1,
}
"""Networks, and how many kernels run."""


@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
@pytest.mark.parametrize("shape", [(2, 5, 6, 11)])
def test_one_kernel_does_joined_layers(
    monkeypatch: pytest.MonkeyPatch, build: Callable[[Network, Any], Any], shape: tuple[int, ...]
) -> None:
    made = []
    launched: list[str] = []
    enqueue = cl.enqueue_nd_range_kernel

    def counted(queue: Any, kernel: Any, *sizes: Any) -> Any:
        launched.append(kernel.function_name)
        return enqueue(queue, kernel, *sizes)

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", counted)
    for backend in ("GpuAcc", "CpuRef"):
        net = Network(build.__name__)
        net.add_output("y", build(net, net.add_input("x", TensorInfo(shape))))
        model = armnn.load_model(net, backends=[backend])
        made.append(model.run({"x": numbers(*shape)}))
    assert len(launched) == CASES[build], launched
    for name, values in made[0].items():
        np.testing.assert_allclose(values, made[1][name], rtol=2e-5, atol=2e-5)


def test_kernels_have_no_more_arguments_than_all_devices_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    names = []

    class Counted(cl.Kernel):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            sizes.append(0)
            names.append(self.function_name)

        def set_arg(self, place: int, value: Any) -> None:
            super().set_arg(place, value)
            size = 8 if isinstance(value, cl.Buffer) else value.nbytes
            sizes[-1] = -(-sizes[-1] // size) * size + size  # each is aligned to its size

    monkeypatch.setattr(cl, "Kernel", Counted)
    net = Network("many arguments")
    inputs = {"x": numbers(2, 3, 4, 6), "w": numbers(2, 1, 6, 5)}
    inputs |= {f"y{i}": numbers(*((1, 3, 1, 5), (2, 1, 4, 1))[i % 2]) for i in range(10)}
    x, w, *others = (net.add_input(name, TensorInfo(each.shape)) for name, each in inputs.items())
    y = net.add_batch_mat_mul(x, w)
    for other in others:
        y = net.add_multiplication(y, other)
    for i in range(8):
        y = net.add_activation(y, function="HardSigmoid", a=0.3 + i / 50, b=0.4)
    net.add_output("y", y)
    made, reference = (
        armnn.load_model(net, backends=[backend], min_part=1).run(inputs)["y"]
        for backend in ("GpuAcc", "CpuRef")
    )
    np.testing.assert_allclose(made, reference, rtol=2e-5, atol=2e-5)
    assert "matmul" in names
    assert 768 < max(sizes) <= 1024
