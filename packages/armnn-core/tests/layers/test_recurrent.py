# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import ShapeError
from armnn.tensor import TensorInfo
from armnn.types import DataType

N, T, I, U, O = 2, 7, 3, 4, 5  # noqa: E741 (the letters of the documentation)
GATES = ("forget", "cell", "output")
FLAGS = ("cifg_enabled", "peephole_enabled", "projection_enabled", "layer_norm_enabled")


def _operands(input_shape, *, input_gate=False, peephole=False, projection=False, norm=False):
    gates = ("input", *GATES) if input_gate else GATES
    outputs = O if projection else U
    operands = {"input": input_shape, "output_state_in": (N, outputs), "cell_state_in": (N, U)}
    for gate in gates:
        operands[f"input_to_{gate}_weights"] = (U, I)
        operands[f"recurrent_to_{gate}_weights"] = (U, outputs)
        operands["cell_bias" if gate == "cell" else f"{gate}_gate_bias"] = (U,)
        if peephole and gate != "cell":
            operands[f"cell_to_{gate}_weights"] = (U,)
        if norm:
            operands[f"{gate}_layer_norm_weights"] = (U,)
    if projection:
        operands |= {"projection_weights": (O, U), "projection_bias": (O,)}
    return operands


def _shapes(infos):
    return [info.shape for info in infos]


def test_coupled_gates_need_less_scratch(infer):
    outputs = _shapes(infer("Lstm", _operands((N, I))))
    assert outputs == [(N, 3 * U), (N, U), (N, U), (N, U)]
    outputs = _shapes(infer("Lstm", _operands((N, I), input_gate=True), cifg_enabled=False))
    assert outputs == [(N, 4 * U), (N, U), (N, U), (N, U)]


def test_a_projection_changes_the_size_of_the_output(infer):
    operands = _operands((N, I), projection=True)
    outputs = _shapes(infer("Lstm", operands, projection_enabled=True))
    assert outputs == [(N, 3 * U), (N, O), (N, U), (N, O)]


@pytest.mark.parametrize("input_gate", [False, True])
def test_all_options_work_together(infer, input_gate):
    operands = _operands((N, I), input_gate=input_gate, peephole=True, projection=True, norm=True)
    flags = dict(zip(FLAGS, (not input_gate, True, True, True), strict=True))
    scratch = (4 if input_gate else 3) * U
    assert _shapes(infer("Lstm", operands, **flags)) == [(N, scratch), (N, O), (N, U), (N, O)]


@pytest.mark.parametrize(
    ("time_major", "input_shape", "expected"),
    [
        (False, (N, T, I), (N, T, U)),
        (True, (T, N, I), (T, N, U)),
        (False, (N, "t", I), (N, "t", U)),
    ],
)
def test_a_sequence_has_an_output_for_each_step(infer, time_major, input_shape, expected):
    infos = infer("UnidirectionalSequenceLstm", _operands(input_shape), time_major=time_major)
    assert _shapes(infos) == [(N, U), (N, U), expected]


def test_states_have_the_types_of_the_step_before(infer):
    operands = _operands(TensorInfo((N, I), DataType.QASYMM_S8, 0.1, 2), projection=True)
    state = TensorInfo((N, O), DataType.QASYMM_S8, 0.2, 3)
    cell = TensorInfo((N, U), DataType.QSYMM_S16, 0.3)
    operands |= {"output_state_in": state, "cell_state_in": cell}
    assert infer("QLstm", operands, projection_enabled=True) == (state, cell, state)


