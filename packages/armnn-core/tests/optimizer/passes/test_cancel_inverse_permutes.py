# SPDX-License-Identifier: MIT
"""Permutations that undo each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from named_pass import named_pass

from armnn.graph import Network, Value
from armnn.tensor import TensorInfo
from armnn.types import DataType

cancel_inverse_permutes = named_pass("cancel_inverse_permutes")

NCHW_TO_NHWC = (0, 2, 3, 1)
NHWC_TO_NCHW = (0, 3, 1, 2)
SHAPE = (2, 3, 4, 5)


def types(network: Network) -> list[str]:
    return [layer.type for layer in network.topological_order()]


def network_of(
    *kinds_and_orders: tuple[str, tuple[int, ...]], info: TensorInfo | None = None
) -> Network:
    """Return a chain of permutations, in NumPy's order."""
    network = Network()
    value = network.add_input("x", TensorInfo(SHAPE) if info is None else info)
    for number, (kind, order) in enumerate(kinds_and_orders):
        value = permuted(network, value, kind, order, f"p{number}")
    network.add_output("y", value)
    return network


def permuted(
    network: Network, value: Value, kind: str, order: tuple[int, ...], name: str | None = None
) -> Value:
    if kind == "Transpose":
        return network.add_transpose(value, dim_mappings=order, name=name)
    return network.add_permute(value, dim_mappings=tuple(np.argsort(order).tolist()), name=name)


@pytest.mark.parametrize("first", ["Transpose", "Permute"])
@pytest.mark.parametrize("second", ["Transpose", "Permute"])
def test_a_permutation_and_its_inverse_go(first: str, second: str) -> None:
    network = network_of((first, NCHW_TO_NHWC), (second, NHWC_TO_NCHW))
    assert cancel_inverse_permutes(network) > 0
    assert types(network) == ["Input", "Output"]
    assert network.outputs[0].input_infos == (TensorInfo(SHAPE),)


@pytest.mark.parametrize("kind", ["Transpose", "Permute"])
def test_a_permutation_that_moves_nothing_goes(kind: str) -> None:
    network = network_of((kind, (0, 1, 2, 3)))
    assert cancel_inverse_permutes(network) == 1
    assert types(network) == ["Input", "Output"]


def test_permutations_that_do_not_cancel_become_the_last_one(compute) -> None:
    network = network_of(("Permute", (1, 2, 3, 0)), ("Transpose", (1, 0, 3, 2)))
    x = np.arange(120.0).reshape(SHAPE)
    assert cancel_inverse_permutes(network) == 1
    assert types(network) == ["Input", "Transpose", "Output"]
    assert network.find("p1").descriptor.dim_mappings == (2, 1, 0, 3)
    np.testing.assert_array_equal(
        compute(network, {"x": x})["y"], x.transpose(1, 2, 3, 0).transpose(1, 0, 3, 2)
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(["Transpose", "Permute"]), st.permutations(range(4)).map(tuple)),
        max_size=5,
    )
)
def test_any_chain_becomes_at_most_one_layer_with_the_same_result(chain) -> None:
    network = network_of(*chain)
    expected = np.arange(120).reshape(SHAPE)
    for _, order in chain:
        expected = expected.transpose(order)
    cancel_inverse_permutes(network)
    left = [layer for layer in network.layers if layer.type not in ("Input", "Output")]
    moved = np.arange(120).reshape(SHAPE)
    for layer in left:
        mappings = layer.descriptor.dim_mappings
        moved = moved.transpose(mappings if layer.type == "Transpose" else np.argsort(mappings))
    assert len(left) <= 1
    np.testing.assert_array_equal(moved, expected)
    assert network.outputs[0].input_infos[0].shape == expected.shape
    assert cancel_inverse_permutes(network) == 0


def test_unknown_dimensions_and_ranks_do_not_hinder() -> None:
    for shape in (("N", 3, None, None), None):
        network = network_of(
            ("Permute", NCHW_TO_NHWC), ("Transpose", NHWC_TO_NCHW), info=TensorInfo(shape)
        )
        assert cancel_inverse_permutes(network) > 0
        assert types(network) == ["Input", "Output"]


def test_a_permutation_that_others_read_stays_for_them() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE))
    shared = network.add_transpose(x, dim_mappings=NCHW_TO_NHWC, name="shared")
    back = network.add_transpose(shared, dim_mappings=NHWC_TO_NCHW)
    network.add_output("y", network.add_activation(back, name="y_act"))
    network.add_output("z", shared)
    assert cancel_inverse_permutes(network) > 0
    assert network.find("y_act").inputs == (x,)
    assert network.outputs[1].inputs == (shared,)
    assert types(network).count("Transpose") == 1


def test_permutations_meant_for_different_backends_stay() -> None:
    network = network_of(("Transpose", NCHW_TO_NHWC), ("Transpose", NHWC_TO_NCHW))
    network.find("p0").backend_hint = "A"
    network.find("p1").backend_hint = "B"
    assert cancel_inverse_permutes(network) == 0
    network.find("p0").backend_hint = None
    assert cancel_inverse_permutes(network) > 0


def test_a_merged_permutation_keeps_the_hint_of_the_last_one() -> None:
    network = network_of(("Transpose", NCHW_TO_NHWC), ("Transpose", NCHW_TO_NHWC))
    network.find("p1").backend_hint = "B"
    assert cancel_inverse_permutes(network) == 1
    assert network.find("p1").backend_hint == "B"


@pytest.mark.parametrize("scales", [(0.5, 0.25, 0.5), (0.5, 0.25, 0.25), (0.5, 0.5, 0.25)])
def test_a_permutation_that_changes_the_quantization_stays(scales) -> None:
    network = Network()
    source, between, last = (
        TensorInfo(shape, DataType.QASYMM_U8, scale, 10)
        for shape, scale in zip([SHAPE, (2, 4, 5, 3), SHAPE], scales, strict=True)
    )
    x = network.add_input("x", source)
    moved = network.add_transpose(x, dim_mappings=NCHW_TO_NHWC, output=between)
    network.add_output("y", network.add_transpose(moved, dim_mappings=NHWC_TO_NCHW, output=last))
    assert cancel_inverse_permutes(network) == 0


def test_an_identity_that_changes_the_quantization_stays() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((2,), DataType.QASYMM_U8, 0.5))
    other = TensorInfo((2,), DataType.QASYMM_U8, 0.25)
    network.add_output("y", network.add_transpose(x, dim_mappings=(0,), output=other))
    assert cancel_inverse_permutes(network) == 0


def test_a_permutation_between_equal_shapes_stays() -> None:
    network = network_of(("Transpose", (1, 0)), info=TensorInfo((3, 3)))
    assert cancel_inverse_permutes(network) == 0


def test_quantized_permutations_of_one_scale_cancel() -> None:
    info = TensorInfo(SHAPE, DataType.QASYMM_U8, 0.5, 10)
    network = network_of(("Transpose", NCHW_TO_NHWC), ("Permute", NHWC_TO_NCHW), info=info)
    assert cancel_inverse_permutes(network) > 0
    assert network.outputs[0].input_infos == (info,)


def test_what_stands_between_two_permutations_keeps_them_apart() -> None:
    network = Network()
    x = network.add_input("x", TensorInfo(SHAPE))
    moved = network.add_transpose(x, dim_mappings=NCHW_TO_NHWC)
    softmax = network.add_softmax(moved)
    network.add_output("y", network.add_transpose(softmax, dim_mappings=NHWC_TO_NCHW))
    assert cancel_inverse_permutes(network) == 0
