# SPDX-License-Identifier: MIT
"""A layer prepared to run: decode, with the steps of biases, compute, encode."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armnn.backends import ALIGNMENT, ModelContext, Step, TensorHandle, Workload
from armnn.graph import Layer, Value
from armnn.layers import LAYERS
from armnn.layers.recurrent import LstmDescriptor, QLstmDescriptor
from armnn.tensor import TensorInfo
from armnn.types import DataType, QuantizedArithmetic
from armnn_backend_ref.encoding import Decoder, Encoder, decoder, encoder, scaler, store
from armnn_backend_ref.ops import OPS, Array
from armnn_backend_ref.ops.recurrent import BIASES
from armnn_backend_ref.requantizing import IntegerForm, integer_form

LAYER_NORM_STEPS = 1024
"""How many steps of a bias make one step of quantized layer normalization's weights (Android)."""


def bias_steps(layer: Layer, name: str) -> Array | None:
    """Return the step of a bias, or one per element.

    None if the input is no Signed32 bias of a quantized layer. It is the product of the steps of
    the data and of the weights, of which float ones are one.

    Args:
        layer: A layer with quantized data or weights.
        name: The input that may be a bias; it is Signed32.
    """
    if name == "bias":
        return _scales(layer, "input") * _scales(layer, "weights")
    return _steps_of_cell(layer, name) if name.endswith("_bias") else None


def _steps_of_cell(layer: Layer, name: str) -> Array | None:
    d = layer.descriptor
    if name == "projection_bias":
        hidden = d.hidden_state_scale if isinstance(d, QLstmDescriptor) else 1
        return hidden * _scales(layer, "projection_weights")
    gate = next((gate for gate, bias in BIASES.items() if bias == name), None)
    if gate is None:
        return None
    if isinstance(d, (LstmDescriptor, QLstmDescriptor)) and d.layer_norm_enabled:
        weights = layer.input(f"{gate}_layer_norm_weights")
        quantized = weights is not None and weights.info.is_quantized
        return _scales(layer, f"{gate}_layer_norm_weights") / (LAYER_NORM_STEPS if quantized else 1)
    return _scales(layer, "input") * _scales(layer, f"input_to_{gate}_weights")


def _scales(layer: Layer, name: str) -> Array:
    value = layer.input(name)
    return np.array((value.info.scales if value else ()) or (1,), np.float64)


class _Constant:
    """A constant's decoded values, shared by a network's specializations.

    Attributes:
        stored: The array that they were decoded from: held beside them, so that its id stays its
            own.
        values: The real values.
    """

    __slots__ = ("__weakref__", "stored", "values")

    def __init__(self, stored: Array, values: Array) -> None:
        self.stored = stored
        self.values = values


class _Argument(NamedTuple):
    """The argument of an operation for one layer input.

    Attributes:
        place: Which input.
        constant: Its real values, if they are known already.
        decode: The function that makes real values of it; None if it has real ones.
    """

    place: int
    constant: _Constant | None
    decode: Decoder | None