def test_the_oldest_quantized_cell_has_two_outputs(infer):
    gates = ("input", *GATES)
    operands = {
        "input": TensorInfo((N, I), DataType.QASYMM_U8, 0.1, 128),
        "previous_cell_state_in": TensorInfo((N, U), DataType.QSYMM_S16, 0.3),
        "previous_output_in": TensorInfo((N, U), DataType.QASYMM_U8, 0.2, 3),
        **{f"input_to_{gate}_weights": (U, I) for gate in gates},
        **{f"recurrent_to_{gate}_weights": (U, U) for gate in gates},
        **{"cell_bias" if g == "cell" else f"{g}_gate_bias": (U,) for g in gates},
    }
    assert infer("QuantizedLstm", operands) == (
        operands["previous_cell_state_in"],
        operands["previous_output_in"],
    )
    with pytest.raises(ShapeError, match=r"'cell_bias' has shape \[5\]: expected \[4\]"):
        infer("QuantizedLstm", operands | {"cell_bias": (5,)})


def test_unknown_sizes_are_carried(infer):
    operands = _operands(("n", I)) | {"output_state_in": ("n", U), "cell_state_in": ("n", U)}
    assert _shapes(infer("Lstm", operands)) == [("n", 3 * U), ("n", U), ("n", U), ("n", U)]
    operands |= {"cell_state_in": ("n", None)}
    assert _shapes(infer("Lstm", operands)) == [("n", None), ("n", U), ("n", None), ("n", U)]


@pytest.mark.parametrize("name", ["Lstm", "QLstm"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"input": (N, I, 1)}, r"'input' has shape \[2,3,1\]: expected rank 2"),
        ({"output_state_in": (N + 1, U)}, r"'output_state_in' has shape \[3,4\]: expected \[2,4\]"),
        ({"cell_state_in": (N + 1, U)}, r"'cell_state_in' has shape \[3,4\]: expected \[2,4\]"),
        ({"input_to_cell_weights": (U, I + 1)}, r"'input_to_cell_weights' .*expected \[4,3\]"),
        ({"recurrent_to_cell_weights": (U, O)}, r"'recurrent_to_cell_weights' .*expected \[4,4\]"),
        ({"forget_gate_bias": (O,)}, r"'forget_gate_bias' has shape \[5\]: expected \[4\]"),
        ({"projection_weights": (O, O)}, r"'projection_weights' .*expected \[4,4\]"),
        ({"projection_bias": (O,)}, r"'projection_bias' has shape \[5\]: expected \[4\]"),
        ({"cell_to_output_weights": (O,)}, r"'cell_to_output_weights' .*expected \[4\]"),
        ({"cell_layer_norm_weights": (O,)}, r"'cell_layer_norm_weights' .*expected \[4\]"),
    ],
)
def test_parameters_must_fit_the_states(infer, name, change, message):
    with pytest.raises(ShapeError, match=message):
        infer(name, _operands((N, I)) | change)


@pytest.mark.parametrize(
    ("given", "flags", "message"),
    [
        (
            {},
            {"cifg_enabled": False},
            "'input_to_input_weights' is missing, but cifg_enabled is Fa",
        ),
        ({"input_gate": True}, {}, "'input_to_input_weights' is given, but cifg_enabled is True"),
        ({}, {"peephole_enabled": True}, "'cell_to_forget_weights' is missing, .*peephole_enabled"),
        ({"peephole": True}, {}, "'cell_to_forget_weights' is given"),
        ({}, {"projection_enabled": True}, "'projection_weights' is missing"),
        ({"projection": True}, {}, "'projection_weights' is given"),
        ({}, {"layer_norm_enabled": True}, "'forget_layer_norm_weights' is missing"),
        ({"norm": True}, {}, "'forget_layer_norm_weights' is given"),
    ],
)
def test_parameters_are_those_that_the_flags_speak_of(infer, given, flags, message):
    with pytest.raises(ShapeError, match=message):
        infer("Lstm", _operands((N, I), **given), **flags)


def test_a_projection_needs_no_bias(infer):
    operands = _operands((N, I), projection=True)
    del operands["projection_bias"]
    assert _shapes(infer("QLstm", operands, projection_enabled=True)) == [(N, O), (N, U), (N, O)]
