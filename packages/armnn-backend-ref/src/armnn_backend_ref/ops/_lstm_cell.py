# SPDX-License-Identifier: MIT
"""One step of a long short-term memory, in real values or in what few bits leave of them.

Names: I is the size of the input, U the number of units, O the size of the output. The cell is that
of Hochreiter and Schmidhuber 1997 with peepholes and projection (Sak et al. 2014), coupled input
and forget gates (Greff et al. 2015) and layer normalisation (Ba et al. 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from armnn.quantization import round_half_away
from armnn_backend_ref.ops._registry import Array

if TYPE_CHECKING:
    from armnn.types import DataType

Function: TypeAlias = Callable[[Array], Array]
Parameters: TypeAlias = Mapping[str, Array]

BIASES = {
    "input": "input_gate_bias",
    "forget": "forget_gate_bias",
    "cell": "cell_bias",
    "output": "output_gate_bias",
}
"""The bias of each gate."""

_LAYER_NORM_EPSILON = 1e-8
"""What Arm NN and TensorFlow Lite take for a variance of zero."""


def same(x: Array) -> Array:
    """Return the values as they are."""
    return x


def sigmoid(x: Array) -> Array:
    y: Array = 1 / (1 + np.exp(-x))
    return y


def clipped(x: Array, limit: float) -> Array:
    """Return the values within -limit..limit; a limit of 0 is none."""
    return np.clip(x, -limit, limit) if limit > 0 else x


def stored(data_type: DataType, scale: float, zero_point: int = 0) -> Function:
    """Return what rounds real values to those that can be stored, as ``quantize`` does."""
    limits = np.iinfo(data_type.numpy_dtype)
    step = np.float32(scale)
    low, high = np.float32(limits.min - zero_point), np.float32(limits.max - zero_point)

    def store(values: Array) -> Array:
        kept: Array = np.clip(round_half_away(values / step), low, high) * step
        return kept

    return store


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What is left of the inner values of a cell that keeps them in few bits.

    Attributes:
        sums: Of a gate while its terms are added up, by gate.
        each_term: Whether it is stored after each term, as Arm NN does, or once.
        normalized: Of a gate that is normalised, and again of it times its weights, by gate.
        biased: Of a normalised gate with its bias.
        activated: Of what comes out of an activation.
        cell: Of the cell.
    """

    sums: Mapping[str, Function]
    each_term: bool = False
    normalized: Mapping[str, Function] = field(default_factory=dict)
    biased: Function = same
    activated: Function = same
    cell: Function = same

    def accumulate(self, gate: str, total: Array, x: Array, weights: Array) -> Array:
        """Return total [batch,U] + x [batch,K] @ weights [U,K] transposed."""
        store = self.sums[gate] if self.each_term else None
        return accumulated(total, x, weights, store)


_UNTOUCHED = dict.fromkeys(BIASES, same)
EXACT = Storage(sums=_UNTOUCHED, normalized=_UNTOUCHED)
"""Nothing is rounded."""


def accumulated(total: Array, x: Array, weights: Array, store: Function | None) -> Array:
    """Return total + x [batch,K] @ weights [U,K] transposed, stored after each of the K terms.

    Rounding each partial sum is what Arm NN's reference does; a sum that is rounded once would be
    many steps away from it. The loop is over the terms of one sum, not over its elements.
    """
    if store is None:
        result: Array = total + x @ weights.T
        return result
    for term, column in zip(x.T, weights.T, strict=True):
        total = store(total + term[:, np.newaxis] * column)
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The parameters and options of a cell.

    Attributes:
        parameters: Weights [U,I], [U,O] and biases [U] by the names of the layer's inputs.
        coupled: Whether the input gate is one minus the forget gate.
        peephole: Whether the gates see the cell.
        layer_norm: Whether the gates are normalised before their bias is added.
        activation: Of the cell candidate and of the cell on its way to the output.
        clip: Where the cell is clipped; 0 for nowhere.
        storage: What is left of its inner values.
    """

    parameters: Parameters
    coupled: bool = False
    peephole: bool = False
    layer_norm: bool = False
    activation: Function = np.tanh
    clip: float = 0.0
    storage: Storage = EXACT

    def step(self, x: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        """Return output [batch,U], before its projection, and cell [batch,U] of one step."""
        keep = self.storage
        forget = keep.activated(sigmoid(self._gate("forget", x, hidden, cell)))
        if self.coupled:
            write = keep.activated(1 - forget)
        else:
            write = keep.activated(sigmoid(self._gate("input", x, hidden, cell)))
        candidate = keep.activated(self.activation(self._gate("cell", x, hidden, None)))
        cell = keep.cell(keep.cell(forget * cell) + write * candidate)
        cell = keep.cell(clipped(cell, self.clip))
        show = keep.activated(sigmoid(self._gate("output", x, hidden, cell)))
        return show * keep.activated(self.activation(cell)), cell

    def _gate(self, name: str, x: Array, hidden: Array, cell: Array | None) -> Array:
        """Return what enters the activation of a gate; ``cell`` is what its peephole shows."""
        keep = self.storage
        store = keep.sums[name]
        bias = self.parameters[BIASES[name]]
        y = np.zeros_like(bias) if self.layer_norm else store(bias)
        y = keep.accumulate(name, y, x, self.parameters[f"input_to_{name}_weights"])
        y = keep.accumulate(name, y, hidden, self.parameters[f"recurrent_to_{name}_weights"])
        if self.peephole and cell is not None:
            y = y + self.parameters[f"cell_to_{name}_weights"] * cell
        y = store(y)
        if not self.layer_norm:
            return y
        store = keep.normalized[name]
        y = store(store(_standardized(y)) * self.parameters[f"{name}_layer_norm_weights"])
        return keep.biased(y + bias)


def _standardized(x: Array) -> Array:
    """Give each row a mean of zero and a variance of one; a row of equal numbers becomes zeros."""
    centred: Array = x - x.mean(-1, keepdims=True)
    variance = np.square(centred).mean(-1, keepdims=True)
    centred /= np.sqrt(np.where(variance == 0, x.dtype.type(_LAYER_NORM_EPSILON), variance))
    return centred
