# SPDX-License-Identifier: MIT
"""Workloads decode, compute and encode; biases have the step of their products."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn.backends import ALIGNMENT, ArrayHandle, ModelContext, TensorHandle
from armnn.graph import Layer, Network
from armnn.layers import LAYERS
from armnn.layers.convolution import Convolution2dDescriptor
from armnn.layers.indexing import GatherDescriptor
from armnn.layers.joining import ConcatDescriptor
from armnn.layers.recurrent import QLstmDescriptor, UnidirectionalSequenceLstmDescriptor
from armnn.layers.reshaping import ReshapeDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType
from armnn_backend_ref.workload import RefWorkload, bias_steps

Array = NDArray[Any]
RunLayer = Callable[..., tuple[Array, ...]]


def quantized_convolution() -> tuple[Layer, Array]:
    network = Network("test")
    x = network.add_input("x", TensorInfo((1, 1, 1, 2), DataType.QASYMM_S8, 0.5, 0))
    stored = np.array([[[[2]]]], np.int8)
    weights = network.add_constant(stored, TensorInfo((1, 1, 1, 1), DataType.QSYMM_S8, 0.5))
    layer = network.add("Convolution2d", [x, weights], Convolution2dDescriptor())
    return layer, stored


def handle(info: TensorInfo, *values: float) -> ArrayHandle:
    array = np.array(values, info.data_type.numpy_dtype).reshape(info.static_shape)
    return ArrayHandle(info, array)


def test_constants_are_decoded_once_and_shared_by_all_specializations() -> None:
    layer, stored = quantized_convolution()
    model = ModelContext({})
    workloads = [RefWorkload(layer, model), RefWorkload(layer, model)]
    stored[...] = 100  # a later decoding would see it
    for workload in workloads:
        y = handle(layer.output.info, 0, 0)
        x = layer.inputs[0]
        assert x is not None
        workload.bind([handle(x.info, 6, -4), None], [y])()
        assert y.map().ravel().tolist() == [6, -4]


def test_decoded_constants_go_with_the_last_workload_that_reads_them() -> None:
    class Watched(ModelContext):
        def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
            value = super().shared(key, make)
            decoded.append(weakref.ref(value))
            return value

    decoded: list[weakref.ref[Any]] = []
    layer, _ = quantized_convolution()
    model = Watched({})
    workloads = [RefWorkload(layer, model), RefWorkload(layer, model)]
    del workloads[0]
    assert [reference() is None for reference in decoded] == [False, False]
    del workloads[0]
    assert [reference() is None for reference in decoded] == [True, True]


def test_two_layers_may_read_one_constant_differently() -> None:
    network = Network("test")
    bias = network.add_constant(np.array([8], np.int32))
    weights = network.add_constant(
        np.array([[[[2]]]], np.int8), TensorInfo((1, 1, 1, 1), DataType.QSYMM_S8, 0.5)
    )
    model = ModelContext({})
    results = []
    for scale in (0.5, 1.0):
        info = TensorInfo((1, 1, 1, 1), DataType.QASYMM_S8, scale)
        x = network.add_input(f"x{scale}", info)
        layer = network.add("Convolution2d", [x, weights, bias], Convolution2dDescriptor())
        y = handle(layer.output.info, 0)
        RefWorkload(layer, model).bind([handle(info, 0), None, None], [y])()
        results.append(y.map().item() * scale)
    assert results == [2, 4]  # 8 steps of 0.5 * 0.5, and of 1 * 0.5


def test_a_constant_may_have_no_handle_or_one_that_is_not_looked_at() -> None:
    layer, _ = quantized_convolution()
    workload = RefWorkload(layer, ModelContext({}))
    infos = [info for info in layer.input_infos if info is not None]
    for weights in (None, handle(infos[1], 55)):
        y = handle(layer.output.info, 0, 0)
        workload.bind([handle(infos[0], 1, 2), weights], [y])()
        assert y.map().ravel().tolist() == [1, 2]


def test_one_workload_serves_many_threads(run_layer: RunLayer) -> None:
    network = Network("test")
    rng = np.random.default_rng(0)
    x = network.add_input("x", TensorInfo((1, 8, 16, 16)))
    weights = rng.standard_normal((8, 8, 3, 3), np.float32)
    layer = network.add(
        "Convolution2d", [x, network.add_constant(weights)], Convolution2dDescriptor()
    )
    workload = RefWorkload(layer, ModelContext({}))
    pictures = [rng.standard_normal((1, 8, 16, 16), np.float32) for _ in range(4)]
    expected = [run_layer("Convolution2d", [picture, weights])[0] for picture in pictures]
    results = [np.empty(layer.output.info.static_shape, np.float32) for _ in pictures]

    def work(index: int) -> None:
        output = ArrayHandle(layer.output.info, results[index])
        step = workload.bind([ArrayHandle(x.info, pictures[index]), None], [output])
        for _ in range(50):
            step()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(pictures))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_a_step_leaves_its_inputs_alone(run_layer: RunLayer) -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    weights = np.ones((1, 1, 2, 2), np.float32)
    x.flags.writeable = weights.flags.writeable = False
    run_layer("Convolution2d", [x, weights])


@pytest.mark.parametrize("data_type", [DataType.QASYMM_S8, DataType.FLOAT16, DataType.SIGNED64])
def test_elements_that_only_move_keep_their_bits(run_layer: RunLayer, data_type: DataType) -> None:
    scale = 0.1 if data_type.is_quantized else ()
    dtype = data_type.numpy_dtype
    x = np.frombuffer(bytes(range(48)), dtype)
    info = TensorInfo(x.shape, data_type, scale)
    d = ReshapeDescriptor(target_shape=(2, len(x) // 2))
    (y,) = run_layer("Reshape", [(x, info)], d)
    assert y.tobytes() == x.tobytes()


def test_elements_that_move_to_another_scale_keep_their_values(run_layer: RunLayer) -> None:
    infos = [TensorInfo((2,), DataType.QASYMM_S8, scale, 0) for scale in (0.5, 0.25)]
    output = TensorInfo((4,), DataType.QASYMM_S8, 0.5, 10)
    x = np.array([4, 6], np.int8)
    (y,) = run_layer(
        "Concat", [(x, infos[0]), (x, infos[1])], ConcatDescriptor(axis=0), outputs=[output]
    )
    assert y.tolist() == [14, 16, 12, 13]


def test_elements_that_move_along_the_axis_of_scales_are_rescaled(run_layer: RunLayer) -> None:
    info = TensorInfo((2,), DataType.QSYMM_S8, (1.0, 0.5), axis=0)
    x, indices = np.array([3, 4], np.int8), np.array([1, 0], np.int32)
    (y,) = run_layer("Gather", [(x, info), indices], GatherDescriptor(axis=0), outputs=[info])
    assert y.tolist() == [2, 6]


def test_an_input_that_became_a_parameter_is_not_passed_on(run_layer: RunLayer) -> None:
    (y,) = run_layer(
        "Reshape", [np.arange(4, dtype=np.int32)], ReshapeDescriptor(target_shape=(2, 2))
    )
    assert y.tolist() == [[0, 1], [2, 3]]


def test_a_shape_that_only_the_data_says_is_assigned() -> None:
    class Growing(TensorHandle):
        def __init__(self, info: TensorInfo) -> None:
            self.info = info
            self.array: Array | None = None

        def map(self) -> Array:
            assert self.array is not None, "there is nothing to map before a shape is known"
            return self.array

        def assign(self, array: Array) -> None:
            self.array = array

    network = Network("test")
    x = network.add_input("x", TensorInfo((4,), DataType.SIGNED32))
    layer = network.add("NonZero", [x])
    output = Growing(layer.output.info)
    RefWorkload(layer, ModelContext({})).bind([handle(x.info, 0, 7, 0, -1)], [output])()
    assert output.map().tolist() == [[1, 3]]
    assert output.map().dtype == layer.output.info.data_type.numpy_dtype


def test_invalid_values_raise_no_warning(run_layer: RunLayer) -> None:
    x = np.array([[np.inf, -np.inf]], np.float32)
    (y,) = run_layer("Softmax", [x])
    np.testing.assert_array_equal(y, [[np.nan, np.nan]])


def test_inputs_are_decoded_into_scratch_memory() -> None:
    network = Network("test")
    infos = [TensorInfo((3,), DataType.QASYMM_U8, 0.5, 4), TensorInfo((3,), DataType.QSYMM_S8, 2.0)]
    x, y = (network.add_input(name, info) for name, info in zip("xy", infos, strict=True))
    info = TensorInfo((3,), DataType.QASYMM_S8, 0.25, -1)
    layer = network.add("Addition", [x, y], outputs=[info])
    workload = RefWorkload(layer, ModelContext({}))
    assert workload.scratch_bytes == 2 * ALIGNMENT
    scratch = np.full(workload.scratch_bytes, 255, np.uint8)
    output = handle(info, 0, 0, 0)
    inputs = [handle(infos[0], 0, 4, 7), handle(infos[1], 1, -2, 3)]
    step = workload.bind_with_scratch(inputs, [output], scratch)
    for _ in range(2):
        step()
        assert scratch[:12].view(np.float32).tolist() == [-2, 0, 1.5]
        assert scratch[ALIGNMENT : ALIGNMENT + 12].view(np.float32).tolist() == [2, -4, 6]
        assert output.map().tolist() == [-1, -17, 29]
        scratch[...] = 255  # other layers use it meanwhile


@pytest.mark.parametrize("data_type", [DataType.FLOAT32, DataType.SIGNED32])
def test_what_is_stored_as_it_is_needs_no_scratch_memory(data_type: DataType) -> None:
    network = Network("test")
    x = network.add_input("x", TensorInfo((3,), data_type))
    layer = network.add_addition(x, x).producer
    assert RefWorkload(layer, ModelContext({})).scratch_bytes == 0


def test_scratch_memory_is_in_the_arena() -> None:
    network = Network("test")
    x = network.add_input("x", TensorInfo((1000,), DataType.QASYMM_U8, 0.5, 4))
    network.add_output("y", network.add_activation(x, function="TanH", a=1.0, b=1.0))
    model = armnn.load_model(network, ["CpuRef"])
    assert model.arena_bytes == 2 * 1024 + 4032
    stored = np.arange(1000).astype(np.uint8)
    expected = np.clip(np.rint(np.tanh((stored - 4.0) / 2) * 2) + 4, 0, 255)
    assert np.abs(model.run({"x": stored})["y"] - expected).max() <= 1


GATES = ("forget", "cell", "output")
WAYS = ("input_to", "recurrent_to")
SCALES = {
    "input": 0.5,
    "output_state_in": 3.0,
    "cell_state_in": 5.0,
    "projection_weights": 0.125,
    "forget_layer_norm_weights": 2.0,
    "cell_layer_norm_weights": 4.0,
    "output_layer_norm_weights": 8.0,
}


def convolution(scales: tuple[float, ...]) -> Layer:
    network = Network("test")
    x = network.add_input("x", TensorInfo((1, 1, 1, 1), DataType.QASYMM_S8, 0.5))
    info = TensorInfo((len(scales), 1, 1, 1), DataType.QSYMM_S8, scales, axis=0)
    return network.add("Convolution2d", [x, network.add_input("weights", info)])


def q_lstm(d: QLstmDescriptor) -> Layer:
    """Make a QLstm of one unit and one input.

    The input gate and the peepholes are absent.
    """
    network = Network("test")
    values = []
    for slot in LAYERS["QLstm"].inputs:
        name = slot.name
        enabled = {"projection": d.projection_enabled, "layer_norm": d.layer_norm_enabled}
        unused = [part for part, is_enabled in enabled.items() if not is_enabled]
        if re.search("|".join(["to_input", "input_gate", "input_layer", "cell_to", *unused]), name):
            values.append(None)
            continue
        matrix = re.search("^input$|state_in|input_to|recurrent_to|projection_weights", name)
        bias = name.endswith("bias")
        kind = DataType.SIGNED32 if bias else DataType.QSYMM_S8
        info = TensorInfo((1, 1) if matrix else (1,), kind, () if bias else SCALES.get(name, 0.25))
        values.append(network.add_input(name, info))
    return network.add("QLstm", values, d)


def test_steps_of_a_bias_are_those_of_the_products() -> None:
    steps = bias_steps(convolution((0.25, 4.0)), "bias")
    assert steps is not None
    assert steps.tolist() == [0.125, 2]


def test_other_integers_are_no_biases() -> None:
    assert bias_steps(convolution((0.25,)), "indices") is None


@pytest.mark.parametrize("name", ["forget_gate_bias", "cell_bias", "output_gate_bias"])
def test_steps_of_a_gates_bias_are_those_of_its_products(name: str) -> None:
    steps = bias_steps(q_lstm(QLstmDescriptor(hidden_state_scale=2)), name)
    assert steps is not None
    assert steps.tolist() == [0.5 * 0.25]


def sequence(data: DataType, weights: DataType, *, layer_norm: bool = False) -> Layer:
    """Make a sequence LSTM of one unit with coupled gates."""
    network = Network("test")
    shapes = {"input": (1, 1, 1), "output_state_in": (1, 1), "cell_state_in": (1, 1)}
    shapes |= {f"{way}_{gate}_weights": (1, 1) for way in WAYS for gate in GATES}
    biases = ("forget_gate_bias", "cell_bias", "output_gate_bias")
    shapes |= dict.fromkeys(biases, (1,))
    if layer_norm:
        shapes |= {f"{gate}_layer_norm_weights": (1,) for gate in GATES}
    values = []
    for slot in LAYERS["UnidirectionalSequenceLstm"].inputs:
        kind = DataType.SIGNED32 if slot.name in biases else weights
        kind = kind if "_to_" in slot.name or slot.name.endswith(("bias", "norm_weights")) else data
        if slot.name not in shapes:
            values.append(None)
            continue
        scale = SCALES.get(slot.name, 0.25) if kind.is_quantized else ()
        values.append(network.add_input(slot.name, TensorInfo(shapes[slot.name], kind, scale)))
    d = UnidirectionalSequenceLstmDescriptor(layer_norm_enabled=layer_norm)
    return network.add("UnidirectionalSequenceLstm", values, d)


@pytest.mark.parametrize(
    ("data", "weights", "layer_norm", "step"),
    [
        (DataType.QASYMM_S8, DataType.QSYMM_S8, False, 0.5 * 0.25),
        (DataType.FLOAT32, DataType.QSYMM_S8, False, 0.25),
        (DataType.FLOAT32, DataType.FLOAT32, False, 1.0),
        (DataType.FLOAT32, DataType.QSYMM_S8, True, 2 / 1024),
        (DataType.FLOAT32, DataType.FLOAT32, True, 1.0),
    ],
)
def test_floats_count_in_steps_of_one(
    data: DataType, weights: DataType, layer_norm: bool, step: float
) -> None:
    steps = bias_steps(sequence(data, weights, layer_norm=layer_norm), "forget_gate_bias")
    assert steps is not None
    assert steps.tolist() == [step]


def test_layer_normalization_has_its_own_steps() -> None:
    layer = q_lstm(QLstmDescriptor(layer_norm_enabled=True))
    names = ("forget_gate_bias", "cell_bias", "output_gate_bias")
    steps = [bias_steps(layer, name) for name in names]
    assert [None if step is None else step.tolist() for step in steps] == [
        [2 / 1024],
        [4 / 1024],
        [8 / 1024],
    ]


def test_steps_of_a_projections_bias_are_those_of_its_products() -> None:
    steps = bias_steps(
        q_lstm(QLstmDescriptor(projection_enabled=True, hidden_state_scale=2)), "projection_bias"
    )
    assert steps is not None
    assert steps.tolist() == [0.25]
