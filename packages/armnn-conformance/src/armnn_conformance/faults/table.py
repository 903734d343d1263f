# SPDX-License-Identifier: MIT
"""The table of planted faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.types import ActivationFunction, ReduceOperation
from armnn_conformance.faults._fault import Call, Change, Fault

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

RACE_PERIOD = 20
"""A race makes one of so many runs wrong."""


def _with(**parameters: Any) -> Change:
    """Return a change of parameters."""
    return lambda call: call.right(**parameters)


def _after(function: Any) -> Change:
    """Return a change of the first output."""

    def change(call: Call) -> list[Array]:
        first, *others = call.right()
        return [np.asarray(function(call, first.copy())), *others]

    return change


def _set(place: Any, value: float) -> Change:
    def put(_call: Call, made: Array) -> Array:
        made[place] = value
        return made

    return _after(put)


def _scaled_parameter(name: str, factor: float) -> Change:
    return lambda call: call.right(**{name: getattr(call.layer.descriptor, name) * factor})


def _changed(name: str, function: Any) -> Change:
    """Return a change of one input."""
    return lambda call: call.right({name: np.ascontiguousarray(function(call.operand(name)))})


def _without_bias(call: Call) -> list[Array]:
    return call.right({"bias": np.zeros_like(call.operand("bias"))})


def _first_batch_only(_call: Call, made: Array) -> Array:
    made[1:] = np.roll(made[1:], 1, axis=-1)
    return made


def _off_by_one_border(_call: Call, made: Array) -> Array:
    made[..., -1] = made[..., -2]
    return made


def _rounded_to_half(_call: Call, made: Array) -> Array:
    return made.astype(np.float16).astype(made.dtype)


def _accumulated_in_half(call: Call) -> list[Array]:
    x = call.operand("input").astype(np.float16)
    weights = call.operand("weights").astype(np.float16)
    total = np.zeros((x.shape[0], weights.shape[1]), np.float16)
    for k in range(x.shape[1]):
        total = (total + x[:, k, None] * weights[None, k]).astype(np.float16)
    return [total.astype(np.float32) + call.operand("bias")]


def _last_term_lost(call: Call) -> list[Array]:
    weights = call.operand("weights").copy()
    weights[-1] = 0
    return call.right({"weights": weights})


def _padding_is_zero(_call: Call, made: Array) -> Array:
    made[:, :, 0, :] = np.maximum(made[:, :, 0, :], 0)
    return made


def _unbiased(call: Call, made: Array) -> Array:
    size, beta = call.operands[0].shape[-1], call.operand("beta")  # type: ignore[union-attr] # given
    return (made - beta) * np.float32(np.sqrt((size - 1) / size)) + beta


def _over_the_batch(call: Call) -> list[Array]:
    x = call.operand("input")
    d: Any = call.layer.descriptor
    mean, var = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return [((x - mean) / np.sqrt(var + d.eps) * d.gamma + d.beta).astype(np.float32)]


def _swapped(call: Call) -> list[Array]:
    first, second = call.operands
    if first is None or second is None or first.shape != second.shape:
        raise ValueError("a swap needs two inputs of one shape")
    names = [slot.name for slot in call.layer.spec.inputs]
    return call.right({names[0]: second, names[1]: first})


def _concatenated_backwards(call: Call) -> list[Array]:
    d: Any = call.layer.descriptor
    arrays = [array for array in call.operands if array is not None]
    return [np.concatenate(arrays[::-1], axis=d.axis)]


def _not_moved(call: Call) -> list[Array]:
    return [call.operand("input").reshape(call.layer.output.info.static_shape)]


def _begins_late(call: Call) -> list[Array]:
    d: Any = call.layer.descriptor
    return call.right(begin=(*d.begin[:-1], d.begin[-1] + 1))


def _broadcast_along_rows(call: Call) -> list[Array]:
    return [call.operand("input") + call.operand("other").reshape(-1, 1)]


def _stale(call: Call) -> list[Array]:
    """Return the first run's result in every later one."""
    kept = call.kept.setdefault("first", call.right())
    return [np.array(each) for each in kept]


def _stale_tail(call: Call) -> list[Array]:
    """Leave the last element as the run before left it."""
    (made,) = call.right()
    made.flat[-1], call.kept["tail"] = call.kept.get("tail", made.flat[-1]), made.flat[-1]
    return [made]


