# SPDX-License-Identifier: MIT
"""Layers that compute in another floating point type, between conversions.

:func:`exact_layers` finds those that stay in Float32 where the others compute in 16 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError
from armnn.graph import Layer, Network, Value
from armnn.layers import Requested
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.passes._edits import binary_operation
from armnn.optimizer.passes.conversions import (
    FLOATS,
    conversion_between,
    converted_data,
    is_conversion,
)
from armnn.tensor import TensorInfo
from armnn.types import BinaryOperation, DataType

_PRODUCTS: Final = ("ConvolutionInteger", "MatMulInteger")
"""The layers whose sums of integers 16 bits do not hold: Float16 ends at 65504."""

_INTEGERS: Final = (DataType.SIGNED32, DataType.SIGNED64)
_ELEMENTWISE: Final = ("Activation", "ElementwiseUnary", "Floor")


def exact_layers(order: Sequence[Layer]) -> set[Layer]:
    """Return the Float32 layers that need more than 16 bits.

    They compute on sums of integer products before these are scaled, or make nothing but such
    scales and integers; elementwise layers only, so that it costs little.

    Args:
        order: The layers in topological order.
    """
    exact = _on_sums(order)
    for layer in reversed(order):
        readers = [reader for value in layer.outputs for reader in value.consumers]
        if readers and _is_cheap(layer) and all(r in exact or _to_integers(r) for r in readers):
            exact.add(layer)
    return exact


def _on_sums(order: Sequence[Layer]) -> set[Layer]:
    """Return the layers between integer products and their scaling."""
    sums: set[Value] = set()
    found: set[Layer] = set()
    for layer in order:
        if layer.type in _PRODUCTS:
            sums.update(layer.outputs)
        elif any(value in sums for value in layer.inputs) and _is_cheap(layer):
            found.add(layer)
            scales = binary_operation(layer) in (BinaryOperation.MUL, BinaryOperation.DIV)
            if not scales or layer.output.info.data_type in _INTEGERS:
                sums.update(layer.outputs)
    return found


def _is_cheap(layer: Layer) -> bool:
    return (
        layer.type in (*_ELEMENTWISE, "Cast")
        or layer.spec.moves_data
        or binary_operation(layer) is not None
    )


def _to_integers(layer: Layer) -> bool:
    return layer.type == "Cast" and layer.output.info.data_type in _INTEGERS


Preferred: TypeAlias = Callable[[Sequence["Layer"]], "Layer | None"]
"""Returns which of some layers the most preferred backend runs, if any."""


class Conversions:
    """The conversions of one network, each made once.

    A conversion of what was converted before is never made: its reader gets the source. So inverse
    pairs do not arise.

    Attributes:
        network: The network.
    """

    def __init__(self, network: Network, preferred: Preferred) -> None:
        """Begin without conversions.

        Args:
            network: Is changed in place.
            preferred: Decides between Arm NN's type of conversion and Cast.
        """
        self.network = network
        self._preferred = preferred
        self._known: dict[tuple[Value, DataType], Value] = {}
        self._made: dict[Value, None] = {}
        self._kinds: dict[tuple[DataType, DataType], str] = {}
        self._data: dict[tuple[Value, DataType], NDArray[Any]] = {}

    def compute_in(
        self, layer: Layer, sources: Collection[DataType], target: DataType
    ) -> Layer | None:
        """Let a layer compute in another type.

        Constants are converted in place, other inputs and the outputs by layers around it.

        Args:
            layer: The layer; another one takes its name and its hint.
            sources: The types that become the target.
            target: The type to compute in.

        Returns:
            The layer in its place; None if its type or its outputs do not allow it.
        """
        if not _may_convert(layer, sources, target):
            return None
        network, name = self.network, layer.name
        inputs = [self._input(layer, index, sources, target) for index in range(len(layer.inputs))]
        new = _added(network, layer, inputs, sources, target)
        if new is None:
            self.clean()
            return None
        new.backend, new.backend_hint = layer.backend, layer.backend_hint
        new.origin = layer.origin
        for index, (old, made) in enumerate(zip(layer.outputs, new.outputs, strict=True)):
            source = self._converted(made, old.info.data_type, f"{index}-{name}")
            network.replace_uses(old, source)
        network.remove(layer)
        network.rename(new, name)
        return new

    def twin(self, layer: Layer, sources: Collection[DataType], target: DataType) -> Layer | None:
        """Return a layer as it would be in another type.

        It is in a network of its own, for questions to backends; None as in :meth:`compute_in`.
        """
        if not _may_convert(layer, sources, target):
            return None
        scratch = Network()
        inputs: list[Value | None] = []
        for index, value in enumerate(layer.inputs):
            if value is None:
                inputs.append(None)
            elif not _is_converted(layer, index, sources):
                inputs.append(_copied(scratch, value, index))
            elif value.constant is None:
                inputs.append(scratch.add_input(str(index), value.info.with_data_type(target)))
            else:
                inputs.append(scratch.add_constant(self._constant(value, target)))
        new = _added(scratch, layer, inputs, sources, target)
        if new is not None:
            new.backend_hint = layer.backend_hint
            scratch.rename(new, layer.name)
        return new

    def around(self, layer: Layer) -> tuple[list[Layer], list[Layer]]:
        """Return the conversions before and behind a layer."""
        before = [v.producer for v in layer.inputs if v is not None and v in self._made]
        after = [reader for value in layer.outputs for reader in value.consumers]
        return before, [each for each in after if each.outputs and each.outputs[0] in self._made]

    def clean(self) -> list[Layer]:
        """Remove conversions that undo others or that nothing reads.

        Returns:
            The removed conversions.
        """
        for value in self._made:
            source = self._source(value)
            before = None if source is None else self._source(source)
            if before is not None and before.info == value.info:
                self.network.replace_uses(value, before)
        removed = []
        for value in reversed(self._made):
            if value.producer in self.network and not value.uses:
                self.network.remove(value.producer)
                removed.append(value.producer)
        return removed

    def _source(self, value: Value) -> Value | None:
        """Return a conversion's source, None for another value."""
        if value not in self._made or value.producer not in self.network:
            return None
        return value.producer.inputs[0]

    def _input(
        self, layer: Layer, index: int, sources: Collection[DataType], target: DataType
    ) -> Value | None:
        value = layer.inputs[index]
        if value is None or not _is_converted(layer, index, sources):
            return value
        return self._converted(value, target, f"{index}-{layer.name}")

    def _converted(self, value: Value, target: DataType, place: str) -> Value:
        """Return a value in a type, converted where needed."""
        if value.info.data_type is target:
            return value
        source = self._source(value)
        if source is not None and source.info.data_type is target:
            return source
        known = self._known.get((value, target))
        if known is not None and known.producer in self.network:
            return known
        if value.constant is None:
            made = self._conversion(value, target, place).output
            self._made[made] = None
        else:
            name = self.network.unique_name(value.producer.name)
            made = self.network.add_constant(self._constant(value, target), name=name)
        self._known[value, target] = made
        return made

    def _conversion(self, value: Value, target: DataType, place: str) -> Layer:
        source = value.info.data_type
        name = self.network.unique_name(f"convert_{FLOATS[source]}_to_{FLOATS[target]}-{place}")
        return self.network.add(self.kind(value.info, target), [value], name=name, outputs=[target])

    def kind(self, info: TensorInfo, target: DataType) -> str:
        """Return the layer type of conversions.

        It is Cast if the most preferred backend runs that and not Arm NN's type.
        """
        key = (info.data_type, target)
        if key not in self._kinds:
            own = conversion_between(*key)
            choices = [probe(kind, info, target) for kind in dict.fromkeys((own, "Cast"))]
            chosen = self._preferred(choices) if len(choices) > 1 else None
            self._kinds[key] = own if chosen is None else chosen.type
        return self._kinds[key]

    def _constant(self, value: Value, target: DataType) -> NDArray[Any]:
        key = (value, target)
        if key not in self._data:
            self._data[key] = converted_data(np.asarray(value.constant), target, saturate=True)
        return self._data[key]


