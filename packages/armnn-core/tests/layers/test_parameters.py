# SPDX-License-Identifier: MIT
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from armnn.errors import InvalidArgumentError
from armnn.graph import Network
from armnn.layers import LAYERS, Descriptor, descriptor
from armnn.layers._descriptor import parameters_of
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, PaddingMethod, PoolingAlgorithm, SequenceDirection

MAX = PoolingAlgorithm.MAX


def pooled(**parameters: Any) -> Any:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 1, 4, 4)))
    sizes = {"pool_width": 2, "pool_height": 2, **parameters}
    return network.add_pooling2d(x, **sizes).producer.descriptor


@pytest.mark.parametrize("name", LAYERS)
def test_the_default_of_each_parameter_is_what_it_is_converted_to(name: str) -> None:
    for parameter, default, convert, what in parameters_of(LAYERS[name].descriptor):
        converted = convert(default, what)
        assert (repr(converted), type(converted)) == (repr(default), type(default)), parameter


@pytest.mark.parametrize("said", [MAX, "Max", "MAX", 0, np.int64(0), np.uint8(0)])
def test_a_member_is_given_as_itself_or_by_name_or_number(said: object) -> None:
    assert pooled(pool_type=said).pool_type is MAX


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"pool_type": "max"}, "'pool_type' is 'max', .*Max, Average, L2; did you mean 'Max'"),
        ({"pool_type": "Avreage"}, "did you mean 'Average'"),
        ({"pool_type": 99}, "Pooling2d.*'pool_type' is 99, expected one of Max, Average, L2$"),
        ({"pool_type": -1}, "is -1, expected one of"),
        ({"pool_type": True}, "is True, expected one of"),
        ({"pool_type": 0.0}, r"is 0.0, expected one of"),
        ({"pool_type": None}, "is None, expected one of"),
        ({"pool_type": b"Max"}, "is b'Max', expected one of"),
        ({"pool_type": PaddingMethod.EXCLUDE}, "is PaddingMethod.EXCLUDE, expected one of Max"),
        ({"pool_type": PoolingAlgorithm}, "is the class PoolingAlgorithm, expected one of Max"),
        ({"padding_method": "IgnoreValu"}, "'padding_method' .* did you mean 'IgnoreValue'"),
        ({"data_layout": "NCDHW"}, "'data_layout' is NCDHW, expected one of NCHW, NHWC"),
    ],
)
def test_what_is_no_member_is_refused_when_the_layer_is_added(
    parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        pooled(**parameters)


def test_names_and_numbers_are_kept_as_members() -> None:
    made = pooled(padding_method="IgnoreValue", data_layout="NHWC", output_shape_rounding=1)
    assert made.padding_method is PaddingMethod.IGNORE_VALUE
    assert made.data_layout is DataLayout.NHWC
    assert made == pooled(
        padding_method=PaddingMethod.IGNORE_VALUE,
        data_layout=DataLayout.NHWC,
        output_shape_rounding=made.output_shape_rounding,
    )


def test_several_members_are_given_by_names() -> None:
    kind = LAYERS["SequenceLstm"].descriptor
    made = kind.of(direction="Forward", activations=["Sigmoid", "TANH", 1])
    assert made == kind.of(direction=SequenceDirection.FORWARD, activations=(0, 1, 1))
    with pytest.raises(InvalidArgumentError, match=r"element 1, is 'Tan', expected .*'TanH'"):
        kind.of(activations=["Sigmoid", "Tan", "TanH"])


WHOLE = [(2, 2), (np.int8(2), 2), (np.uint64(2), 2), (np.array(2), 2), (2**63 - 1, 2**63 - 1)]


@pytest.mark.parametrize(("said", "kept"), WHOLE)
def test_whole_numbers_become_int(said: object, kept: int) -> None:
    stride = pooled(stride_x=said).stride_x
    assert (stride, type(stride)) == (kept, int)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (2.0, "'stride_x' is 2.0, expected a whole number; write 2$"),
        (2.5, "is 2.5, expected a whole number$"),
        (np.float32(2), "expected a whole number; write 2$"),
        (math.nan, "is nan, expected a whole number$"),
        (math.inf, "is inf, expected a whole number$"),
        (True, "is True, expected a whole number$"),
        (np.True_, "expected a whole number$"),
        ("2", "is '2', expected a whole number$"),
        (None, "is None, expected a whole number$"),
        ([2], r"is \[2\], expected a whole number$"),
        (np.array([2]), r"is an array of int64\[1\], expected a whole number$"),
        (MAX, "is PoolingAlgorithm.MAX, expected a whole number$"),
        (np.timedelta64(2, "s"), "expected a whole number$"),
        (2**63, "is 9223372036854775808, expected a number that fits 64 bits"),
        (-(2**63) - 1, "expected a number that fits 64 bits"),
    ],
)
def test_other_values_are_no_whole_numbers(said: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        pooled(stride_x=said)


@pytest.mark.parametrize(
    ("said", "kept"),
    [(6, 6.0), (np.float32(0.5), 0.5), (np.int16(-3), -3.0), (np.array(0.5), 0.5),
     (np.longdouble(0.5), 0.5), (math.inf, math.inf)],
)  # fmt: skip
def test_numbers_become_float(said: object, kept: float) -> None:
    made: Any = LAYERS["Activation"].descriptor.of(function="ReLu", a=said)
    assert (made.a, type(made.a)) == (kept, float)


def test_nan_is_a_number_that_a_pad_may_write_but_no_size() -> None:
    made: Any = LAYERS["Pad"].descriptor.of(pad_list=[[0, 0]], pad_value=np.nan)
    assert math.isnan(made.pad_value)
    with pytest.raises(InvalidArgumentError, match="'clip' is nan, expected at least 0"):
        LAYERS["Rnn"].descriptor.of(clip=math.nan)


def test_a_whole_number_that_no_float_is_stays_exact() -> None:
    made: Any = LAYERS["Pad"].descriptor.of(pad_list=[[0, 0]], pad_value=2**53 + 1)
    assert made.pad_value == 9007199254740993


@pytest.mark.parametrize("said", ["0.5", True, None, [0.5], np.array([0.5]), 1j, 2**1100])
def test_other_values_are_no_numbers(said: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"the parameter 'a' is .*expected a number"):
        LAYERS["Activation"].descriptor.of(a=said)


@pytest.mark.parametrize("said", [True, np.True_, 1, np.int32(1), np.array(True)])
def test_flags_are_true_and_false_and_what_onnx_writes_for_them(said: object) -> None:
    assert LAYERS["Mean"].descriptor.of(keep_dims=said).keep_dims is True  # type: ignore[attr-defined]  # Mean has it


@pytest.mark.parametrize("said", [2, -1, "True", "", None, 1.0, [], [True], MAX])
def test_other_values_are_no_flags(said: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"'keep_dims' is .*expected True or False"):
        LAYERS["Mean"].descriptor.of(keep_dims=said)


@pytest.mark.parametrize("said", [(1, -1), [1, -1], range(1, -2, -2), np.array([1, -1])])
def test_tuples_come_from_whatever_has_an_order(said: object) -> None:
    assert LAYERS["Mean"].descriptor.of(axis=said).axis == (1, -1)  # type: ignore[attr-defined]  # Mean has it


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (1, "'axis' is 1, expected a list of whole numbers$"),
        (None, "'axis' is None, expected a list of whole numbers$"),
        ("12", "'axis' is '12', expected a list of whole numbers$"),
        (b"12", "'axis' is b'12', expected a list"),
        ({1, 2}, "'axis' is a set, expected a list"),
        ({1: 2}, "'axis' is {1: 2}, expected a list"),
        (np.array(1), r"'axis' is an array of int64\[\], expected a list"),
        ([1, 2.0], "'axis', element 1, is 2.0, expected a whole number; write 2$"),
        ([[1]], r"'axis', element 0, is \[1\], expected a whole number$"),
        (np.array([0.5]), "'axis', element 0, is 0.5, expected a whole number$"),
        (object(), "'axis' is an object, expected a list"),
        (lambda: 0, "'axis' is a function, expected a list"),
    ],
)
def test_what_makes_no_tuple_is_refused(said: object, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"MeanDescriptor: the parameter {message}"):
        LAYERS["Mean"].descriptor.of(axis=said)


def test_texts_are_texts() -> None:
    kind = LAYERS["Einsum"].descriptor
    made: Any = kind.of(equation=np.str_("ij->ji"))
    assert (made.equation, type(made.equation)) == ("ij->ji", str)
    with pytest.raises(InvalidArgumentError, match="'equation' is b'ij->ji', expected a text"):
        kind.of(equation=b"ij->ji")


def test_a_field_of_another_type_is_a_mistake_of_whoever_declares_it() -> None:
    @descriptor
    class OddDescriptor(Descriptor):
        odd: complex = 1j

    with pytest.raises(TypeError, match="a parameter of a layer cannot be complex"):
        OddDescriptor()
