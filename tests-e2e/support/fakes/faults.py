# SPDX-License-Identifier: MIT
"""Planted faults: a backend that computes right except for them, and networks that show them.

They prove that a tool which looks for wrong layers finds them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armnn.backends import (
    ArrayHandle,
    Backend,
    BackendRegistry,
    CreationOptions,
    ModelContext,
    OptimizationViews,
    Step,
    SubgraphView,
    Substitution,
    Support,
    TensorHandle,
    Workload,
)
from armnn.graph import Network
from armnn.single_layer import ComputedHandle
from armnn.tensor import TensorInfo
from armnn.types import ActivationFunction, DataType, ReduceOperation
from fakes.backends import NullBackend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.graph import Layer, Value

    Array = NDArray[Any]


@dataclass(slots=True)
class Call:
    """One run of the layer that a fault is in.

    Attributes:
        layer: The layer.
        operands: Its inputs as stored, None where one is absent.
        count: How often the layer has run before.
        kept: What earlier runs left behind, by any name.
        follows: The type of the layer before it in the same compiled part, "" if there is none.
        inner: Computes right.
        model: Its context.
    """

    layer: Layer
    operands: Sequence[Array | None]
    count: int
    kept: dict[str, Any]
    follows: str
    inner: Backend
    model: ModelContext

    def operand(self, name: str) -> Array:
        """Return an input by the name of its slot."""
        found = self.operands[self.layer.spec.input_index(name)]
        if found is None:
            raise ValueError(f"layer {self.layer.name!r} has no input {name!r}")
        return found

    def right(
        self, operands: Mapping[str, Array | None] | None = None, **parameters: Any
    ) -> list[Array]:
        """Return the inner backend's outputs, of changed inputs or parameters.

        Args:
            operands: Data by the names of slots, in the place of the layer's own.
            parameters: Of the layer, in the place of its own.
        """
        layer, network = self.layer, Network("call")
        arrays = list(self.operands)
        for name, array in (operands or {}).items():
            arrays[layer.spec.input_index(name)] = array
        values = [
            None
            if array is None or value is None
            else network.add_constant(array, value.info.with_shape(array.shape))
            for array, value in zip(arrays, layer.inputs, strict=True)
        ]
        twin = network.add(
            layer.type,
            values,
            dataclasses.replace(layer.descriptor, **parameters),
            outputs=layer.output_infos,
        )
        handles = [
            None if value is None else ArrayHandle(value.info, np.asarray(array))
            for value, array in zip(twin.inputs, arrays, strict=True)
        ]
        outputs = [_handle(info) for info in layer.output_infos]
        self.inner.create_workload(twin, self.model).bind(handles, outputs)()
        network.clear()  # else its constants wait for the garbage collector, longer on Python 3.13
        return [handle.map() for handle in outputs]


def _handle(info: TensorInfo) -> TensorHandle:
    if not info.is_static:
        return ComputedHandle(info)
    return ArrayHandle(info, np.empty(info.static_shape, info.data_type.numpy_dtype))


Change = Callable[[Call], "list[NDArray[Any]]"]
"""Computes the outputs of a layer wrongly."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A planted fault.

    Attributes:
        name: Unique.
        network: The name of the small network that shows it; see :func:`planted_network`.
        layer: The type of the layer that is wrong.
        change: Computes it.
        is_fused: Whether it is only wrong in a compiled part.
        is_flaky: Whether only some runs are wrong.
        options: Of the networks' maker.
    """

    name: str
    network: str
    layer: str
    change: Change
    is_fused: bool = False
    is_flaky: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


class FaultyBackend(NullBackend):
    """Computes by another backend, except for the faults.

    With a fault that is only in fusions it compiles its subgraphs whole.
    """

    id = "Faulty"

    def __init__(self, inner: Backend, *faults: Fault, backend_id: str | None = None) -> None:
        """Plant faults.

        Args:
            inner: Computes right.
            faults: Each is in every layer of its type.
            backend_id: The backend's id.
        """
        super().__init__(backend_id)
        self._inner = inner
        self._faults = {fault.layer: fault for fault in faults}
        self._compiles = any(fault.is_fused for fault in faults)
        self._kept: dict[str, dict[str, Any]] = {}

    @classmethod
    def around(cls, backend: str, *faults: Fault) -> FaultyBackend:
        """Return a backend with faults around an installed one.

        Args:
            backend: The id of the backend that computes right.
            faults: Each is in every layer of its type.

        Raises:
            BackendError: There is no such backend, or it cannot be used.
        """
        return cls(BackendRegistry(CreationOptions()).get(backend), *faults)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Return the inner backend's answer."""
        return self._inner.supports(layer, model)

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Return a workload with the faults in it."""
        if isinstance(layer.compiled, SubgraphView):
            return _Part(layer.compiled, self, model)
        return _Alone(layer, self, model)

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Compile the subgraph whole for faults of fusions."""
        if not self._compiles:
            return super().optimize_subgraph(view, model)
        replacement = view.replacement()
        made = replacement.add_pre_compiled(
            [layer.output for layer in replacement.inputs],
            num_output_slots=len(view.outputs),
            outputs=[value.info for value in view.outputs],
            name=f"part from {view.layers[0].name}",
        )
        copy = view.network.clone()
        names = {layer.name for layer in view.layers}
        twins = [each for each in copy.topological_order() if _is_computed(each, names)]
        made[0].producer.compiled = SubgraphView.of(copy, twins)
        for index, value in enumerate(made):
            replacement.add_output(f"{index}", value)
        return OptimizationViews(substitutions=[Substitution(view, replacement)])

    def compute(
        self, layer: Layer, operands: Sequence[Array | None], follows: str, model: ModelContext
    ) -> list[Array]:
        """Return a layer's outputs, wrong where a fault is planted."""
        kept = self._kept.setdefault(layer.name, {"count": 0})
        call = Call(layer, operands, kept["count"], kept, follows, self._inner, model)
        kept["count"] += 1
        fault = self._faults.get(layer.type)
        if fault is None or (fault.is_fused and not follows):
            return call.right()
        return fault.change(call)


