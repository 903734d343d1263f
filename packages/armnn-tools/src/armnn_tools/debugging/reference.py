# SPDX-License-Identifier: MIT
"""The reference backend's opinions about layers.

It computes a layer in its own type, and once more with every real tensor in Float64: that output is
not rounded and is the truth. Every layer of a network is computed of the reference's own values, so
that no error of another backend reaches them: they are clean.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import ArrayHandle, TensorHandle
from armnn.backends.memory import ComputedHandle
from armnn.backends.python_operators import OperatorBackend
from armnn.errors import BackendError, ExecutionError
from armnn.graph import Layer, Network, Value
from armnn.optimizer import Candidate
from armnn.quantization import quantization_arrays
from armnn.tensor import TensorInfo, info_of
from armnn.types import DataType

Stored = NDArray[Any]
Reals = NDArray[np.float64]

_CONVERSIONS = ("Quantize", "Dequantize")
"""Layer types whose outputs are the input's real values."""

NOT_COMPUTED = ("Input", "Output", "Constant")
"""Layer types that no backend computes."""


class Reference:
    """The reference backend, for one network.

    Attributes:
        id: The id of the backend.
        executions: How many layers it has computed.
    """

    def __init__(self, candidate: Candidate) -> None:
        """Begin without results.

        Args:
            candidate: The backend with its context for the network.
        """
        self.id = candidate.id
        self.executions = 0
        self._candidate = candidate
        self._python = Candidate.of(OperatorBackend(), {})
        self._known: dict[Layer, list[Reals | None]] = {}

    def own(self, layer: Layer, operands: Sequence[Stored | None]) -> list[Stored]:
        """Return the outputs of a layer in its own types.

        Raises:
            BackendError: The reference does not compute it, or fails.
        """
        answer = self._candidate_of(layer).supports(layer)
        if not answer:
            raise BackendError(
                f"the reference {self.id!r} cannot judge layer {layer.name!r} ({layer.type}): "
                f"{answer.reason}"
            )
        return self._computed(layer, operands)

    def exact(
        self,
        layer: Layer,
        operands: Sequence[Stored | None],
        reals: Mapping[Value, Reals] | None = None,
        narrowed: Callable[[Reals], Reals] | None = None,
    ) -> list[Reals | None]:
        """Return the outputs of a layer in float64, not rounded.

        It is None for an output that is not a real number, and for all of them where the reference
        does not compute the layer in Float64.

        Args:
            layer: The layer.
            operands: Its inputs as stored: the same ones each time that no others take their place.
            reals: Real values that take the place of an input's.
            narrowed: The rounding of each operand but the bias.
        """
        is_clean = narrowed is None and not any(value in (reals or {}) for value in layer.inputs)
        if not is_clean:
            return self._exact(layer, operands, reals or {}, narrowed)
        if layer not in self._known:
            self._known[layer] = self._exact(layer, operands, {}, None)
        return self._known[layer]

    def _exact(
        self,
        layer: Layer,
        operands: Sequence[Stored | None],
        reals: Mapping[Value, Reals],
        narrowed: Callable[[Reals], Reals] | None,
    ) -> list[Reals | None]:
        nothing: list[Reals | None] = [None] * len(layer.outputs)
        if not any(is_real(info) for info in layer.output_infos):
            return nothing
        network = Network("truth")
        try:
            values = [
                self._real(layer, index, operand, reals, narrowed)
                for index, operand in enumerate(operands)
            ]
            if layer.type in _CONVERSIONS:
                return [values[0]]
            twin = _retyped(layer, values, network)
            if not self._candidate.supports(twin):
                return nothing
            made = self._computed(twin, values)
        except Exception:  # a reference may fail in any way
            return nothing
        finally:
            network.clear()  # its layers refer to each other, and to weights in float64
        return [
            each if is_real(info) else None
            for each, info in zip(made, layer.output_infos, strict=True)
        ]

    def _real(
        self,
        layer: Layer,
        index: int,
        operand: Stored | None,
        reals: Mapping[Value, Reals],
        narrowed: Callable[[Reals], Reals] | None,
    ) -> Stored | None:
        value = layer.inputs[index]
        if operand is None or value is None:
            return None
        name = layer.spec.input_slot(index).name
        if value in reals:
            real = reals[value]
        elif is_real(value.info):
            real = real_values(operand, value.info)
        elif value.info.data_type is DataType.SIGNED32 and "bias" in name:
            real = operand.astype(np.float64) * _bias_steps(layer, name)
        else:
            return operand
        return real if narrowed is None or "bias" in name else narrowed(real)

    def _candidate_of(self, layer: Layer) -> Candidate:
        """Return the reference of a layer; an operator of the program's is its own reference."""
        return self._candidate if layer.call is None else self._python

    def _computed(self, layer: Layer, operands: Sequence[Stored | None]) -> list[Stored]:
        inputs = [
            None
            if value is None or operand is None
            else ArrayHandle(value.info.with_shape(operand.shape), np.asarray(operand))
            for value, operand in zip(layer.inputs, operands, strict=True)
        ]
        outputs = [_handle(info) for info in layer.output_infos]
        candidate = self._candidate_of(layer)
        try:
            candidate.bind(candidate.workload(layer), layer, inputs, outputs)()
        except Exception as error:
            raise BackendError(
                f"the reference {self.id!r} failed at layer {layer.name!r} ({layer.type}): {error}"
            ) from error
        self.executions += 1
        return [handle.map() for handle in outputs]