class RefWorkload(Workload):
    """A layer with its operation, decoded constants, readers and writers.

    Args:
        layer: A layer that CpuRef supports; its shapes are known in full.
        model: CpuRef's context of the network; decoded constants are shared there.
    """

    __slots__ = ("_arguments", "_decoded", "_encoders", "_function", "_into", "_scratch_bytes")

    def __init__(self, layer: Layer, model: ModelContext) -> None:
        op = OPS[layer.type]
        typed = (layer.output_infos,) if op.typed else ()
        seen = (layer.input_infos,) if op.sees_inputs else ()
        function = partial(op.function, layer.descriptor, *typed, *seen)
        self._function: Callable[..., Array | tuple[Array, ...]] = function
        whole = model.quantized_arithmetic is QuantizedArithmetic.INTEGER
        form = integer_form(layer) if whole else None
        self._into = False
        if form is not None:
            self._function = form.function or function
            self._encoders = [form.encoder]
            self._arguments = [_whole_argument(layer, at, form, model) for at in _places(layer)]
            self._plan_scratch(layer)
            return
        alike = LAYERS[layer.type].moves_data and _store_alike(
            layer.input_infos, layer.output_infos
        )
        as_stored = op.stored or alike
        self._into = op.into and as_stored
        self._encoders = [store if as_stored else encoder(info) for info in layer.output_infos]
        self._arguments = [_argument(layer, place, as_stored, model) for place in _places(layer)]
        self._plan_scratch(layer)

    @property
    def scratch_bytes(self) -> int:
        """The memory of the decoded values of inputs."""
        return self._scratch_bytes

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        """Return the step that runs the layer on these tensors."""
        return self.bind_with_scratch(inputs, outputs, np.empty(self._scratch_bytes, np.uint8))

    def bind_with_scratch(
        self,
        inputs: Sequence[TensorHandle | None],
        outputs: Sequence[TensorHandle],
        scratch: NDArray[np.uint8],
    ) -> Step:
        """Return the step that decodes inputs into scratch memory."""
        values: list[Array | None] = []
        pending: list[tuple[Callable[[Array, Array], None], Array, Array]] = []
        for argument, offset in zip(self._arguments, self._decoded, strict=True):
            handle = inputs[argument.place] if argument.place < len(inputs) else None
            if argument.constant is not None:
                values.append(argument.constant.values)
            elif handle is None or argument.decode is None:
                values.append(None if handle is None else handle.map())
            else:
                stored, dtype = handle.map(), argument.decode.dtype
                size = stored.size * dtype.itemsize
                decoded = scratch[offset : offset + size].view(dtype).reshape(stored.shape)
                values.append(decoded)
                pending.append((argument.decode.decode_into, decoded, stored))
        function = self._function
        if self._into and outputs[0].info.is_static:
            target = outputs[0].map()

            def write_step() -> None:
                function(*values, out=target)

            return write_step
        writers = [
            _writer(encode, handle) for encode, handle in zip(self._encoders, outputs, strict=True)
        ]

        def step() -> None:
            with np.errstate(all="ignore"):  # NaN and infinity are values like any other
                for decode_into, decoded, stored in pending:
                    decode_into(decoded, stored)
                results = function(*values)
                if not isinstance(results, tuple):
                    results = (results,)
                for write, result in zip(writers, results, strict=True):
                    write(result)

        return step

    def _plan_scratch(self, layer: Layer) -> None:
        """Place the decoded inputs in scratch memory."""
        self._decoded = []
        end = 0
        for argument in self._arguments:
            self._decoded.append(end)
            value = layer.inputs[argument.place] if argument.place < len(layer.inputs) else None
            if value is not None and argument.constant is None and argument.decode is not None:
                size = value.info.num_elements * argument.decode.dtype.itemsize
                end += -(-size // ALIGNMENT) * ALIGNMENT
        self._scratch_bytes = end


def _places(layer: Layer) -> Sequence[int]:
    """Return the inputs that the operation takes.

    An input whose value the descriptor has is left out.
    """
    if layer.spec.is_variadic:
        return range(len(layer.inputs))
    return [place for place, slot in enumerate(layer.spec.inputs) if slot.fills is None]


def _argument(layer: Layer, place: int, as_stored: bool, model: ModelContext) -> _Argument:
    value = layer.inputs[place] if place < len(layer.inputs) else None
    if value is None:
        return _Argument(place, None, None)
    if as_stored:
        return _Argument(place, _constant(value, None, None, model), None)
    infos = (*layer.input_infos, *layer.output_infos)
    wide = any(info is not None and info.data_type is DataType.FLOAT64 for info in infos)
    steps = None
    if value.info.data_type is DataType.SIGNED32:
        steps = bias_steps(layer, layer.spec.input_slot(place).name)
    decode = decoder(value.info, wide=wide) if steps is None else scaler(steps, wide=wide)
    reading = (value.info, wide, None if steps is None else steps.tobytes())
    return _Argument(place, _constant(value, decode, reading, model), decode)


def _whole_argument(layer: Layer, place: int, form: IntegerForm, model: ModelContext) -> _Argument:
    """Return the integer form's argument for one input."""
    value = layer.inputs[place] if place < len(layer.inputs) else None
    if value is None:
        return _Argument(place, None, None)
    decode = form.decoders.get(place)
    reading = (value.info, form.real if decode else None)
    return _Argument(place, _constant(value, decode, reading, model), decode)


def _constant(
    value: Value, decode: Decoder | None, reading: Hashable, model: ModelContext
) -> _Constant | None:
    """Decode a constant, once for all specializations of a network.

    Args:
        value: The constant, or another value.
        decode: The function that makes real values of it; None if it stores them.
        reading: The facts that ``decode`` follows from: two layers may read one constant
            differently.
        model: Where decoded constants are shared.
    """
    stored = value.constant
    if stored is None:
        return None
    if decode is None:
        return _Constant(stored, stored)
    return model.shared(
        (id(stored), reading), lambda: _Constant(stored, _read_only(decode(stored)))
    )


def _writer(encode: Encoder, handle: TensorHandle) -> Callable[[Array], None]:
    """Return a function that stores a result.

    A tensor whose shape was not known is given a new array.
    """
    if handle.info.is_static:
        return partial(encode, handle.map())

    def assign(values: Array) -> None:
        stored = np.empty(values.shape, handle.info.data_type.numpy_dtype)
        encode(stored, values)
        handle.assign(stored)

    return assign


def _read_only(values: Array) -> Array:
    array = np.asarray(values)  # NumPy makes a number of an array without axes
    array.flags.writeable = False
    return array


def _store_alike(inputs: Sequence[TensorInfo | None], outputs: Sequence[TensorInfo]) -> bool:
    """Return whether stored elements may be moved without decoding.

    Per-axis quantization is always decoded: an element that moves along the axis changes its scale.
    Integers and Booleans are what they store, so that indices and conditions do not matter here.
    """
    reals = (info for info in inputs if info is not None and _is_real(info.data_type))
    return all(
        info.is_type_space_match(outputs[0]) and not info.is_per_axis for info in (*outputs, *reals)
    )


def _is_real(data_type: DataType) -> bool:
    return data_type.is_float or data_type.is_quantized
