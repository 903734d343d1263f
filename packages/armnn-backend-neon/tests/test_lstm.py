# SPDX-License-Identifier: MIT
"""TensorFlow Lite's LSTM on every level, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import DataType, Network, TensorInfo
from armnn.layers.recurrent import LstmActivation, UnidirectionalSequenceLstmDescriptor

Array = NDArray[Any]
Descriptor = UnidirectionalSequenceLstmDescriptor
Sizes = tuple[int, int, int, int, int]

GATES = ("input", "forget", "cell", "output")


def bias_name(gate: str) -> str:
    return "cell_bias" if gate == "cell" else f"{gate}_gate_bias"


def parameters(sizes: Sizes, d: Descriptor) -> dict[str, Array]:
    """Return the parameters that the descriptor needs, by name."""
    *_, width, units, numbers = sizes
    shapes: dict[str, tuple[int, ...]] = {}
    for gate in GATES[int(d.cifg_enabled) :]:
        shapes[f"input_to_{gate}_weights"] = (units, width)
        shapes[f"recurrent_to_{gate}_weights"] = (units, numbers)
        shapes[bias_name(gate)] = (units,)
        if d.peephole_enabled and gate != "cell":
            shapes[f"cell_to_{gate}_weights"] = (units,)
        if d.layer_norm_enabled:
            shapes[f"{gate}_layer_norm_weights"] = (units,)
    if d.projection_enabled:
        shapes["projection_weights"] = (numbers, units)
        shapes["projection_bias"] = (numbers,)
    rng = np.random.default_rng(2)
    return {name: rng.uniform(-0.5, 0.5, shape).astype("f4") for name, shape in shapes.items()}


def clipped(x: Array, limit: float) -> Array:
    return np.clip(x, -limit, limit) if limit else x


def expected(
    x: Array, states: tuple[Array, Array], p: dict[str, Array], d: Descriptor
) -> tuple[Array, Array, Array]:
    """Return the outputs of [T,N,I], the last output and cell."""
    h, c = (state.astype(np.float64) for state in states)
    outputs = np.zeros((len(x), *h.shape))

    def gate(name: str, step: Array, cell: Array) -> Array:
        sums = step @ p[f"input_to_{name}_weights"].T + h @ p[f"recurrent_to_{name}_weights"].T
        sums = sums + cell * p.get(f"cell_to_{name}_weights", 0.0)
        if d.layer_norm_enabled:
            spread = sums.std(-1, keepdims=True)
            sums = (sums - sums.mean(-1, keepdims=True)) / np.where(spread == 0, 1, spread)
            sums = sums * p[f"{name}_layer_norm_weights"]
        sums = sums + p[bias_name(name)]
        return np.tanh(sums) if name == "cell" else 1 / (1 + np.exp(-sums))

    for place, step in enumerate(x.astype(np.float64)):
        keep = gate("forget", step, c)
        write = 1 - keep if d.cifg_enabled else gate("input", step, c)
        c = clipped(keep * c + write * gate("cell", step, c), d.clipping_thres_cell)
        h = gate("output", step, c) * np.tanh(c)
        if d.projection_enabled:
            h = clipped(
                h @ p["projection_weights"].T + p.get("projection_bias", 0.0), d.clipping_thres_proj
            )
        outputs[place] = h
    return outputs, h, c


def network(
    sizes: Sizes, d: Descriptor, p: dict[str, Array], data_type: DataType = DataType.FLOAT32
) -> Network:
    steps, batch, width, units, numbers = sizes
    result = Network()
    first = (steps, batch) if d.time_major else (batch, steps)
    x = result.add_input("x", TensorInfo((*first, width), data_type))
    h = result.add_input("h", TensorInfo((batch, numbers), data_type))
    c = result.add_input("c", TensorInfo((batch, units), data_type))
    given = {
        name: result.add_constant(array.astype(data_type.numpy_dtype)) for name, array in p.items()
    }
    names = [slot.name for slot in armnn.layers.LAYERS["UnidirectionalSequenceLstm"].inputs[3:]]
    layer = result.add("UnidirectionalSequenceLstm", [x, h, c, *map(given.get, names)], d)
    for name, value in zip(("last", "cell", "y"), layer.outputs, strict=True):
        result.add_output(name, value)
    return result


def assert_follows_the_equations(
    sizes: Sizes, d: Descriptor, p: dict[str, Array], data_type: DataType = DataType.FLOAT32
) -> None:
    """Compare outputs and states with float64."""
    steps, batch, width, units, numbers = sizes
    rng = np.random.default_rng(1)
    dtype = data_type.numpy_dtype
    x = rng.standard_normal((steps, batch, width), np.float32).astype(dtype)
    h, c = (rng.uniform(-1, 1, (batch, n)).astype(dtype) for n in (numbers, units))
    outputs, last, cell = expected(x, (h, c), p, d)
    given = x if d.time_major else np.ascontiguousarray(x.swapaxes(0, 1))
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network(sizes, d, p, data_type), backends=["CpuAcc"])
        actual = loaded.run({"x": given, "h": h, "c": c})
    y = actual["y"] if d.time_major else actual["y"].swapaxes(0, 1)
    for made, wanted in ((y, outputs), (actual["last"], last), (actual["cell"], cell)):
        assert made.dtype == dtype
        error = (1e-5, 2e-6) if data_type == DataType.FLOAT32 else (1e-12, 1e-13)
        np.testing.assert_allclose(made, wanted, *error)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (5, 2, 3, 33), (3, 1, 40, 130)])
@pytest.mark.parametrize(
    "options",
    [
        {"cifg_enabled": False},
        {"cifg_enabled": True, "peephole_enabled": True},
        {"cifg_enabled": False, "peephole_enabled": True, "clipping_thres_cell": 0.1},
        {"cifg_enabled": True, "time_major": True},
        {"cifg_enabled": True, "layer_norm_enabled": True},
        {"cifg_enabled": False, "layer_norm_enabled": True, "peephole_enabled": True},
    ],
)
def test_sequences_follow_the_equations(
    sizes: tuple[int, int, int, int], options: dict[str, Any], level: str
) -> None:
    d = Descriptor(activation_func=LstmActivation.TANH, **options)
    whole = (*sizes, sizes[-1])
    assert_follows_the_equations(whole, d, parameters(whole, d))


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1, 1), (4, 2, 3, 33, 17), (3, 1, 40, 130, 7), (2, 3, 5, 4, 9)]
)
@pytest.mark.parametrize(
    "options",
    [
        {"cifg_enabled": False},
        {"cifg_enabled": True, "clipping_thres_proj": 0.05, "time_major": True},
        {"cifg_enabled": False, "layer_norm_enabled": True, "peephole_enabled": True},
    ],
)
def test_a_projection_follows_the_equations(
    sizes: Sizes, options: dict[str, Any], level: str
) -> None:
    d = Descriptor(activation_func=LstmActivation.TANH, projection_enabled=True, **options)
    assert_follows_the_equations(sizes, d, parameters(sizes, d))


def test_a_projection_may_have_no_bias() -> None:
    d = Descriptor(activation_func=LstmActivation.TANH, projection_enabled=True)
    sizes = (2, 2, 3, 5, 4)
    p = parameters(sizes, d)
    del p["projection_bias"]
    assert_follows_the_equations(sizes, d, p)


def test_equal_sums_are_normalized_to_zeros() -> None:
    """Their variance is zero."""
    d = Descriptor(activation_func=LstmActivation.TANH, layer_norm_enabled=True)
    sizes = (2, 2, 3, 5, 5)
    p = parameters(sizes, d)
    zeros = {name: np.zeros_like(p[name]) for name in p if "_to_" in name}
    assert_follows_the_equations(sizes, d, p | zeros)


@pytest.mark.parametrize("projection", [False, True])
def test_no_steps_leave_the_states(projection: bool) -> None:
    d = Descriptor(activation_func=LstmActivation.TANH, projection_enabled=projection)
    sizes = (0, 2, 3, 5, 4 if projection else 5)
    assert_follows_the_equations(sizes, d, parameters(sizes, d))


def test_threads_share_the_steps_of_one_sequence(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "3")
    d = Descriptor(activation_func=LstmActivation.TANH, projection_enabled=True)
    sizes = (3, 1, 40, 600, 300)
    p = {name: array / np.float32(10) for name, array in parameters(sizes, d).items()}
    assert_follows_the_equations(sizes, d, p)


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1, 1), (4, 2, 3, 33, 17), (3, 1, 40, 130, 7)])
@pytest.mark.parametrize(
    "options",
    [
        {"cifg_enabled": False, "clipping_thres_cell": 0.1, "clipping_thres_proj": 0.05},
        {"cifg_enabled": True, "layer_norm_enabled": True, "peephole_enabled": True},
    ],
)
def test_float64_is_computed_in_float64(sizes: Sizes, options: dict[str, Any]) -> None:
    d = Descriptor(activation_func=LstmActivation.TANH, projection_enabled=True, **options)
    assert_follows_the_equations(sizes, d, parameters(sizes, d), DataType.FLOAT64)


def test_threads_share_a_sequence_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_THREADS", "3")
    sizes = (3, 2, 40, 60, 60)
    d = Descriptor(activation_func=LstmActivation.TANH, cifg_enabled=False)
    assert_follows_the_equations(sizes, d, parameters(sizes, d), DataType.FLOAT64)
