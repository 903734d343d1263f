# SPDX-License-Identifier: MIT
"""Layers in a wished layout compute what they did."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import CreationOptions, DataLayout, DataType, Network, Runtime, TensorInfo
from armnn.backends import ArrayHandle, ModelContext
from armnn.layers import LAYERS
from armnn.optimizer.layouts import order_to, transposed
from armnn.single_layer import in_layout
from armnn_backend_api import get_include
from armnn_backend_ref.backend import RefBackend
from armnn_conformance.cases import all_cases
from armnn_conformance.running import layer_of
from fakes import OneLayoutBackend

if TYPE_CHECKING:
    from armnn.graph import Layer

Array = np.ndarray[Any, Any]
SAMPLE = (
    Path(__file__).parents[1]
    / "packages/armnn-dynamic-loader/src/armnn_dynamic_loader/samples/acme_npu.c"
)
EITHER = "layout == ARMNN_DATA_LAYOUT_NCHW || layout == ARMNN_DATA_LAYOUT_NHWC;"
ANSWER = "    support->level = why ? ARMNN_NOT_SUPPORTED : ARMNN_SUPPORTED;\n"
WISH = """\
    if (why && !strcmp(why, "AcmeNpu knows NCHW and NHWC") && armnn_support_has_layout(support))
      support->layout = ARMNN_DATA_LAYOUT_NHWC;
"""
CONVOLUTIONS = 26
"""Of SqueezeNet."""

WITH_LAYOUT = [
    name
    for name, spec in LAYERS.items()
    if "data_layout" in {field.name for field in dataclasses.fields(spec.descriptor)}
]


def image_cases() -> Iterator[tuple[Layer, list[Array | None], str]]:
    """Yield the kit's layers on images, with their inputs."""
    for case in all_cases(WITH_LAYOUT):
        if case.data_type is DataType.FLOAT32:
            yield layer_of(case), [None if o is None else o.stored for o in case.inputs], case.id


def any_layout() -> Iterator[tuple[Layer, list[Array | None], str]]:
    """Yield layers that compute in any layout, on images."""
    random = np.random.default_rng(0)
    x, y = (random.standard_normal((2, 3, 4, 5)).astype(np.float32) for _ in range(2))
    row, one = x[0, :, :1, :1], np.float32(2)
    number = TensorInfo((2, 3, 4, 5), DataType.QASYMM_U8, 0.5, 3)
    network = Network("any layout")
    a, b = (network.add_input(name, TensorInfo(x.shape)) for name in "ab")
    q = network.add_input("q", number)
    outside = ((1, 0), (0, 2), (3, 0), (0, 1))
    made = [
        network.add_activation(a, function="LeakyReLu", a=0.1),
        network.add_elementwise_unary(a, operation="Exp"),
        network.add_floor(a),
        network.add_addition(a, b),
        network.add_multiplication(a, row),
        network.add_elementwise_binary(a, one, operation="Power"),
        network.add_comparison(a, row, operation="Less"),
        network.add_where(network.add_comparison(a, b), a, row),
        network.add_prelu(a, row),
        network.add_dequantize(q),
        network.add_concat([a, b, a], axis=1),
        network.add_concat([a, b], axis=-1),
        network.add_softmax(a, axis=1),
        network.add_log_softmax(a, axis=-2),
        network.add_pad(a, pad_list=outside),
        network.add_mean(a, axis=(1,), keep_dims=True),
        network.add_mean(a, axis=(2, -1)),
        network.add_reduce(a, axis=(0, 3), keep_dims=True, reduce_operation="Max"),
    ]
    fed = {"a": x, "b": y, "q": random.integers(0, 255, x.shape, np.uint8)}
    for value in made:
        layer = value.producer
        arrays = [
            each.constant if each.constant is not None else fed.get(each.producer.name, x > y)
            for each in layer.inputs
            if each is not None
        ]
        yield layer, arrays, layer.name


def computed(layer: Layer, arrays: list[Array | None]) -> list[Array]:
    """Return what CpuRef computes."""
    outputs = [np.zeros(i.static_shape, i.data_type.numpy_dtype) for i in layer.output_infos]
    given = [
        None if value is None or array is None else ArrayHandle(value.info, np.asarray(array))
        for value, array in zip(layer.inputs, arrays, strict=False)
    ]
    made = [ArrayHandle(*pair) for pair in zip(layer.output_infos, outputs, strict=True)]
    RefBackend().create_workload(layer, ModelContext({})).bind(given, made)()
    return outputs


