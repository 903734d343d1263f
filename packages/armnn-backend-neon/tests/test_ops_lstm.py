# SPDX-License-Identifier: MIT
"""TensorFlow Lite's long short-term memory on every level, against its equations in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataType, Network, TensorInfo
from armnn.errors import ArmnnError
from armnn.layers.recurrent import LstmActivation, UnidirectionalSequenceLstmDescriptor

Array = NDArray[Any]

GATES = ("input", "forget", "cell", "output")


def parameters(width: int, units: int, d: UnidirectionalSequenceLstmDescriptor) -> dict[str, Array]:
    """Return the parameters that the descriptor asks for, by their names."""
    shapes: dict[str, tuple[int, ...]] = {}
    for gate in GATES[int(d.cifg_enabled) :]:
        shapes[f"input_to_{gate}_weights"] = (units, width)
        shapes[f"recurrent_to_{gate}_weights"] = (units, units)
        shapes["cell_bias" if gate == "cell" else f"{gate}_gate_bias"] = (units,)
        if d.peephole_enabled and gate != "cell":
            shapes[f"cell_to_{gate}_weights"] = (units,)
    rng = np.random.default_rng(2)
    return {name: rng.uniform(-0.5, 0.5, shape).astype("f4") for name, shape in shapes.items()}


def expected(x: Array, p: dict[str, Array], d: UnidirectionalSequenceLstmDescriptor) -> Array:
    """Return the outputs of all steps of [T,N,I]."""
    units = p["cell_bias"].size
    h = np.zeros((x.shape[1], units))
    c = h.copy()
    outputs = []

    def gate(name: str, step: Array, cell: Array) -> Array:
        bias = p["cell_bias" if name == "cell" else f"{name}_gate_bias"]
        sums = step @ p[f"input_to_{name}_weights"].T + h @ p[f"recurrent_to_{name}_weights"].T
        sums = sums + bias + cell * p.get(f"cell_to_{name}_weights", 0.0)
        return np.tanh(sums) if name == "cell" else 1 / (1 + np.exp(-sums))

    for step in x.astype(np.float64):
        keep = gate("forget", step, c)
        write = 1 - keep if d.cifg_enabled else gate("input", step, c)
        c = keep * c + write * gate("cell", step, c)
        if d.clipping_thres_cell:
            c = np.clip(c, -d.clipping_thres_cell, d.clipping_thres_cell)
        h = gate("output", step, c) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs)


def network(
    sizes: tuple[int, int, int, int], d: UnidirectionalSequenceLstmDescriptor, p: dict[str, Array]
) -> Network:
    steps, batch, width, units = sizes
    result = Network()
    first = (steps, batch) if d.time_major else (batch, steps)
    x = result.add_input("x", TensorInfo((*first, width), DataType.FLOAT32))
    states = [result.add_constant(np.zeros((batch, units), np.float32)) for _ in range(2)]
    given = {name: result.add_constant(array) for name, array in p.items()}
    names = [slot.name for slot in armnn.layers.LAYERS["UnidirectionalSequenceLstm"].inputs[3:]]
    operands = [x, *states, *map(given.get, names)]
    layer = result.add("UnidirectionalSequenceLstm", operands, d)
    result.add_output("y", layer.outputs[2])
    return result


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (5, 2, 3, 33), (3, 1, 40, 130)])
@pytest.mark.parametrize(
    "options",
    [
        {"cifg_enabled": False},
        {"cifg_enabled": True, "peephole_enabled": True},
        {"cifg_enabled": False, "peephole_enabled": True, "clipping_thres_cell": 0.1},
        {"cifg_enabled": True, "time_major": True},
    ],
)
def test_sequences_follow_the_equations(
    sizes: tuple[int, int, int, int],
    options: dict[str, Any],
    level: str,
) -> None:
    d = UnidirectionalSequenceLstmDescriptor(activation_func=LstmActivation.TANH, **options)
    p = parameters(sizes[2], sizes[3], d)
    x = np.random.default_rng(1).standard_normal(sizes[:3], np.float32)
    reference = expected(x, p, d)
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network(sizes, d, p), backends=["CpuAcc"])
        swap = (lambda a: a) if d.time_major else (lambda a: np.ascontiguousarray(a.swapaxes(0, 1)))
        actual = swap(loaded.run({"x": swap(x)})["y"])
    np.testing.assert_allclose(actual, reference, rtol=1e-5, atol=2e-6)


def test_a_projection_is_refused() -> None:
    d = UnidirectionalSequenceLstmDescriptor(
        activation_func=LstmActivation.TANH, cifg_enabled=False, projection_enabled=True
    )
    p = parameters(3, 4, d) | {"projection_weights": np.eye(4, dtype=np.float32)}
    with pytest.raises(ArmnnError, match="projection and layer normalisation are not computed"):
        armnn.load_model(network((2, 1, 3, 4), d, p), backends=["CpuAcc"])
