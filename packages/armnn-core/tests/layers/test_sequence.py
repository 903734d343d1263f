# SPDX-License-Identifier: MIT
from __future__ import annotations

import pytest

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.types import ActivationFunction, SequenceDirection

BOTH = {"direction": SequenceDirection.BIDIRECTIONAL}
TANH = ActivationFunction.TANH


@pytest.mark.parametrize(("name", "gates"), [("Rnn", 1), ("Gru", 3), ("SequenceLstm", 4)])
def test_time_major_outputs_are_those_of_onnx(infer, onnx_shapes, name, gates):
    operands = [(5, 2, 3), (2, gates * 4, 3), (2, gates * 4, 4)]
    infos = infer(name, operands, time_major=True, **BOTH)
    op = {"Rnn": "RNN", "Gru": "GRU", "SequenceLstm": "LSTM"}[name]
    expected = onnx_shapes(
        op, operands, outputs=len(infos), hidden_size=4, direction="bidirectional"
    )
    assert [info.shape for info in infos] == expected


def test_batch_major_outputs_have_the_batch_first(infer):
    output, hidden, cell = infer("SequenceLstm", [("n", "t", 3), (1, 16, 3), (1, 16, 4)])
    assert output.shape == ("n", "t", 1, 4)
    assert hidden.shape == cell.shape == ("n", 1, 4)


@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ([(5, 2, 3), (2, 4, 3), (1, 4, 4)], r"'weights' has shape \[2,4,3\]: expected \[1,4,3\]"),
        ([(5, 2, 3), (1, 4, 3), (1, 5, 4)], r"'recurrent_weights' has .*: expected \[1,4,4\]"),
        ([(5, 2, 3), (1, 4, 3), (1, 4, 4), (1, 4)], r"'bias' has .*: expected \[1,8\]"),
        ([(5, 2, 3), (1, 4, 3), (1, 4, 4), None, (2,)], r"'sequence_lengths' .*expected \[5\]"),
        (
            [(5, 2, 3), (1, 4, 3), (1, 4, 4), None, None, (1, 5, 4)],
            r"'output_state_in' has .*: expected \[5,1,4\]",
        ),
        ([(5, 2), (1, 4, 3), (1, 4, 4)], r"'input' has shape \[5,2\]: expected rank 3"),
    ],
)
def test_what_does_not_fit_is_refused(infer, operands, message):
    with pytest.raises(ShapeError, match=message):
        infer("Rnn", operands)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("Gru", {"activations": (TANH,)}, "got 1 activations, .* expected 2 of each"),
        ("Rnn", {"activation_a": ()}, "0 activation_a and 1 activation_b, expected 1 of each"),
        (
            "Gru",
            {"activations": (TANH,) * 3, **BOTH},
            "got 3 activations, 2 activation_a and 2 activation_b, expected 2 or 4 of each",
        ),
        ("Rnn", {"clip": -1.0}, "'clip' is -1.0, expected at least 0"),
    ],
)
def test_parameters_out_of_range_are_refused(infer, name, parameters, message):
    with pytest.raises(InvalidArgumentError, match=message):
        infer(name, [], **parameters)


def test_the_batch_of_reversed_sequences_has_a_length_for_each_item(infer):
    assert infer("ReverseSequence", [("t", "n", 3), ("n",)])[0].shape == ("t", "n", 3)
    with pytest.raises(ShapeError, match=r"'sequence_lengths' has shape \[2\]: expected \[3\]"):
        infer("ReverseSequence", [(2, 3), (2,)])
    with pytest.raises(ShapeError, match="the axis 1 is both that of the batch and that of time"):
        infer("ReverseSequence", [(2, 3), (2,)], time_axis=-1)