def _race(call: Call) -> list[Array]:
    """Compute one run of RACE_PERIOD wrongly."""
    made = call.right()
    if call.count % RACE_PERIOD == RACE_PERIOD - 1:
        made[0].flat[: made[0].size // 2] = 0
    return made


def _wrapped(call: Call) -> list[Array]:
    """Add without saturation."""
    info = call.layer.output.info
    x, y = (each.info for each in call.layer.inputs if each is not None)
    real = (call.operand("input").astype(np.float64) - x.zero_point) * x.scale
    real = real + (call.operand("other").astype(np.float64) - y.zero_point) * y.scale
    steps = np.floor(real / info.scale + 0.5).astype(np.int64) + info.zero_point
    return [steps.astype(np.int8)]


def _truncated(call: Call) -> list[Array]:
    """Cut instead of rounding: half a step down."""
    info = call.layer.output.info
    wide = call.right()[0].astype(np.int64)
    noise = np.random.default_rng(0).integers(0, 2, wide.shape)
    limits = np.iinfo(np.int8)
    return [np.clip(wide - noise, limits.min, limits.max).astype(info.data_type.numpy_dtype)]


def _zero_point_ignored(call: Call) -> list[Array]:
    x = call.operand("input")
    info = call.layer.inputs[0].info  # type: ignore[union-attr] # it is a required input
    return call.right(
        {"input": np.clip(x.astype(int) + info.zero_point, -128, 127).astype(x.dtype)}
    )


def _towards_zero(call: Call) -> list[Array]:
    return [np.trunc(call.operand("input"))]


def _column_major(call: Call) -> list[Array]:
    d: Any = call.layer.descriptor
    return call.right(column_row_depth=not d.column_row_depth)


def _half_up(_call: Call, made: Array) -> Array:
    return made + 1


def _epilogue_dropped(call: Call) -> list[Array]:
    return [call.operand("input")] if call.follows == "Convolution2d" else call.right()


def _residual_twice(call: Call) -> list[Array]:
    if call.follows != "Activation":
        return call.right()
    return [call.operand("input") + 2 * call.operand("other")]


def _bias_before_relu(call: Call) -> list[Array]:
    """Cut below at a wrong bound behind a convolution."""
    if call.follows != "Convolution2d":
        return call.right()
    return [np.maximum(call.operand("input"), np.float32(0.05))]


FAULTS: tuple[Fault, ...] = (
    Fault("alpha x 1.01", "leaky", "Activation", _scaled_parameter("a", 1.01)),
    Fault("upper bound missing", "relu6", "Activation", _with(function=ActivationFunction.RELU)),
    Fault("lower bound wrong", "relu6", "Activation", _with(b=-0.01)),
    Fault(
        "hard instead of smooth",
        "sigmoid",
        "Activation",
        _after(lambda c, _: np.clip(c.operand("input") * 0.2 + 0.5, 0, 1).astype(np.float32)),
    ),
    Fault("sigmoid in float16", "sigmoid", "Activation", _after(_rounded_to_half)),
    Fault(
        "NaN for large numbers",
        "tanh",
        "Activation",
        _after(lambda c, made: np.where(c.operand("input") > 1.5, np.float32(np.nan), made)),
    ),
    Fault("alpha ignored", "elu", "Activation", _with(a=1.0)),
    Fault("tanh formula", "gelu", "Activation", _with(function=ActivationFunction.GELU_TANH)),
    Fault(
        "slope of the wrong channel",
        "prelu",
        "Prelu",
        _changed("alpha", lambda a: np.roll(a, 1, 1)),
    ),
    Fault("wrong axis", "softmax", "Softmax", _with(axis=0)),
    Fault("beta ignored", "softmax", "Softmax", _with(beta=1.0)),
    Fault("no logarithm", "log softmax", "LogSoftmax", _after(lambda _c, made: np.exp(made))),
    Fault(
        "kernel transposed",
        "convolution",
        "Convolution2d",
        _changed("weights", lambda w: w.swapaxes(2, 3)),
    ),
    Fault("last column wrong", "convolution", "Convolution2d", _after(_off_by_one_border)),
    Fault("bias missing", "convolution", "Convolution2d", _without_bias),
    Fault("wrong for batch > 1", "convolution", "Convolution2d", _after(_first_batch_only)),
    Fault("padding shifted", "convolution", "Convolution2d", _with(pad_left=2, pad_right=0)),
    Fault("stored in float16", "convolution", "Convolution2d", _after(_rounded_to_half)),
    Fault(
        "dilation ignored",
        "dilated",
        "Convolution2d",
        _with(dilation_x=1, dilation_y=1, pad_left=1, pad_right=1, pad_top=1, pad_bottom=1),
    ),
    Fault(
        "channels in another order",
        "depthwise",
        "DepthwiseConvolution2d",
        _changed("weights", lambda w: w[..., ::-1]),
    ),
    Fault(
        "input channels swapped",
        "transposed",
        "TransposeConvolution2d",
        _changed("weights", lambda w: w[:, ::-1]),
    ),
    Fault("weights transposed", "dense", "FullyConnected", _with(transpose_weight_matrix=True)),
    Fault("last term lost", "dense", "FullyConnected", _last_term_lost),
    Fault("accumulated in float16", "dense", "FullyConnected", _accumulated_in_half),
    Fault("operand transposed", "matmul", "BatchMatMul", _with(transpose_y=True)),
    Fault("padding is zero", "max pool", "Pooling2d", _after(_padding_is_zero)),
    Fault("padding counted", "average pool", "Pooling2d", _with(padding_method="IgnoreValue")),
    Fault("epsilon ignored", "batch normalisation", "BatchNormalization", _with(eps=1e-9)),
    Fault(
        "mean of the wrong channel",
        "batch normalisation",
        "BatchNormalization",
        _changed("mean", lambda m: np.roll(m, 1)),
    ),
    Fault("divided by n - 1", "layer normalisation", "LayerNormalization", _after(_unbiased)),
    Fault(
        "statistics of the batch",
        "instance normalisation",
        "InstanceNormalization",
        _over_the_batch,
    ),
    Fault("divided by n + 1", "mean", "Mean", _after(lambda _c, made: made * np.float32(16 / 17))),
    Fault("begins with zero", "reduce", "Reduce", _after(lambda _c, made: np.maximum(made, 0))),
    Fault("mean for maximum", "reduce", "Reduce", _with(reduce_operation=ReduceOperation.MEAN)),
    Fault("index off by one", "arg max", "ArgMinMax", _after(lambda _c, made: (made + 1) % 16)),
    Fault("pixel centers ignored", "resize", "Resize", _with(half_pixel_centers=False)),
    Fault("backwards", "concat", "Concat", _concatenated_backwards),
    Fault("begins one late", "slice", "Slice", _begins_late),
    Fault("not moved", "transpose", "Transpose", _not_moved),
    Fault("index one too high", "gather", "Gather", _changed("indices", lambda i: i + 1)),
    Fault("value ignored", "pad", "Pad", _with(pad_value=0.0)),
    Fault("broadcast along rows", "addition", "Addition", _broadcast_along_rows),
    Fault("operands swapped", "division", "Division", _swapped),
    Fault("NaN in one lane", "maximum", "Maximum", _set((slice(None), 7), np.nan)),
    Fault("infinity in one place", "division", "Division", _set((2, 3), np.inf)),
    Fault(
        "in bfloat16",
        "exp",
        "ElementwiseUnary",
        _after(lambda _c, y: (y.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)),
    ),
    Fault("reciprocal of it", "sqrt", "ElementwiseUnary", _after(lambda _c, y: 1 / (y + 1))),
    Fault("towards zero", "compare", "Floor", _towards_zero),
    Fault("equal counts", "compare", "Comparison", _with(operation="GreaterOrEqual")),
    Fault("exclusive", "cumulative sum", "CumSum", _with(exclusive=True)),
    Fault("other order of channels", "depth to space", "DepthToSpace", _column_major),
    Fault("smallest", "top", "TopK", _with(largest=False)),
    Fault("scale x 1.01", "attention", "Attention", _with(scale=1.01 / np.sqrt(8))),
    Fault("other reset", "gru", "Gru", _with(linear_before_reset=True)),
    Fault("saturation missing", "quantised sum", "Addition", _wrapped),
    Fault("cut, not rounded", "quantised convolution", "Convolution2d", _truncated),
    Fault("zero point ignored", "quantised convolution", "Convolution2d", _zero_point_ignored),
    Fault("one step up", "quantised sum", "Quantize", _after(_half_up)),
    Fault("stale buffer", "division", "Division", _stale),
    Fault("stale tail", "maximum", "Maximum", _stale_tail, is_flaky=True),
    Fault("race", "division", "Division", _race, is_flaky=True),
    Fault("epilogue dropped when fused", "fused", "Activation", _epilogue_dropped, is_fused=True),
    Fault("sum twice when fused", "fused", "Addition", _residual_twice, is_fused=True),
    Fault("bound moved when fused", "fused", "Activation", _bias_before_relu, is_fused=True),
)
"""The planted faults."""

PAIRS: tuple[tuple[str, str], ...] = (
    ("alpha x 1.01", "wrong axis"),
    ("kernel transposed", "weights transposed"),
    ("last column wrong", "padding counted"),
    ("NaN in one lane", "bias missing"),
    ("backwards", "pixel centers ignored"),
    ("begins one late", "exclusive"),
    ("index one too high", "operand transposed"),
    ("value ignored", "divided by n - 1"),
    ("epsilon ignored", "statistics of the batch"),
    ("channels in another order", "hard instead of smooth"),
    ("index off by one", "mean for maximum"),
    ("scale x 1.01", "other reset"),
    ("saturation missing", "accumulated in float16"),
    ("operands swapped", "in bfloat16"),
    ("smallest", "towards zero"),
)
"""Names of two faults that are planted at once."""
