# SPDX-License-Identifier: MIT
"""Layers over whole sequences: Rnn, Gru, SequenceLstm, DynamicQuantizeLstm, ReverseSequence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from armnn.errors import ExecutionError
from armnn.layers.activation import ActivationDescriptor
from armnn.layers.sequence import (
    DynamicQuantizeLstmDescriptor,
    GruDescriptor,
    ReverseSequenceDescriptor,
    RnnDescriptor,
    SequenceLstmDescriptor,
)
from armnn.types import SequenceDirection
from armnn_backend_ref.ops._registry import Array, op
from armnn_backend_ref.ops.activation import activation
from armnn_backend_ref.ops.quantizing import dynamic_steps

RecurrentDescriptor = RnnDescriptor | GruDescriptor | SequenceLstmDescriptor

Function: TypeAlias = Callable[[Array], Array]
Product: TypeAlias = Callable[[int, Array], Array]
"""From a direction and rows of numbers to the rows times that direction's weights."""
Cell: TypeAlias = Callable[[Array, tuple[Array, ...]], tuple[Array, ...]]
"""Computes a step: from the gates' share of x, [N,gates*U], and the states, the new states."""


@op("Rnn")
def rnn(
    d: RnnDescriptor,
    x: Array,
    weights: Array,
    recurrent: Array,
    bias: Array | None,
    lengths: Array | None,
    state: Array | None,
) -> tuple[Array, ...]:
    """Return the outputs of all steps, and the last one."""

    def cell(way: int) -> Cell:
        (f,) = _activations(d, way)
        offset = 0 if bias is None else sum(np.split(bias[way], 2))

        def step(added: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
            return (f(added + states[0] @ recurrent[way].T + offset),)

        return step

    return _read(d, x, _times(weights), lengths, (state,), cell, recurrent.shape[2])


@op("Gru")
def gru(
    d: GruDescriptor,
    x: Array,
    weights: Array,
    recurrent: Array,
    bias: Array | None,
    lengths: Array | None,
    state: Array | None,
) -> tuple[Array, ...]:
    """Return the outputs of all steps, and the last one."""

    def cell(way: int) -> Cell:
        f, g = _activations(d, way)
        of_z, of_r, of_h = np.split(recurrent[way], 3)
        blocks = [0.0] * 6 if bias is None else np.split(bias[way], 6)

        def step(added: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
            (h,) = states
            z_added, r_added, h_added = np.split(added, 3, axis=-1)
            z = f(z_added + h @ of_z.T + (blocks[0] + blocks[3]))
            r = f(r_added + h @ of_r.T + (blocks[1] + blocks[4]))
            if d.linear_before_reset:
                seen = r * (h @ of_h.T + blocks[5])
            else:
                seen = (r * h) @ of_h.T + blocks[5]
            candidate = g(h_added + seen + blocks[2])
            return ((1 - z) * candidate + z * h,)

        return step

    return _read(d, x, _times(weights), lengths, (state,), cell, recurrent.shape[2])


@op("SequenceLstm")
def sequence_lstm(
    d: SequenceLstmDescriptor,
    x: Array,
    weights: Array,
    recurrent: Array,
    bias: Array | None,
    lengths: Array | None,
    state: Array | None,
    memory: Array | None,
    peepholes: Array | None,
) -> tuple[Array, ...]:
    """Return all outputs, the last output, the last cell state."""
    products = _times(weights), _times(recurrent)
    units = recurrent.shape[2]
    return _lstm(d, x, products, bias, lengths, (state, memory), peepholes, units)


@op("DynamicQuantizeLstm")
def dynamic_quantize_lstm(
    d: DynamicQuantizeLstmDescriptor,
    x: Array,
    weights: Array,
    recurrent: Array,
    bias: Array | None,
    lengths: Array | None,
    state: Array | None,
    memory: Array | None,
    peepholes: Array | None,
    *steps: Array,
) -> tuple[Array, ...]:
    """Return all outputs, the last output, the last cell state."""
    of_input = _times_bytes(weights, *steps[:2])
    of_item = _times_bytes(recurrent, *steps[2:])

    def of_state(way: int, rows: Array) -> Array:
        items = [of_item(way, row[np.newaxis]) for row in rows]
        return np.concatenate(items) if items else of_item(way, rows)

    units = recurrent.shape[1]
    products = of_input, of_state
    return _lstm(d, x, products, bias, lengths, (state, memory), peepholes, units)


def _lstm(
    d: SequenceLstmDescriptor,
    x: Array,
    products: tuple[Product, Product],
    bias: Array | None,
    lengths: Array | None,
    states: tuple[Array | None, Array | None],
    peepholes: Array | None,
    units: int,
) -> tuple[Array, ...]:
    of_input, of_state = products

    def cell(way: int) -> Cell:
        f, g, k = _activations(d, way)
        offset = 0 if bias is None else sum(np.split(bias[way], 2))
        p_i, p_o, p_f = [0.0] * 3 if peepholes is None else np.split(peepholes[way], 3)

        def step(added: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
            h, c = states
            gates = added + of_state(way, h) + offset
            i_gate, o_gate, f_gate, c_gate = np.split(gates, 4, axis=-1)
            write = f(i_gate + p_i * c)
            keep = 1 - write if d.input_forget else f(f_gate + p_f * c)
            c = keep * c + write * g(c_gate)
            return f(o_gate + p_o * c) * k(c), c

        return step

    return _read(d, x, of_input, lengths, states, cell, units)


def _times(weights: Array) -> Product:
    return lambda way, rows: rows @ weights[way].T


def _times_bytes(weights: Array, scales: Array, zero_points: Array) -> Product:
    """Return the product of rows, rounded together, with weights [D,K,columns] of bytes."""

    def product(way: int, rows: Array) -> Array:
        steps, scale, zero_point = dynamic_steps(rows)
        left = steps.astype(np.float64) - zero_point  # sums of whole numbers are exact in it
        right = weights[way].astype(np.float64) - zero_points[way]
        result: Array = (left @ right).astype(rows.dtype) * (scale * scales[way])
        return result

    return product


@op("ReverseSequence")
def reverse_sequence(d: ReverseSequenceDescriptor, x: Array, lengths: Array) -> Array:
    """Reverse the first steps of each item.

    Raises:
        ExecutionError: An item has fewer steps than are to be reversed.
    """
    axes = (d.time_axis, d.batch_axis)
    steps = np.moveaxis(x, axes, (0, 1))
    return np.moveaxis(_reversed(steps, lengths), (0, 1), axes)


def _activations(d: RecurrentDescriptor, way: int) -> list[Function]:
    """Return the activations of one direction, with clipped inputs."""
    return [partial(_activated, each, d.clip) for each in d.activations_of(way)]


def _activated(d: ActivationDescriptor, clip: float, x: Array) -> Array:
    return activation(d, np.clip(x, -clip, clip) if clip else x)


def _read(
    d: RecurrentDescriptor,
    x: Array,
    product: Product,
    lengths: Array | None,
    given: Sequence[Array | None],
    cell: Callable[[int], Cell],
    units: int,
) -> tuple[Array, ...]:
    """Run a cell over the steps in each direction.

    Args:
        d: The descriptor.
        x: The input.
        product: The product that the steps add to the gates.
        lengths: How many steps of each item count; None for all.
        given: The states before the first step; None for zeros.
        cell: Makes the cell of a direction.
        units: How many numbers the output of a step has.
    """
    steps = x if d.time_major else x.swapaxes(0, 1)
    outputs, finals = [], []
    for way in range(d.num_directions):
        states = tuple(
            np.zeros((steps.shape[1], units), x.dtype)
            if state is None
            else (state[way] if d.time_major else state[:, way])
            for state in given
        )
        backward = way == 1 or d.direction is SequenceDirection.REVERSE
        seen = _reversed(steps, lengths) if backward else steps
        output, states = _scan(cell(way), product(way, seen), lengths, states)
        outputs.append(_reversed(output, lengths) if backward else output)
        finals.append(states)
    axis = 1 if d.time_major else 2
    output = np.stack(outputs if d.time_major else [o.swapaxes(0, 1) for o in outputs], axis)
    return (
        output,
        *(np.stack(ways, 0 if d.time_major else 1) for ways in zip(*finals, strict=True)),
    )


def _scan(
    cell: Cell, added: Array, lengths: Array | None, states: tuple[Array, ...]
) -> tuple[Array, tuple[Array, ...]]:
    """Return all outputs, and the final states of each item."""
    outputs = np.zeros((*added.shape[:2], states[0].shape[1]), np.result_type(added, states[0]))
    for time, step in enumerate(added):
        behind = cell(step, states)
        if lengths is None:
            states = behind
            outputs[time] = states[0]
        else:
            going = (time < lengths)[:, np.newaxis]
            states = tuple(
                np.where(going, new, old) for new, old in zip(behind, states, strict=True)
            )
            outputs[time] = np.where(going, states[0], 0)
    return outputs, states


def _reversed(steps: Array, lengths: Array | None) -> Array:
    """Reverse the steps [T,N,...] of each item within its length.

    Raises:
        ExecutionError: A length is not that of an item.
    """
    if lengths is None:
        return steps[::-1]
    times = np.arange(len(steps))[:, np.newaxis]
    wrong = (lengths < 0) | (lengths > len(steps))
    if wrong.any():
        raise ExecutionError(
            f"the sequence length {int(lengths[wrong][0])} is not that of an item: expected 0 to "
            f"{len(steps)}"
        )
    order = np.where(times < lengths, lengths - 1 - times, times)
    return steps[order, np.arange(steps.shape[1])]
