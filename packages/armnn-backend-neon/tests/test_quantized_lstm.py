# SPDX-License-Identifier: MIT
"""Steps of LSTMs with rounded inner values, on every level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    QLstmDescriptor,
)

Array = NDArray[Any]
Parameters = Mapping[str, Array]

GATES = ("input", "forget", "cell", "output")
S16, S8, U8, S32 = (
    DataType.QSYMM_S16,
    DataType.QASYMM_S8,
    DataType.QASYMM_U8,
    DataType.SIGNED32,
)
ALL_OPTIONS = {"peephole_enabled": True, "projection_enabled": True, "layer_norm_enabled": True}
FINE = TensorInfo(None, S16, 2.0**-12)


@dataclass(frozen=True)
class Kept:
    """A grid of stored values; no scale: everything is kept."""

    scale: float = 0.0
    zero: int = 0
    data_type: DataType = S16

    def __call__(self, x: Array) -> Array:
        """Return numbers rounded to the steps, halves away from zero."""
        if not self.scale:
            return x
        limits = np.iinfo(self.data_type.numpy_dtype)
        steps = (x.astype(np.float32) / np.float32(self.scale)).astype(np.float64)
        nearest = np.trunc(steps + np.copysign(0.5, steps))
        bounded = np.clip(nearest, limits.min - self.zero, limits.max - self.zero)
        return bounded.astype(np.float32) * np.float32(self.scale)


@dataclass(frozen=True)
class Rules:
    """Grids of a cell's inner values in Arm NN's reference."""

    sums: Mapping[str, Kept]
    normalized: Mapping[str, Kept]
    biased: Kept
    activated: Kept
    cell: Kept
    shown: Kept
    projected: Kept
    output: Kept = Kept()
    cell_clip: float = 0.0
    projection_clip: float = 0.0


def bias_name(gate: str) -> str:
    return "cell_bias" if gate == "cell" else f"{gate}_gate_bias"


def added(total: Array, x: Array, weights: Array, keep: Kept) -> Array:
    """Return total + weights @ x, rounded after each term."""
    for number, column in zip(x, weights.T, strict=True):
        total = keep(total + number * column)
    return total


def stepped(
    x: Array, h: Array, c: Array, p: Parameters, rules: Rules, couples: bool
) -> tuple[Array, Array]:
    """Return output and cell of one item after a step."""
    normalizes = "forget_layer_norm_weights" in p

    def gate(name: str, cell: Array) -> Array:
        keep, bias = rules.sums[name], p[bias_name(name)]
        sums = keep(np.zeros_like(bias) if normalizes else bias)
        sums = added(sums, x, p[f"input_to_{name}_weights"], keep)
        sums = added(sums, h, p[f"recurrent_to_{name}_weights"], keep)
        sums = keep(sums + p.get(f"cell_to_{name}_weights", np.float32(0)) * cell)
        if normalizes:
            grid, real = rules.normalized[name], sums.astype(np.float64)
            sums = grid(((real - real.mean()) / (real.std() or 1.0)).astype(np.float32))
            sums = rules.biased(grid(sums * p[f"{name}_layer_norm_weights"]) + bias)
        real = sums.astype(np.float64)
        return rules.activated(np.tanh(real) if name == "cell" else 1 / (1 + np.exp(-real)))

    keep = gate("forget", c)
    write = rules.activated(1 - keep) if couples else gate("input", c)
    c = rules.cell(rules.cell(keep * c) + write * gate("cell", c))
    if rules.cell_clip:
        c = rules.cell(np.clip(c, -rules.cell_clip, rules.cell_clip))
    y = rules.shown(gate("output", c) * rules.activated(np.tanh(c.astype(np.float64))))
    if "projection_weights" in p:
        bias = p.get("projection_bias", np.zeros(len(p["projection_weights"]), np.float32))
        y = added(rules.projected(bias), y, p["projection_weights"], rules.projected)
        y = np.clip(y, -(rules.projection_clip or np.inf), rules.projection_clip or np.inf)
    return rules.output(y), c


def stored(x: Array, info: TensorInfo) -> Array:
    steps = np.rint(x.astype(np.float64) / np.float32(info.scale)) + info.zero_point
    limits = np.iinfo(info.data_type.numpy_dtype)
    bounded: Array = np.clip(steps, limits.min, limits.max)
    return bounded.astype(info.data_type.numpy_dtype)


def real(steps: Array, info: TensorInfo) -> Array:
    return (steps.astype(np.int64) - info.zero_point).astype(np.float32) * np.float32(info.scale)


@dataclass(frozen=True)
class Step:
    """A layer of one step with its data."""

    layer_type: str
    descriptor: Any
    data: Mapping[str, tuple[Array, TensorInfo]]
    parameters: Mapping[str, tuple[Array, TensorInfo]]
    outputs: list[TensorInfo]

    def run(self) -> dict[str, Array]:
        network = Network()
        values: dict[str, Any] = {
            name: network.add_input(name, info.with_shape(array.shape))
            for name, (array, info) in self.data.items()
        }
        for name, (array, info) in self.parameters.items():
            values[name] = network.add_constant(array, info.with_shape(array.shape))
        spec = armnn.layers.LAYERS[self.layer_type]
        operands = [values.get(slot.name) for slot in spec.inputs]
        layer = network.add(self.layer_type, operands, self.descriptor, outputs=self.outputs)
        for slot, value in zip(spec.outputs, layer.outputs, strict=True):
            network.add_output(slot.name, value)
        with armnn.Runtime() as runtime:
            loaded = runtime.load_model(network, backends=["CpuAcc"])
            return {
                name: np.array(y)
                for name, y in loaded.run({n: x for n, (x, _) in self.data.items()}).items()
            }

    def expected(self, rules: Rules, steps_of: Mapping[str, float]) -> tuple[Array, Array]:
        """Return outputs and cells of the batch, in reals.

        Args:
            rules: Of the layer.
            steps_of: What a step of each Signed32 bias is worth.
        """
        p: dict[str, Array] = {}
        for name, (array, info) in self.parameters.items():
            is_bias = info.data_type is S32
            p[name] = (
                np.asarray(array * steps_of[name], np.float32) if is_bias else real(array, info)
            )
        x, h, c = (real(*each) for each in self.data.values())
        couples = "input_to_input_weights" not in p
        items = [stepped(*item, p, rules, couples) for item in zip(x, h, c, strict=True)]
        outputs, cells = zip(*items, strict=True)
        return np.stack(outputs), np.stack(cells)


def assert_nearly(actual: Array, expected: Array, info: TensorInfo) -> None:
    """Compare stored values with reals: a step off is rare.

    It is where a function is a last place off, beside a half.
    """
    off = np.abs(actual - stored(expected, info).astype(int))
    assert off.max(initial=0) <= 1
    assert np.count_nonzero(off) <= off.size // 100


def shapes_of(d: Any, width: int, units: int, numbers: int) -> dict[str, tuple[int, ...]]:
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
    return shapes


def drawn(shape: tuple[int, ...], seed: int, info: TensorInfo, reach: float) -> Array:
    return stored(np.random.default_rng(seed).uniform(-reach, reach, shape), info)


SIZES = [(1, 1, 1, 1), (2, 3, 5, 4), (1, 7, 17, 40), (3, 40, 67, 20)]
"""Batch, width, units and numbers of an output behind a projection."""


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    "options",
    [
        {"cifg_enabled": False},
        {"cifg_enabled": True, "peephole_enabled": True, "clipping_thres_cell": 0.25},
        {"cifg_enabled": False, "projection_enabled": True, "clipping_thres_proj": 0.3},
        {"cifg_enabled": True, **ALL_OPTIONS},
    ],
)
def test_an_lstm_in_16_bits_rounds_as_arm_nn_does(
    sizes: tuple[int, int, int, int], options: dict[str, Any], level: str
) -> None:
    batch, width, units, numbers = sizes
    d = LstmDescriptor(activation_func=LstmActivation.TANH, **options)
    numbers = numbers if d.projection_enabled else units
    gates, cells, weights = FINE, TensorInfo(None, S16, 2.0**-11), TensorInfo(None, S16, 0.00037)
    data = {
        name: (drawn((batch, n), seed, info, 1.0), info)
        for seed, (name, n, info) in enumerate(
            [
                ("input", width, FINE),
                ("output_state_in", numbers, FINE),
                ("cell_state_in", units, cells),
            ]
        )
    }
    parameters = {
        name: (drawn(shape, seed, weights, 0.4), weights)
        for seed, (name, shape) in enumerate(shapes_of(d, width, units, numbers).items(), 10)
    }
    step = Step("Lstm", d, data, parameters, [gates, gates, cells, gates])
    grid = Kept(gates.scale)
    rules = Rules(
        sums=dict.fromkeys(GATES, grid),
        normalized=dict.fromkeys(GATES, grid),
        biased=grid,
        activated=grid,
        cell=Kept(cells.scale),
        shown=grid,
        projected=grid,
        cell_clip=d.clipping_thres_cell,
        projection_clip=d.clipping_thres_proj,
    )
    output, cell = step.expected(rules, {})
    actual = step.run()
    assert_nearly(actual["output"], output, gates)
    assert_nearly(actual["cell_state_out"], cell, cells)
    np.testing.assert_array_equal(actual["output"], actual["output_state_out"])


Q_LSTM = QLstmDescriptor(
    cifg_enabled=False,
    input_intermediate_scale=2.0**-11,
    forget_intermediate_scale=2.0**-12,
    cell_intermediate_scale=0.0003,
    output_intermediate_scale=2.0**-10,
    hidden_state_scale=2.0**-7,
    hidden_state_zero_point=3,
)


def q_lstm(d: QLstmDescriptor, sizes: tuple[int, int, int, int]) -> Step:
    batch, width, units, numbers = sizes
    numbers = numbers if d.projection_enabled else units
    x, h = TensorInfo(None, S8, 2.0**-6, 5), TensorInfo(None, S8, 2.0**-7, -9)
    c = TensorInfo(None, S16, 2.0**-11)
    data = {
        "input": (drawn((batch, width), 1, x, 1.0), x),
        "output_state_in": (drawn((batch, numbers), 2, h, 0.8), h),
        "cell_state_in": (drawn((batch, units), 3, c, 3.0), c),
    }
    parameters = {}
    for seed, (name, shape) in enumerate(shapes_of(d, width, units, numbers).items(), 10):
        if name.endswith("bias"):
            info = TensorInfo(None, S32)
            reach = 40 if name == "projection_bias" else 2**24
            array = np.random.default_rng(seed).integers(-reach, reach, shape).astype(np.int32)
        elif name.startswith("cell_to") or "layer_norm" in name:
            info = TensorInfo(None, S16, 2.0**-15)
            array = drawn(shape, seed, info, 0.9)
        else:
            info = TensorInfo(None, DataType.QSYMM_S8, 2.0**-8)
            array = drawn(shape, seed, info, 0.3)
        parameters[name] = (array, info)
    out = TensorInfo(None, S8, 2.0**-7, -9)
    return Step("QLstm", d, data, parameters, [out, c, out])


def q_lstm_rules(step: Step) -> tuple[Rules, dict[str, float]]:
    """Return how the layer rounds, and its biases' steps."""
    d = step.descriptor
    infos = {name: info for name, (_, info) in {**step.data, **step.parameters}.items()}
    scales = {name: info.scale for name, info in infos.items() if info.is_quantized}
    norms = {gate: scales.get(f"{gate}_layer_norm_weights", 0.0) for gate in GATES}
    cell = Kept(scales["cell_state_in"])
    rules = Rules(
        sums={gate: Kept(getattr(d, f"{gate}_intermediate_scale")) for gate in GATES},
        normalized={gate: Kept(scales["input"] * norms[gate] * 1024) for gate in GATES},
        biased=Kept(1 / 4096),
        activated=cell,
        cell=cell,
        shown=Kept(d.hidden_state_scale, d.hidden_state_zero_point, S8),
        projected=Kept(step.outputs[2].scale, step.outputs[2].zero_point),
        cell_clip=d.cell_clip,
        projection_clip=d.projection_clip,
    )
    steps = {bias_name(gate): norms[gate] / 1024 for gate in GATES}
    return rules, {
        **steps,
        "projection_bias": d.hidden_state_scale * scales.get("projection_weights", 0.0),
    }


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(
    "options",
    [
        {"cell_clip": 0.5},
        {"cifg_enabled": True, "input_intermediate_scale": 0.0, "peephole_enabled": True},
        {"projection_enabled": True, "projection_clip": 0.3},
        {"cifg_enabled": True, "layer_norm_enabled": True},
        ALL_OPTIONS,
    ],
)
def test_a_q_lstm_rounds_as_arm_nn_does(
    sizes: tuple[int, int, int, int], options: dict[str, Any], level: str
) -> None:
    step = q_lstm(replace(Q_LSTM, **options), sizes)
    output, cell = step.expected(*q_lstm_rules(step))
    actual = step.run()
    assert_nearly(actual["output"], output, step.outputs[2])
    assert_nearly(actual["cell_state_out"], cell, step.outputs[1])
    np.testing.assert_array_equal(actual["output"], actual["output_state_out"])


