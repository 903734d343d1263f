# SPDX-License-Identifier: MIT
"""What is the same in every run is computed once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from armnn.graph import Layer, Network
from armnn.optimizer.passes.cleanup import SMALL_RESULT, fold_constants
from armnn.quantization import dequantize, quantize
from armnn.tensor import TensorInfo
from armnn.types import DataType


def evaluate(layer: Layer, _spare: np.ndarray | None = None) -> Sequence[np.ndarray] | None:
    """Compute a few layers, as a backend would."""
    arrays = [value.constant for value in layer.inputs if value is not None]
    match layer.type:
        case "Addition":
            return [arrays[0] + arrays[1]]
        case "Transpose":
            return [arrays[0].transpose(layer.descriptor.dim_mappings)]
        case "Dequantize":
            return [dequantize(arrays[0], layer.inputs[0].info)]
        case "Quantize":
            return [quantize(arrays[0], layer.output.info)]
        case "BroadcastTo":
            return [np.broadcast_to(arrays[0], layer.output.info.static_shape).copy()]
        case "Splitter":
            return np.split(arrays[0], np.cumsum(layer.descriptor.sizes)[:-1], 0)
        case "Shape":
            return [np.array(arrays[0].shape, layer.output.info.data_type.numpy_dtype)]
        case _:
            return None


def constant(network: Network, *shape: int) -> object:
    return network.add_constant(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))


def test_a_layer_of_constants_becomes_a_constant_of_its_name() -> None:
    network = Network()
    total = network.add_addition(constant(network, 2, 3), np.float32([1, 2, 3]), name="total")
    network.add_output("y", total)
    info = total.info
    assert fold_constants(network, evaluate) == 1
    made = network.find("total")
    assert made.type == "Constant"
    assert made.output.info == info
    np.testing.assert_array_equal(made.data, [[1, 3, 5], [4, 6, 8]])
    assert [layer.type for layer in network.layers] == ["Output", "Constant"]
    assert fold_constants(network, evaluate) == 0


def test_a_chain_is_computed_in_one_go() -> None:
    network = Network()
    moved = network.add_transpose(constant(network, 2, 3), dim_mappings=(1, 0))
    total = network.add_addition(moved, moved, name="total")
    network.add_output("y", total)
    assert fold_constants(network, evaluate) == 2
    np.testing.assert_array_equal(network.find("total").data, [[0, 6], [2, 8], [4, 10]])


def test_constants_that_others_read_stay_for_them() -> None:
    network = Network()
    shared = constant(network, 2, 2)
    x = network.add_input("x", TensorInfo((2, 2)))
    network.add_output("y", network.add_addition(x, shared, name="live"))
    network.add_output("z", network.add_addition(shared, shared))
    assert fold_constants(network, evaluate) == 1
    assert network.find("live").inputs == (x, shared)


def test_a_layer_with_an_input_that_is_computed_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2, 2)))
    network.add_output("y", network.add_addition(x, constant(network, 2, 2)))
    assert fold_constants(network, evaluate) == 0


def test_a_layer_that_nothing_can_compute_stays() -> None:
    network = Network()
    network.add_output("y", network.add_floor(constant(network, 2)))
    assert fold_constants(network, evaluate) == 0


def test_quantized_weights_become_real_ones_and_back() -> None:
    network = Network()
    info = TensorInfo((2, 2), DataType.QSYMM_S8, (0.5, 2.0), axis=0)
    weights = network.add_constant(np.int8([[1, 2], [3, -4]]), info)
    real = network.add_dequantize(weights, name="real")
    network.add_output("real", real)
    stored = TensorInfo((2, 2), DataType.QASYMM_U8, 0.5, 20)
    network.add_output("stored", network.add_quantize(real, name="stored", output=stored))
    assert fold_constants(network, evaluate) == 2
    np.testing.assert_array_equal(network.find("real").data, [[0.5, 1], [6, -8]])
    np.testing.assert_array_equal(network.find("stored").data, np.uint8([[21, 22], [32, 4]]))
    assert network.find("stored").output.info == stored


def test_every_output_of_a_layer_becomes_a_constant() -> None:
    network = Network()
    parts = network.add_splitter(constant(network, 3, 2), axis=0, sizes=(1, 2), name="parts")
    for number, part in enumerate(parts):
        network.add_output(f"y{number}", part)
    assert fold_constants(network, evaluate) == 1
    first, second = (layer.inputs[0] for layer in network.outputs)
    assert (first.name, second.name) == ("parts:0", "parts:1")
    np.testing.assert_array_equal(first.constant, [[0, 1]])
    np.testing.assert_array_equal(second.constant, [[2, 3], [4, 5]])


@pytest.mark.parametrize(("elements", "changes"), [(SMALL_RESULT, 1), (SMALL_RESULT + 1, 0)])
def test_a_result_much_larger_than_its_inputs_is_not_kept(elements: int, changes: int) -> None:
    network = Network()
    wide = network.add_broadcast_to(constant(network, 1), broadcast_to_shape=(elements,))
    network.add_output("y", wide)
    assert fold_constants(network, evaluate) == changes


def test_a_large_result_of_large_inputs_is_kept() -> None:
    network = Network()
    large = constant(network, SMALL_RESULT + 1)
    network.add_output("y", network.add_addition(large, large))
    assert fold_constants(network, evaluate) == 1


def test_a_small_fact_about_a_large_constant_is_kept() -> None:
    network = Network()
    network.add_output("y", network.add_shape(constant(network, 3, 2), name="shape"))
    assert fold_constants(network, evaluate) == 1
    assert network.find("shape").data.tolist() == [3, 2]


def test_what_a_debug_layer_shows_is_computed_in_each_run() -> None:
    network = Network()
    network.add_output("y", network.add("Debug", [constant(network, 2)]).output)
    assert fold_constants(network, lambda layer: [layer.inputs[0].constant]) == 0


def test_parameters_that_come_as_inputs_wait_until_they_are_in_place() -> None:
    network = Network()
    shape = network.add_constant(np.int64([3, 2]))
    network.add_output("y", network.add_reshape(constant(network, 2, 3), shape))
    assert fold_constants(network, lambda _: [np.zeros((3, 2), np.float32)]) == 0


def test_inputs_and_constants_themselves_stay() -> None:
    network = Network()
    network.add_output("x", network.add_input("x", TensorInfo((2,))))
    network.add_output("c", constant(network, 2))
    assert fold_constants(network, evaluate) == 0


def test_a_result_whose_shape_is_not_known_is_not_computed() -> None:
    network = Network()
    total = network.add_addition(constant(network, 2), constant(network, 2))
    total.info = TensorInfo((None,))
    network.add_output("y", total)
    assert fold_constants(network, evaluate) == 0


def spares_of(network: Network, *, copies: bool) -> list[str]:
    """Fold; return which layers might write where an input is."""
    found: list[str] = []

    def watch(layer: Layer, spare: np.ndarray | None = None) -> Sequence[np.ndarray] | None:
        if spare is not None:
            assert spare is layer.inputs[0].constant
            found.append(layer.name)
        results = evaluate(layer)
        return [each.copy() for each in results or ()] if copies else results

    fold_constants(network, watch)
    return found


@pytest.mark.parametrize("copies", [True, False])
def test_what_only_the_pass_has_may_be_written_over(copies: bool) -> None:
    network = Network()
    kept = constant(network, 2, 3)
    moved = network.add_transpose(kept, dim_mappings=(1, 0), name="moved")
    total = network.add_addition(moved, np.float32(1), name="total")
    network.add_output("y", network.add_addition(total, np.float32(2), name="end"))
    # A view of what was there before the pass is not its own.
    assert spares_of(network, copies=copies) == (["total", "end"] if copies else ["end"])


def test_what_another_layer_reads_is_not_written_over() -> None:
    network = Network()
    moved = network.add_transpose(constant(network, 2, 3), dim_mappings=(1, 0))
    network.add_output("y", network.add_addition(moved, np.float32(1)))
    network.add_output("z", moved)
    assert spares_of(network, copies=True) == []
    np.testing.assert_array_equal(network.find("Transpose_1").data, [[0, 3], [1, 4], [2, 5]])