def real_values(stored: Stored, info: TensorInfo) -> Reals:
    """Return the real values of a tensor in float64.

    Raises:
        InvalidArgumentError: It is quantized and has no scale.
    """
    if not info.is_quantized:
        return stored.astype(np.float64)
    scales, zero_points = quantization_arrays(info)
    real: Reals = (stored.astype(np.float64) - zero_points) * scales.astype(np.float64)
    return real


def is_real(info: TensorInfo) -> bool:
    """Return whether a tensor's elements are real numbers."""
    return info.data_type.is_float or info.is_quantized


def _retyped(
    layer: Layer,
    values: Sequence[Stored | None],
    network: Network,
) -> Layer:
    """Add a layer on Float64 constants to a network.

    Args:
        layer: The layer.
        values: Its operands.
        network: Gets the twin.
    """
    operands: list[Value | None] = []
    for value, array in zip(layer.inputs, values, strict=True):
        if value is None or array is None:
            operands.append(None)
            continue
        is_changed = array.dtype != value.info.data_type.numpy_dtype
        info = info_of(array) if is_changed else value.info.with_shape(array.shape)
        operands.append(network.add_constant(array, info))
    infos = [
        TensorInfo(info.shape, DataType.FLOAT64) if is_real(info) else info
        for info in layer.output_infos
    ]
    return network.add(layer.type, operands, layer.descriptor, name=layer.name, outputs=infos)


def _bias_steps(layer: Layer, name: str) -> NDArray[np.float64]:
    """Return the steps of a Signed32 bias: data's times weights'.

    Raises:
        ExecutionError: The layer's biases have other steps.
    """
    if name != "bias":
        raise ExecutionError(f"the steps of the input {name!r} are not known")
    factors = [layer.input(each) for each in ("input", "weights")]
    steps = np.ones(1)
    for value in factors:
        if value is not None and value.info.scales:
            steps = steps * np.array(value.info.scales, np.float32).astype(np.float64)
    return steps


def _handle(info: TensorInfo) -> TensorHandle:
    if not info.is_static:
        return ComputedHandle(info)
    return ArrayHandle(info, np.empty(info.static_shape, info.data_type.numpy_dtype))


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """A layer with its clean inputs and outputs, as stored.

    Attributes:
        layer: The layer.
        operands: One array per input, None where it is absent.
        outputs: One array per output.
    """

    layer: Layer
    operands: Sequence[Stored | None]
    outputs: Sequence[Stored]


class CleanValues:
    """A network's values by the reference, computed at once.

    Attributes:
        outputs: The outputs of the network, by name.
        visits: The layers that are computed, in topological order.
    """

    def __init__(
        self, network: Network, inputs: Mapping[str, Stored], reference: Reference
    ) -> None:
        """Compute a network whose shapes are known.

        Raises:
            BackendError: The reference does not compute a layer, or fails.
        """
        self.outputs: dict[str, Stored] = {}
        self.visits: list[Visit] = []
        self._values = {layer.output: inputs[layer.name] for layer in network.inputs}
        for layer in network.topological_order():
            operands = [None if value is None else self[value] for value in layer.inputs]
            if layer.type == "Output" and operands[0] is not None:
                self.outputs[layer.name] = operands[0]
            elif layer.type not in NOT_COMPUTED:
                visit = Visit(layer, operands, reference.own(layer, operands))
                self._values.update(zip(layer.outputs, visit.outputs, strict=True))
                self.visits.append(visit)

    def __getitem__(self, value: Value) -> Stored:
        """Return a value's data."""
        return self._values[value] if value.constant is None else value.constant