def test_a_q_lstm_adds_no_bias_without_a_normalization() -> None:
    step = q_lstm(Q_LSTM, (2, 3, 5, 5))
    none = {
        name: (np.zeros_like(array) if name.endswith("bias") else array, info)
        for name, (array, info) in step.parameters.items()
    }
    for name, array in step.run().items():
        np.testing.assert_array_equal(array, replace(step, parameters=none).run()[name])


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize(("width", "units"), [(1, 1), (3, 4), (33, 70)])
def test_a_quantized_lstm_is_near_its_real_values(
    batch: int, width: int, units: int, level: str
) -> None:
    """Its sums are rounded once."""
    state, cell_info = TensorInfo(None, U8, 1 / 128, 128), TensorInfo(None, S16, 1 / 2048)
    weight = TensorInfo(None, U8, 1 / 900, 120)
    data = {
        "input": (drawn((batch, width), 1, state, 0.9), state),
        "previous_cell_state_in": (drawn((batch, units), 2, cell_info, 2.0), cell_info),
        "previous_output_in": (drawn((batch, units), 3, state, 0.9), state),
    }
    parameters: dict[str, tuple[Array, TensorInfo]] = {}
    for seed, gate in enumerate(GATES):
        rng = np.random.default_rng(seed)
        for part, n in (("input", width), ("recurrent", units)):
            array = rng.integers(0, 256, (units, n)).astype(np.uint8)
            parameters[f"{part}_to_{gate}_weights"] = (array, weight)
        bias = rng.integers(-9000, 9000, units).astype(np.int32)
        parameters[bias_name(gate)] = (bias, TensorInfo(None, S32))
    step = Step(
        "QuantizedLstm",
        armnn.layers.recurrent.QuantizedLstmDescriptor(),
        data,
        parameters,
        [cell_info, state],
    )
    x, c, h = (real(*each).astype(np.float64) for each in data.values())
    sums: dict[str, Array] = {}
    for gate in GATES:
        total: Array = parameters[bias_name(gate)][0] * (state.scale * weight.scale)
        total = total + x @ real(*parameters[f"input_to_{gate}_weights"]).T
        total = total + h @ real(*parameters[f"recurrent_to_{gate}_weights"]).T
        sums[gate] = Kept(2.0**-12)(total).astype(np.float64)
    logistic = {gate: 1 / (1 + np.exp(-sums[gate])) for gate in GATES}
    grid = Kept(cell_info.scale)
    kept = grid(logistic["forget"] * c)
    cell = grid(kept + logistic["input"] * np.tanh(sums["cell"]))
    output = logistic["output"] * np.tanh(cell.astype(np.float64))
    actual = step.run()
    assert_nearly(actual["cell_state_out"], cell, cell_info)
    assert_nearly(actual["output"], output, state)


