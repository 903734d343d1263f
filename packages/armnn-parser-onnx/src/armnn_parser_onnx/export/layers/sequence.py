# SPDX-License-Identifier: MIT
"""Writers of sequence layers: Rnn, Gru and SequenceLstm.

They become ONNX's RNN, GRU and LSTM.
"""

from __future__ import annotations

from armnn.types import ActivationFunction, SequenceDirection
from armnn_parser_onnx.export.operation import Operation, exports

_OP_TYPES = {"Rnn": "RNN", "Gru": "GRU", "SequenceLstm": "LSTM"}
_DIRECTIONS = {
    SequenceDirection.FORWARD: "forward",
    SequenceDirection.REVERSE: "reverse",
    SequenceDirection.BIDIRECTIONAL: "bidirectional",
}
_ACTIVATIONS = {
    ActivationFunction.SIGMOID: "Sigmoid",
    ActivationFunction.TANH: "Tanh",
    ActivationFunction.RELU: "Relu",
}


@exports(*_OP_TYPES)
def recurrent(op: Operation) -> tuple[str, ...]:
    """Write the operator in time-major order.

    Every reader of ONNX knows that order.
    """
    d = op.d
    activations = [f for way in range(d.num_directions) for f in d.activations_of(way)]
    for each in activations:
        plain_tanh = each.function is not ActivationFunction.TANH or (each.a, each.b) == (1, 1)
        if each.function not in _ACTIVATIONS or not plain_tanh:
            op.refuse(f"its activation {each.function.arm_name} has no counterpart here")
    states = [name for name in ("output_state_in", "cell_state_in") if _has_slot(op, name)]
    inputs = [
        _time_major(op, op.x),
        op.input("weights"),
        op.input("recurrent_weights"),
        op.input("bias"),
        op.input("sequence_lengths"),
        *(_state(op, op.input(name)) for name in states),
        *([op.input("peephole_weights")] if op.layer.type == "SequenceLstm" else []),
    ]
    y, *finals = op.emit_several(
        len(op.layer.outputs),
        _OP_TYPES[op.layer.type],
        *inputs,
        hidden_size=op.shape("recurrent_weights")[2],
        direction=_DIRECTIONS[d.direction],
        activations=[_ACTIVATIONS[each.function] for each in activations],
        clip=float(d.clip) if d.clip else None,
        linear_before_reset=int(d.linear_before_reset) if op.layer.type == "Gru" else None,
        input_forget=int(d.input_forget) if op.layer.type == "SequenceLstm" else None,
    )
    if not d.time_major:
        # [T,D,N,U] here, [N,T,D,U] there; the states are [D,N,U] and [N,D,U].
        y = op.emit("Transpose", y, perm=[2, 0, 1, 3])
        finals = [op.emit("Transpose", final, perm=[1, 0, 2]) for final in finals]
    return (y, *finals)


def _has_slot(op: Operation, name: str) -> bool:
    return any(slot.name == name for slot in op.layer.spec.inputs)


def _time_major(op: Operation, x: str) -> str:
    if op.d.time_major:
        return x
    return op.emit("Transpose", x, perm=[1, 0, 2])


def _state(op: Operation, state: str) -> str:
    if op.d.time_major or not state:
        return state
    return op.emit("Transpose", state, perm=[1, 0, 2])
