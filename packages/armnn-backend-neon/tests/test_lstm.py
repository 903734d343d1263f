# SPDX-License-Identifier: MIT
"""TensorFlow Lite's LSTM on every level, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataType, Network, TensorInfo
from armnn.errors import ArmnnError
from armnn.layers.recurrent import (
    LstmActivation,
    LstmDescriptor,
    UnidirectionalSequenceLstmDescriptor,
)

Array = NDArray[Any]

GATES = ("input", "forget", "cell", "output")


def parameters(width: int, units: int, d: UnidirectionalSequenceLstmDescriptor) -> dict[str, Array]:
    """Return the parameters that the descriptor needs, by name."""
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


def in_steps(x: Array, scale: float) -> Array:
    """Return numbers rounded to 16-bit steps, halves away from zero."""
    steps = (x / np.float32(scale)).astype(np.float64)
    nearest = np.trunc(steps + np.copysign(0.5, steps))
    return np.float32(np.clip(nearest, -32768, 32767)) * np.float32(scale)


def rounded_step(
    x: Array, h: Array, c: Array, p: dict[str, Array], couples: bool, scale: float
) -> tuple[Array, Array]:
    """Return output and cell, rounded like Arm NN's reference."""

    def gate(name: str, cell: Array | None) -> Array:
        sums = in_steps(p["cell_bias" if name == "cell" else f"{name}_gate_bias"], scale)
        for number, column in zip(x, p[f"input_to_{name}_weights"].T, strict=True):
            sums = in_steps(sums + number * column, scale)
        for number, column in zip(h, p[f"recurrent_to_{name}_weights"].T, strict=True):
            sums = in_steps(sums + number * column, scale)
        if cell is not None and f"cell_to_{name}_weights" in p:
            sums = in_steps(sums + p[f"cell_to_{name}_weights"] * cell, scale)
        made = np.tanh(sums) if name == "cell" else 1 / (1 + np.exp(-sums))
        return in_steps(made, scale)

    keep = gate("forget", c)
    write = in_steps(1 - keep, scale) if couples else gate("input", c)
    c = in_steps(in_steps(keep * c, scale) + write * gate("cell", None), scale)
    return in_steps(gate("output", c) * in_steps(np.tanh(c), scale), scale), c


@pytest.mark.parametrize(
    ("width", "units", "couples", "peephole"),
    [(1, 1, False, False), (3, 5, True, True), (128, 128, False, True)],
)
def test_a_quantised_step_rounds_as_arm_nn_does(
    width: int, units: int, couples: bool, peephole: bool, level: str
) -> None:
    scale, batch = 2.0**-11, 2
    d = LstmDescriptor(
        activation_func=LstmActivation.TANH, cifg_enabled=couples, peephole_enabled=peephole
    )
    like = UnidirectionalSequenceLstmDescriptor(cifg_enabled=couples, peephole_enabled=peephole)
    p = {name: in_steps(values, scale) for name, values in parameters(width, units, like).items()}
    rng = np.random.default_rng(4)
    shapes = ((batch, width), (batch, units), (batch, units))
    data = [in_steps(rng.uniform(-1, 1, shape).astype("f4"), scale) for shape in shapes]

    network = Network()

    def info(array: Array) -> TensorInfo:
        return TensorInfo(array.shape, DataType.QSYMM_S16, scale)

    def stored(array: Array) -> Array:
        return np.rint(array / np.float32(scale)).astype(np.int16)

    operands: list[Any] = [network.add_input(f"x{i}", info(a)) for i, a in enumerate(data)]
    for slot in armnn.layers.LAYERS["Lstm"].inputs[3:]:
        array = p.get(slot.name)
        made = None if array is None else network.add_constant(stored(array), info(array))
        operands.append(made)
    outputs = [TensorInfo(None, DataType.QSYMM_S16, scale)] * 4
    layer = network.add("Lstm", operands, d, outputs=outputs)
    for name, value in zip(("state", "cell", "y"), layer.outputs[1:], strict=True):
        network.add_output(name, value)
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"])
        actual = loaded.run({f"x{i}": stored(array) for i, array in enumerate(data)})
    steps = [rounded_step(x, h, c, p, couples, scale) for x, h, c in zip(*data, strict=True)]
    for name, place in (("state", 0), ("cell", 1), ("y", 0)):
        off = np.abs(actual[name] - stored(np.stack([step[place] for step in steps])).astype(int))
        assert off.max() <= 1  # where a function is a last place off, beside a half
        assert np.count_nonzero(off) <= off.size // 100


def test_a_step_in_eight_bits_is_refused() -> None:
    d = LstmDescriptor(activation_func=LstmActivation.TANH, cifg_enabled=False)
    like = UnidirectionalSequenceLstmDescriptor(cifg_enabled=False)
    p = parameters(2, 3, like)
    network = Network()
    bytes_ = [TensorInfo((1, size), DataType.QASYMM_S8, 0.1) for size in (2, 3, 3)]
    operands: list[Any] = [network.add_input(f"x{i}", each) for i, each in enumerate(bytes_)]
    operands += [
        network.add_constant(p[slot.name]) if slot.name in p else None
        for slot in armnn.layers.LAYERS["Lstm"].inputs[3:]
    ]
    outputs = [TensorInfo(None, DataType.QASYMM_S8, 0.1)] * 4
    network.add_output("y", network.add("Lstm", operands, d, outputs=outputs).outputs[3])
    with pytest.raises(ArmnnError, match="QAsymmS8 is not computed here, QSymmS16 is"):
        armnn.load_model(network, backends=["CpuAcc"])


def test_a_quantised_step_without_units_is_refused() -> None:
    """It once divided by zero units, and crashed."""
    p = parameters(3, 1, UnidirectionalSequenceLstmDescriptor(cifg_enabled=False))
    network = Network()
    steps = [TensorInfo((2, size), DataType.QSYMM_S16, 2.0**-11) for size in (3, 0, 0)]
    operands: list[Any] = [network.add_input(f"x{i}", each) for i, each in enumerate(steps)]
    for slot in armnn.layers.LAYERS["Lstm"].inputs[3:]:
        if slot.name not in p:
            operands.append(None)
            continue
        behind = [0 if slot.name.startswith("recurrent") else n for n in p[slot.name].shape[1:]]
        none = np.zeros((0, *behind), np.int16)
        operands.append(network.add_constant(none, steps[0].with_shape(none.shape)))
    outputs = [steps[0].with_shape(None)] * 4
    d = LstmDescriptor(activation_func=LstmActivation.TANH, cifg_enabled=False)
    network.add_output("y", network.add("Lstm", operands, d, outputs=outputs).outputs[3])
    with pytest.raises(ArmnnError, match="a cell without units is not computed here"):
        armnn.load_model(network, backends=["CpuAcc"])