def refused(step: Step, reason: str) -> None:
    with pytest.raises(ArmnnError, match=reason):
        step.run()


def test_a_q_lstm_without_the_scale_of_a_gate_is_refused() -> None:
    d = replace(Q_LSTM, forget_intermediate_scale=0.0)
    refused(q_lstm(d, (1, 2, 3, 3)), "forget_intermediate_scale must be above 0")
    refused(
        q_lstm(replace(Q_LSTM, hidden_state_scale=0.0), (1, 2, 3, 3)), "hidden_state_scale must"
    )


def test_a_q_lstm_of_unsigned_bytes_is_refused() -> None:
    step = q_lstm(Q_LSTM, (1, 2, 3, 3))
    array, _ = step.data["input"]
    data = {**step.data, "input": (array.view(np.uint8), TensorInfo(None, U8, 0.1, 128))}
    refused(replace(step, data=data), "it must be a matrix of QAsymmS8")


def lstm_of(data_type: DataType, units: int) -> Step:
    d = LstmDescriptor(activation_func=LstmActivation.TANH, cifg_enabled=False)
    info = TensorInfo(None, data_type, 0.1)
    none = np.zeros((1, units), data_type.numpy_dtype)
    data = {"input": (np.zeros((1, 2), data_type.numpy_dtype), info)}
    data |= dict.fromkeys(("output_state_in", "cell_state_in"), (none, info))
    parameters = {
        name: (np.zeros(shape, data_type.numpy_dtype), info)
        for name, shape in shapes_of(d, 2, units, units).items()
    }
    return Step("Lstm", d, data, parameters, [info] * 4)


def test_an_lstm_in_eight_bits_is_refused() -> None:
    refused(lstm_of(S8, 3), "QAsymmS8 is not computed here, QSymmS16 is")


def test_a_quantized_step_without_units_is_refused() -> None:
    """It once divided by zero units, and crashed."""
    refused(lstm_of(S16, 0), "a cell without units is not computed here")