class _Alone(Workload):
    """One layer, by the backend's own function."""

    def __init__(self, layer: Layer, backend: FaultyBackend, model: ModelContext) -> None:
        self._layer, self._backend, self._model = layer, backend, model

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that runs the layer."""

        def run() -> None:
            operands = [None if each is None else each.map() for each in inputs]
            _write(outputs, self._backend.compute(self._layer, operands, "", self._model))

        return run


class _Part(Workload):
    """Layers one after the other, by the backend's own function."""

    def __init__(self, view: SubgraphView, backend: FaultyBackend, model: ModelContext) -> None:
        self._view, self._backend, self._model = view, backend, model

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that runs the layers."""
        view = self._view

        def run() -> None:
            values: dict[Value, Array] = {
                value: handle.map()
                for value, handle in zip(view.inputs, inputs, strict=True)
                if handle is not None
            }
            before = ""
            for layer in view.layers:
                operands = [None if v is None else values[v] for v in layer.inputs]
                made = self._backend.compute(layer, operands, before, self._model)
                values.update(zip(layer.outputs, made, strict=True))
                before = layer.type
            _write(outputs, [values[value] for value in view.outputs])

        return run


def _write(handles: Sequence[TensorHandle], arrays: Sequence[Array]) -> None:
    for handle, array in zip(handles, arrays, strict=True):
        if handle.info.is_static or isinstance(handle, ArrayHandle):
            np.copyto(handle.map(), array)
        else:
            handle.assign(np.array(array))
        handle.unmap()


def _is_computed(layer: Layer, names: set[str]) -> bool:
    return layer.name in names and layer.type not in ("Input", "Output", "Constant")


IMAGE = (2, 4, 6, 6)
ROWS = (4, 16)
STEPS = TensorInfo((2, 4, 6, 6), DataType.QASYMM_S8, 0.05, 3)
"""A quantized image."""


class _Family(NamedTuple):
    shape: tuple[int, ...]
    add: Callable[[Network, Value], Value]


def planted_network(name: str, layer: str) -> Network:
    """Return a small network; layers of one type are "planted".

    Raises:
        KeyError: There is none of that name.
    """
    family = _FAMILIES[name]
    network = Network(name)
    x = network.add_input("x", TensorInfo(family.shape))
    factor = network.add_constant(np.array([1.25], np.float32).reshape((1,) * len(family.shape)))
    value = family.add(network, network.add_multiplication(x, factor, name="before"))
    _end(network, value, "y")
    _name_planted(network, layer)
    return network


def pair_of(first: tuple[str, str], second: tuple[str, str]) -> Network:
    """Return a network with the layers of two faults.

    Args:
        first: The name of a network and the layer type of a fault.
        second: The same of the other fault.
    """
    network = Network(f"{first[0]} and {second[0]}")
    for at, (name, _) in enumerate((first, second)):
        family = _FAMILIES[name]
        x = network.add_input(f"x{at}", TensorInfo(family.shape))
        _end(
            network,
            family.add(network, network.add_elementwise_unary(x, operation="Neg")),
            f"y{at}",
        )
    for _, layer in (first, second):
        _name_planted(network, layer)
    return network


def _end(network: Network, value: Value, name: str) -> None:
    if value.info.data_type is DataType.FLOAT32:
        offset = network.add_constant(
            np.array([0.5], np.float32).reshape((1,) * len(value.info.static_shape))
        )
        value = network.add_subtraction(value, offset, name=f"after {name}")
    network.add_output(name, value)


def _name_planted(network: Network, layer: str) -> None:
    for each in network.layers:
        if each.type == layer and not each.name.startswith(("before", "after")):
            network.rename(each, f"planted {layer}")


def _random(*shape: int, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def _activation(function: str, **parameters: Any) -> _Family:
    return _Family(
        IMAGE, lambda n, x: n.add_activation(x, function=function, name="layer", **parameters)
    )


def _convolution(n: Network, x: Value, **parameters: Any) -> Value:
    weights, bias = n.add_constant(_random(5, 4, 3, 3)), n.add_constant(_random(5, seed=1))
    padding = {f"pad_{side}": 1 for side in ("left", "right", "top", "bottom")}
    return n.add_convolution2d(x, weights, bias, **{**padding, **parameters})


def _fused(n: Network, x: Value) -> Value:
    made = n.add_activation(_convolution(n, x), function="ReLu")
    return n.add_addition(made, n.add_constant(_random(1, 5, 6, 6, seed=2)))


def _depthwise(n: Network, x: Value) -> Value:
    weights, bias = n.add_constant(_random(1, 3, 3, 4)), n.add_constant(_random(4, seed=1))
    nhwc = n.add_transpose(x, dim_mappings=(0, 2, 3, 1))
    return n.add_depthwise_convolution2d(nhwc, weights, bias, data_layout="NHWC")


def _transposed(n: Network, x: Value) -> Value:
    weights = n.add_constant(_random(3, 4, 2, 2))
    return n.add_transpose_convolution2d(x, weights, stride_x=2, stride_y=2)


def _dense(n: Network, x: Value) -> Value:
    weights, bias = n.add_constant(_random(16, 16)), n.add_constant(_random(16, seed=1))
    return n.add_fully_connected(x, weights, bias)


def _quantized(n: Network, x: Value) -> Value:
    return n.add_quantize(x, output=STEPS)


def _quantized_sum(n: Network, x: Value) -> Value:
    q = _quantized(n, x)
    added = n.add_addition(q, q, output=TensorInfo(IMAGE, DataType.QASYMM_S8, 0.04, 3))
    return n.add_dequantize(added)


def _quantized_convolution(n: Network, x: Value) -> Value:
    q = _quantized(n, x)
    stored = np.random.default_rng(3).integers(-100, 100, (5, 4, 3, 3)).astype(np.int8)
    weights = n.add_constant(stored, TensorInfo(stored.shape, DataType.QSYMM_S8, 0.01))
    bias = n.add_constant(np.array([10, -20, 30, 0, 5], np.int32))
    made = n.add_convolution2d(
        q, weights, bias, output=TensorInfo((2, 5, 4, 4), DataType.QASYMM_S8, 0.08, -5)
    )
    return n.add_dequantize(made)


def _normalized(n: Network, x: Value) -> Value:
    numbers = [n.add_constant(np.abs(_random(4, seed=each)) + 0.1) for each in range(4)]
    return n.add_batch_normalization(x, *numbers, eps=1e-2)


def _picked(n: Network, x: Value) -> Value:
    return n.add_cast(n.add_arg_min_max(x, function="Max", axis=1), output=DataType.FLOAT32)


def _compared(n: Network, x: Value) -> Value:
    chosen = n.add_comparison(
        n.add_floor(x), n.add_constant(np.array([[-1.0]], np.float32)), operation="Greater"
    )
    return n.add_where(chosen, x, n.add_constant(np.array([[2.0]], np.float32)))


def _attention(n: Network, x: Value) -> Value:
    key = n.add_constant(_random(1, 2, 5, 8))
    return n.add_attention(x, key, n.add_constant(_random(1, 2, 5, 8, seed=4)))


def _gru(n: Network, x: Value) -> Value:
    weights, recurrent = (n.add_constant(_random(1, 12, size, seed=size)) for size in (3, 4))
    return n.add_gru(x, weights, recurrent, n.add_constant(_random(1, 24, seed=9)))[0]


_FAMILIES: dict[str, _Family] = {
    "leaky": _activation("LeakyReLu", a=0.1),
    "relu6": _activation("BoundedReLu", a=1.0, b=0.0),
    "sigmoid": _activation("Sigmoid"),
    "tanh": _activation("TanH", a=1.0, b=1.0),
    "elu": _activation("Elu", a=0.7),
    "gelu": _activation("Gelu"),
    "prelu": _Family(IMAGE, lambda n, x: n.add_prelu(x, n.add_constant(_random(1, 4, 1, 1)))),
    "softmax": _Family(ROWS, lambda n, x: n.add_softmax(x, beta=1.5, axis=1)),
    "log softmax": _Family(ROWS, lambda n, x: n.add_log_softmax(x)),
    "convolution": _Family(IMAGE, _convolution),
    "dilated": _Family(
        IMAGE,
        lambda n, x: _convolution(
            n, x, dilation_x=2, dilation_y=2, pad_left=2, pad_right=2, pad_top=2, pad_bottom=2
        ),
    ),
    "fused": _Family(IMAGE, _fused),
    "depthwise": _Family(IMAGE, _depthwise),
    "transposed": _Family(IMAGE, _transposed),
    "dense": _Family((16, 16), _dense),
    "matmul": _Family(
        (2, 4, 4), lambda n, x: n.add_batch_mat_mul(x, n.add_constant(_random(2, 4, 4)))
    ),
    "max pool": _Family(
        IMAGE,
        lambda n, x: n.add_pooling2d(
            n.add_elementwise_unary(n.add_activation(x, function="Abs"), operation="Neg"),
            pool_width=3,
            pool_height=3,
            stride_x=1,
            stride_y=1,
            pad_left=1,
            pad_top=1,
        ),
    ),
    "average pool": _Family(
        IMAGE,
        lambda n, x: n.add_pooling2d(
            x,
            pool_type="Average",
            pool_width=3,
            pool_height=3,
            stride_x=1,
            stride_y=1,
            pad_left=1,
            pad_top=1,
            pad_right=1,
            pad_bottom=1,
            padding_method="Exclude",
        ),
    ),
    "batch normalization": _Family(IMAGE, _normalized),
    "layer normalization": _Family(
        ROWS,
        lambda n, x: n.add_layer_normalization(
            x, n.add_constant(_random(16)), n.add_constant(_random(16, seed=1)), axis=1
        ),
    ),
    "instance normalization": _Family(
        IMAGE, lambda n, x: n.add_instance_normalization(x, gamma=1.5, beta=0.5, eps=1e-3)
    ),
    "mean": _Family(ROWS, lambda n, x: n.add_mean(x, axis=(1,), keep_dims=True)),
    "reduce": _Family(
        ROWS,
        lambda n, x: n.add_reduce(
            n.add_elementwise_unary(n.add_activation(x, function="Abs"), operation="Neg"),
            axis=(1,),
            keep_dims=True,
            reduce_operation="Max",
        ),
    ),
    "arg max": _Family(ROWS, _picked),
    "resize": _Family(
        IMAGE,
        lambda n, x: n.add_resize(
            x, target_width=9, target_height=9, method="Bilinear", half_pixel_centers=True
        ),
    ),
    "concat": _Family(IMAGE, lambda n, x: n.add_concat([x, n.add_floor(x)], axis=1)),
    "slice": _Family(IMAGE, lambda n, x: n.add_slice(x, begin=(0, 1, 1, 1), size=(2, 2, 3, 3))),
    "transpose": _Family((2, 4, 4), lambda n, x: n.add_transpose(x, dim_mappings=(0, 2, 1))),
    "gather": _Family(
        ROWS, lambda n, x: n.add_gather(x, n.add_constant(np.array([0, 2, 1], np.int32)), axis=1)
    ),
    "pad": _Family(ROWS, lambda n, x: n.add_pad(x, pad_list=((1, 1), (0, 2)), pad_value=2.0)),
    "addition": _Family((4, 4), lambda n, x: n.add_addition(x, n.add_constant(_random(4)[None]))),
    "division": _Family(
        ROWS, lambda n, x: n.add_division(x, n.add_constant(np.abs(_random(4, 16)) + 0.5))
    ),
    "maximum": _Family(ROWS, lambda n, x: n.add_maximum(x, n.add_constant(_random(4, 16)))),
    "exp": _Family(ROWS, lambda n, x: n.add_elementwise_unary(x, operation="Exp")),
    "sqrt": _Family(
        ROWS,
        lambda n, x: n.add_elementwise_unary(n.add_activation(x, function="Abs"), operation="Sqrt"),
    ),
    "compare": _Family(ROWS, _compared),
    "cumulative sum": _Family(ROWS, lambda n, x: n.add_cum_sum(x, axis=1)),
    "depth to space": _Family(
        (1, 8, 3, 3), lambda n, x: n.add_depth_to_space(x, block_size=2, data_layout="NCHW")
    ),
    "top": _Family(ROWS, lambda n, x: n.add_top_k(x, k=3)[0]),
    "attention": _Family((1, 2, 3, 8), _attention),
    "gru": _Family((5, 2, 3), _gru),
    "quantized sum": _Family(IMAGE, _quantized_sum),
    "quantized convolution": _Family(IMAGE, _quantized_convolution),
}


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
    Fault("epsilon ignored", "batch normalization", "BatchNormalization", _with(eps=1e-9)),
    Fault(
        "mean of the wrong channel",
        "batch normalization",
        "BatchNormalization",
        _changed("mean", lambda m: np.roll(m, 1)),
    ),
    Fault("divided by n - 1", "layer normalization", "LayerNormalization", _after(_unbiased)),
    Fault(
        "statistics of the batch",
        "instance normalization",
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
    Fault("saturation missing", "quantized sum", "Addition", _wrapped),
    Fault("cut, not rounded", "quantized convolution", "Convolution2d", _truncated),
    Fault("zero point ignored", "quantized convolution", "Convolution2d", _zero_point_ignored),
    Fault("one step up", "quantized sum", "Quantize", _after(_half_up)),
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