def probe(kind: str, info: TensorInfo, target: DataType) -> Layer:
    """Return a conversion in a network of its own."""
    network = Network()
    return network.add(kind, [network.add_input("x", info)], outputs=[target])


def _may_convert(layer: Layer, sources: Collection[DataType], target: DataType) -> bool:
    """Return whether a layer may compute in another type.

    A Cast to integers needs the precision of its input, and one from integers must round once.
    """
    if layer.spec.no_kernel or layer.type in ("BitCast", "Debug") or is_conversion(layer):
        return False
    if layer.type == "Cast" and not (
        target is DataType.FLOAT32 and layer.output.info.data_type not in sources
    ):
        return False
    infos = (*layer.input_infos, *layer.output_infos)
    return any(info is not None and info.data_type in sources for info in infos)


def reduce_floats(conversions: Conversions, options: OptimizerOptions) -> int:
    """Let Float32 layers compute in the options' 16 bits.

    (Arm NN: Fp32NetworkToFp16Converter, Fp32NetworkToBf16Converter, ConvertConstantsFloatToHalf.)
    Inputs and outputs of the network keep their types, and so do :func:`exact_layers`. Constants
    that the type cannot hold become its largest numbers.

    Returns:
        How many layers compute in the type.
    """
    if options.reduce_fp32_to_fp16:
        target = DataType.FLOAT16
    elif options.reduce_fp32_to_bf16:
        target = DataType.BFLOAT16
    else:
        return 0
    layers = conversions.network.topological_order()
    exact = exact_layers(layers)
    changed = [
        conversions.compute_in(layer, (DataType.FLOAT32,), target)
        for layer in layers
        if layer not in exact
    ]
    conversions.clean()
    conversions.network.remove_unused()
    return sum(layer is not None for layer in changed)


def _is_converted(layer: Layer, index: int, sources: Collection[DataType]) -> bool:
    value = layer.inputs[index]
    slot = layer.spec.input_slot(index)
    return value is not None and value.info.data_type in sources and not slot.shapes_output


def _added(
    network: Network,
    layer: Layer,
    inputs: Sequence[Value | None],
    sources: Collection[DataType],
    target: DataType,
) -> Layer | None:
    """Add a layer in another type, if its outputs fit."""
    requested = [_request(each, sources, target) for each in layer.requested]
    name = network.unique_name(layer.name)
    try:
        new = network.add(layer.type, inputs, layer.descriptor, name=name, outputs=requested)
    except InvalidArgumentError:
        return None
    for old, made in zip(layer.output_infos, new.output_infos, strict=True):
        fits = (old, old.with_data_type(target)) if old.data_type in sources else (old,)
        if made not in fits:
            network.remove(new)
            return None
    return new


def _request(requested: Requested, sources: Collection[DataType], target: DataType) -> Requested:
    if isinstance(requested, TensorInfo):
        return requested.with_data_type(target) if requested.data_type in sources else requested
    return target if requested in sources else requested


def _copied(scratch: Network, value: Value, index: int) -> Value:
    if value.constant is not None:
        return scratch.add_constant(value.constant, value.info)
    return scratch.add_input(str(index), value.info)