@pytest.mark.parametrize(("layers", "least"), [(image_cases, 16), (any_layout, 15)])
def test_layers_compute_the_same_in_another_layout(
    layers: Callable[[], Iterator[tuple[Layer, list[Array | None], str]]], least: int
) -> None:
    types = set()
    for layer, arrays, name in layers():
        for layout in DataLayout:
            form, twin = transposed(layer, layout), in_layout(layer, layout)
            if form is None or twin is None:
                continue
            order = order_to(layout)
            moved = [
                twin.inputs[index].constant
                if twin.inputs[index] is not None and twin.inputs[index].constant is not None
                else array.transpose(order)
                if array is not None and index in form.inputs
                else array
                for index, array in enumerate(arrays)
            ]
            for found, right in zip(computed(twin, moved), computed(layer, arrays), strict=True):
                wanted = right.transpose(order) if form.output else right
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5, err_msg=name)
            types.add(layer.type)
    assert len(types) >= least, sorted(types)


@contextmanager
def fake_of_one_layout(folder: Path) -> Iterator[tuple[Runtime, str]]:
    """Yield a runtime with the kit's backend of NHWC only."""
    claims = ("Convolution2d", "Activation", "Pooling2d", "Concat", "Transpose", "Mean", "Reshape")
    support = dict.fromkeys(claims, True)
    made = OneLayoutBackend("OneLayout", support, inner=RefBackend())
    with armnn.register_backend("OneLayout", lambda: made), Runtime() as runtime:
        yield runtime, "OneLayout"


@contextmanager
def sample_of_one_layout(folder: Path) -> Iterator[tuple[Runtime, str]]:
    """Yield a runtime with the sample, in NHWC only."""
    source = SAMPLE.read_text(encoding="utf-8")
    assert source.count(EITHER) == source.count(ANSWER) == 1
    source = source.replace(r"\"1.0\"", r"\"1.2\"")  # in the note
    source = source.replace(EITHER, "layout == ARMNN_DATA_LAYOUT_NHWC || !is_convolution;")
    path = folder / "acme_npu.c"
    path.write_text(source.replace(ANSWER, ANSWER + WISH), encoding="utf-8")
    flags = ["-std=c11", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{get_include()}"]
    flags += ["-DARMNN_BACKEND_TARGET_MINOR=2"]
    library = folder / "Acme_AcmeNpu_backend.so"
    subprocess.run(["gcc", *flags, "-o", str(library), str(path)], check=True)
    with Runtime(CreationOptions(dynamic_backends_path=str(folder))) as runtime:
        yield runtime, "AcmeNpu"


@pytest.mark.parametrize(
    ("made", "transposes", "parts"), [(fake_of_one_layout, 1, 2), (sample_of_one_layout, 44, 37)]
)
def test_all_convolutions_of_squeezenet_run_on_a_backend_of_the_other_layout(
    made: Callable[[Path], Iterator[tuple[Runtime, str]]],
    transposes: int,
    parts: int,
    model: Callable[[str], Path],
    tmp_path: Path,
) -> None:
    path = str(model("squeezenet"))
    feeds = {"data_0": np.random.default_rng(0).random((1, 3, 224, 224), np.float32)}
    with made(tmp_path) as (runtime, backend):
        expected = runtime.load_model(path, ["CpuRef"]).run(feeds)
        loaded = runtime.load_model(path, [backend, "CpuRef"])
        found, report = loaded.run(feeds), loaded.report
    rows = [(row.type, row.backend) for row in report]
    assert rows.count(("Convolution2d", backend)) == CONVOLUTIONS
    assert sum(kind == "Transpose" for kind, _ in rows) == transposes
    assert len(report.parts) == parts
    for name, right in expected.items():
        np.testing.assert_allclose(found[name], right, rtol=1e-4, atol=1e-7)


def test_a_backend_without_a_wish_is_asked_for_nothing_more(model: Callable[[str], Path]) -> None:
    with Runtime() as runtime:
        report = runtime.load_model(str(model("squeezenet")), ["CpuAcc", "CpuRef"]).report
    assert not [row for row in report if row.type == "Transpose" or row.conversion]
