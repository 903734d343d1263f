# SPDX-License-Identifier: MIT
"""A network, which owns layers and keeps uses consistent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import stat_result
from typing import Any, Final, Self

from numpy.typing import ArrayLike, NDArray

from armnn.arguments import conversion, instance, items, mapping, refused, text, with_article
from armnn.errors import GraphError, InvalidArgumentError
from armnn.graph._builders import LayerBuilders
from armnn.graph._operands import (
    ARRAYS,
    Operand,
    checked_index,
    checked_inputs,
    checked_member,
    checked_operands,
    checked_request,
    checked_value,
    constant_array,
    namespace_of,
    replaced_inputs,
    spec_of,
    without_trailing_none,
)
from armnn.graph._order import Order, sorted_by_uses
from armnn.graph.aliases import Aliases
from armnn.graph.layer import Layer, Value, default_descriptor, make_outputs
from armnn.graph.operators import Operator
from armnn.graph.text import network_text, summary_of
from armnn.layers import LAYERS, Descriptor, LayerSpec, LayerType, RequestedLike
from armnn.tensor import Shape, TensorInfo, info_of
from armnn.types import QuantizedArithmetic

UNNAMED: Final = ""
"""Files beside a model of which only that they were read is known, in ``external_files``."""


class Network(LayerBuilders):
    """A directed acyclic graph of layers (Arm NN: ``INetwork``).

    Layers are made by ``add_<layer>()``, one typed method per layer type, or by :meth:`add`.
    Each checks its arguments and infers its output at once.

    Attributes:
        name: For people.
        file: The path of the model's file, for errors; "" without one.
        metadata: The metadata of the model's file.
        aliases: Second names of inputs and outputs; a parser sets them.
        declared_shapes: The file's shapes of outputs, by name, where nothing else is known.
        quantized_arithmetic: How quantized layers round; a parser sets it.
        origin: The operator that layers are being added for; a parser sets it.
        external_files: Files read below the model's folder, with their status; a parser sets it.
        is_folded: Whether quantized layers are there for those on floats: ``armnn.parsing.GROUP``.
        lets_constants_go: Whether constants may go one by one as their readers are compiled.
        is_temporary: Whether it goes once its layers were copied, as what replaces a part does.
        keeps_graphs: Whether what backends compile of it is to be compiled for other shapes, too.
    """

    def __init__(self, name: str = "", metadata: Mapping[str, str] | None = None) -> None:
        self.name = text(name, "the name of the network")
        self.file = ""
        self.metadata: dict[str, str] = dict(
            mapping({} if metadata is None else metadata, "the metadata")
        )
        self.aliases = Aliases()
        self.declared_shapes: dict[str, Shape] = {}
        self.quantized_arithmetic = QuantizedArithmetic.REAL
        self.origin: Operator | None = None
        self.external_files: dict[str, stat_result] = {}
        self.lets_constants_go = self.keeps_graphs = self.is_folded = False
        self.is_temporary = False
        self._layers: dict[Layer, None] = {}
        self._ends: dict[str, dict[Layer, None]] = {"Input": {}, "Output": {}}
        self._names: dict[tuple[str, str], Layer] = {}
        self._next_guid = 0
        self._order: Order | None = None

    @property
    def title(self) -> str:
        """Its name in errors: its file if it has one, else its name."""
        return f"the model {self.file!r}" if self.file else f"the network {self.name!r}"

    # -- reading --------------------------------------------------------------------------------

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Every layer, in the order in which they were made."""
        return tuple(self._layers)

    @property
    def inputs(self) -> tuple[Layer, ...]:
        """The Input layers, in the order of their creation."""
        return tuple(self._ends["Input"])

    @property
    def outputs(self) -> tuple[Layer, ...]:
        """The Output layers, in the order of their creation."""
        return tuple(self._ends["Output"])

    @property
    def is_self_contained(self) -> bool:
        """Whether all of it comes from the model's one file.

        Parsers that were made for armnn-core 1.2.0 set it, and name no files.
        """
        return not self.external_files

    @is_self_contained.setter
    def is_self_contained(self, value: bool) -> None:
        if not value:
            self.external_files.setdefault(UNNAMED, stat_result([0] * 10))

    def __len__(self) -> int:
        return len(self._layers)

    def __contains__(self, layer: object) -> bool:
        return isinstance(layer, Layer) and layer in self._layers

    def __str__(self) -> str:
        return network_text(repr(self)[1:-1], self.inputs, self.topological_order(), self.outputs)

    def __repr__(self) -> str:
        return f"<{summary_of(self.name, self.inputs, self._layers, self.outputs)}>"

    def find(self, name: str) -> Layer:
        """Return a layer by name, Input and Output layers excluded.

        Raises:
            InvalidArgumentError: There is none.
        """
        try:
            return self._names["", text(name, "the name of a layer")]
        except KeyError:
            raise InvalidArgumentError(f"{self.title} has no layer {name!r}") from None

    def topological_order(self) -> Order:
        """Return the layers so that each follows its producers.

        Where the order is free, older layers come first. Output layers come last, so that copies of
        a network keep their order.

        Raises:
            GraphError: The layers form a cycle.
        """
        if self._order is None:  # passes ask for it again and again, and most change nothing
            outputs = self._ends["Output"]
            made = [layer for layer in self._layers if layer not in outputs]
            order, stuck = sorted_by_uses([*made, *outputs])
            if stuck:
                raise GraphError(f"the layers {stuck} of {self.title} form a cycle")
            self._order = Order(order)
        return self._order

    # -- making ---------------------------------------------------------------------------------

    def add(
        self,
        layer_type: LayerType | str | int,
        inputs: Sequence[Operand] = (),
        descriptor: Descriptor | None = None,
        *,
        name: str | None = None,
        outputs: Sequence[RequestedLike] | None = None,
    ) -> Layer:
        """Add a layer of any type.

        Args:
            layer_type: Its type, or the type's name or number.
            inputs: One value per input slot; an array becomes a Constant layer, None is an
                optional input that is absent.
            descriptor: Its parameters; the defaults if left out.
            name: Unique in the network; made from the type if left out.
            outputs: One entry per output: the TensorInfo that it must have, its data type only (or
                the name of that, or NumPy's), or None to leave it to the layer.

        Returns:
            The layer; its values are in ``layer.outputs``.

        Raises:
            InvalidArgumentError: There is no such layer type, the name is taken, or an argument is
                of another kind.
            GraphError: An input belongs to another network.
            ShapeError: The inputs do not fit.
        """
        spec = spec_of(layer_type)
        descriptor = spec.descriptor() if descriptor is None else descriptor
        if type(descriptor) is not spec.descriptor:
            raise refused(
                f"the descriptor of {with_article(spec.name)} layer",
                descriptor,
                with_article(spec.descriptor.__name__),
            )
        count = len(spec.output_slots(descriptor))
        requests = (None,) * count if outputs is None else items(outputs, "the infos of outputs")
        if len(requests) != count:
            raise InvalidArgumentError(
                f"{with_article(spec.name)} layer with these parameters has {count} outputs: got "
                f"{len(requests)} infos for them"
            )
        requested = tuple([None if one is None else checked_request(one, spec) for one in requests])
        name = self._checked_name(spec, name)
        values = self._checked_inputs(spec, name, inputs)
        layer = Layer(spec, descriptor, name, self._next_guid, values, requested)
        layer.origin = self.origin
        make_outputs(layer, layer.infer_output_infos())
        self._enter(layer)
        return layer

    def add_input(self, name: str, info: TensorInfo) -> Value:
        """Add an input of the network.

        Raises:
            InvalidArgumentError: The network has an input of that name.
        """
        text(name, "the name of an input")
        instance(info, TensorInfo, f"the info of the input {name!r}")
        return self._add_source("Input", name, info)

    def add_output(self, name: str, value: Value) -> Layer:
        """Make a value an output of the network.

        Raises:
            InvalidArgumentError: The network has an output of that name.
        """
        text(name, "the name of an output")
        checked_value(value, f"the value of the output {name!r}")
        return self.add("Output", [value], name=name)

    def add_constant(
        self, data: ArrayLike, info: TensorInfo | None = None, *, name: str | None = None
    ) -> Value:
        """Add a tensor whose data is known.

        The data is not copied; it must not change afterwards.

        Args:
            data: The stored values.
            info: Their meaning, needed for quantized values; of the array by default.
            name: Unique in the network.

        Raises:
            InvalidArgumentError: The data does not have the type and shape of ``info``.
        """
        array = constant_array(data, name)
        info = info_of(array) if info is None else instance(info, TensorInfo, "the info")
        dtype = info.data_type.numpy_dtype
        if array.dtype != dtype or array.shape != info.shape:
            advice = conversion(array.dtype, dtype, is_quantized=info.is_quantized)
            hint = "" if array.dtype == dtype else f"; {advice}"
            raise InvalidArgumentError(
                f"the data of the constant {name or ''!r} is {array.dtype} of shape "
                f"{list(array.shape)}: expected {info}{hint}"
            )
        return self._add_source("Constant", name, info, array)

    # -- editing --------------------------------------------------------------------------------

    def unique_name(self, stem: str) -> str:
        """Return ``stem``, with the first free number if taken."""
        name, number = text(stem, "the stem of a name"), 1
        while ("", name) in self._names:
            number += 1
            name = f"{stem}_{number}"
        return name

    def replace_uses(self, old: Value, new: Value) -> None:
        """Let every reader of ``old`` read ``new``."""
        checked_value(new, "the new value")
        for layer, index in tuple(checked_value(old, "the old value").uses):
            values = checked_member(layer, self._layers, self.name).inputs
            self._read_instead(layer, (*values[:index], new, *values[index + 1 :]))

    def replace_input(self, layer: Layer, index: int, value: Value | None) -> None:
        """Let an input of a layer read another value."""
        index = checked_index(index, checked_member(layer, self._layers, self.name))
        values = [*layer.inputs, *[None] * (index + 1 - len(layer.inputs))]
        values[index] = value
        self.replace_inputs(layer, values)

    def replace_inputs(self, layer: Layer, values: Sequence[Value | None]) -> None:
        """Let a layer read other values; their number may differ."""
        checked_member(layer, self._layers, self.name)
        self._read_instead(layer, without_trailing_none(checked_inputs(layer, values)))

    def _read_instead(self, layer: Layer, values: tuple[Value | None, ...]) -> None:
        self._order = None
        for index, old in enumerate(layer.inputs):
            if old is not None:
                old.uses.pop((layer, index))
        layer.inputs = values
        for index, value in enumerate(values):
            if value is not None:
                value.uses[layer, index] = None

    def replace_descriptor(self, layer: Layer, descriptor: Descriptor) -> None:
        """Give a layer other parameters and infer its outputs again.

        Raises:
            ShapeError: The inputs do not fit the parameters.
        """
        checked_member(layer, self._layers, self.name)
        layer.descriptor = instance(descriptor, layer.spec.descriptor, "the descriptor")
        for value, info in zip(layer.outputs, layer.infer_output_infos(), strict=True):
            value.info = info
        layer.note_inference()

    def rename(self, layer: Layer, name: str) -> None:
        """Rename a layer; a taken name is made unique."""
        text(name, "the name of a layer")
        checked_member(layer, self._layers, self.name)
        del self._names[namespace_of(layer.spec), layer.name]
        layer.name = name if namespace_of(layer.spec) else self.unique_name(name)
        self._names[namespace_of(layer.spec), layer.name] = layer

    def remove(self, layer: Layer) -> None:
        """Take a layer out.

        Raises:
            GraphError: Something still reads it.
        """
        checked_member(layer, self._layers, self.name)
        if layer.is_read:
            readers = [reader.name for value in layer.outputs for reader, _ in value.uses]
            raise GraphError(f"layer {layer.name!r} is still read by {readers}: replace its uses")
        self._take_out(layer)

    def _take_out(self, layer: Layer) -> None:
        self._read_instead(layer, ())
        del self._layers[layer]
        namespace = namespace_of(layer.spec)
        del self._names[namespace, layer.name]
        if namespace:
            del self._ends[namespace][layer]
        layer.data = None  # a layer and its values refer to each other: they go later than this

    def clear(self) -> None:
        """Take all layers out; they cannot be used any more."""
        for layer in self._layers:
            layer.data = layer.compiled = None
            for value in layer.outputs:
                value.uses.clear()
            layer.inputs = layer.outputs = ()  # else only the garbage collector would free them
        self._layers.clear()
        self._names.clear()
        self._ends = {"Input": {}, "Output": {}}
        self._order = None

    def remove_unused(self) -> int:
        """Remove layers that no output depends on, Input layers excepted.

        Returns:
            How many layers went.
        """
        order, count = self._order, len(self._layers)
        pending = [layer for layer in self._layers if not layer.is_read]
        while pending:
            layer = pending.pop()
            if layer.type not in ("Input", "Output") and layer in self._layers:
                read = [value.producer for value in layer.inputs if value is not None]
                self._take_out(layer)
                pending += [producer for producer in read if not producer.is_read]
        removed = count - len(self._layers)
        if removed and order is not None:  # what nothing read changes nothing for the others
            self._order = Order(filter(self._layers.__contains__, order))
        return removed

    def clone(self) -> Self:
        """Return a copy with its own layers and shared data."""
        return self._copy_of(self.topological_order())

    def extract(self, layers: Iterable[Layer]) -> Self:
        """Return a copy of some layers with their producers.

        Every value that they read must be made by one of them.

        Raises:
            GraphError: A layer reads a value that none of them makes.
        """
        wanted = dict.fromkeys(
            instance(layer, Layer, "one of the layers") for layer in items(layers, "the layers")
        )
        return self._copy_of([layer for layer in self.topological_order() if layer in wanted])

    def insert_copies(
        self, layers: Sequence[Layer], replacements: Mapping[Value, Value]
    ) -> dict[Value, Value]:
        """Copy layers of another network into this one.

        Args:
            layers: In topological order.
            replacements: The values in the place of those that the layers read from elsewhere.

        Returns:
            The value of this network for each value of the layers and of ``replacements``.
        """
        values = dict(mapping(replacements, "the replacements"))
        for layer in items(layers, "the layers"):
            instance(layer, Layer, "one of the layers")
            inputs = replaced_inputs(layer, values)
            bound = namespace_of(layer.spec)  # the names of inputs and outputs belong to the caller
            name = layer.name if bound else self.unique_name(layer.name)
            twin = self._copy_layer(layer, inputs, name)
            values.update(zip(layer.outputs, twin.outputs, strict=True))
        return values

    def validate(self) -> None:
        """Check that the network can run.

        It must be acyclic and have outputs, and every shape function must accept its inputs.

        Raises:
            GraphError: It is not well formed.
            ShapeError: A layer's inputs do not fit; the first such layer is named.
        """
        self.check_outputs()
        for layer in self.topological_order():
            layer.infer_output_infos()

    def check_outputs(self) -> None:
        """Check that there is something to compute.

        Raises:
            GraphError: It has no output.
        """
        if not self.outputs:
            raise GraphError(f"{self.title} has no output: add_output() makes one")

    # -- inside ---------------------------------------------------------------------------------

    def _add_source(
        self, kind: str, name: str | None, info: TensorInfo, data: NDArray[Any] | None = None
    ) -> Value:
        """Add a layer without inputs, of which nothing is inferred."""
        spec = LAYERS[kind]
        name = self._checked_name(spec, name)
        descriptor = default_descriptor(spec.descriptor)
        layer = Layer(spec, descriptor, name, self._next_guid, (), (info,))
        layer.origin, layer.data = self.origin, data
        make_outputs(layer, (info,), are_inferred=False)
        self._enter(layer)
        return layer.outputs[0]

    def _copy_of(self, layers: Iterable[Layer]) -> Self:
        """Return a copy of layers in their order."""
        copy = type(self)(self.name, self.metadata)
        copy.file = self.file
        copy.aliases, copy.declared_shapes = self.aliases, dict(self.declared_shapes)
        copy.quantized_arithmetic = self.quantized_arithmetic
        copy.external_files, copy.is_folded = dict(self.external_files), self.is_folded
        values: dict[Value, Value] = {}
        for layer in layers:
            twin = copy._copy_layer(layer, replaced_inputs(layer, values))
            values.update(zip(layer.outputs, twin.outputs, strict=True))
        copy._order = Order(copy._layers)  # which they were made in
        return copy

    def _copy_layer(
        self, layer: Layer, inputs: tuple[Value | None, ...], name: str | None = None
    ) -> Layer:
        twin = Layer(
            layer.spec,
            layer.descriptor,
            layer.name if name is None else name,
            self._next_guid,
            inputs,
            layer.requested,
        )
        twin.backend, twin.backend_hint = layer.backend, layer.backend_hint
        twin.data, twin.compiled, twin.origin = layer.data, layer.compiled, layer.origin
        twin.outputs = tuple([Value(each.info, twin, each.index) for each in layer.outputs])
        twin.note_inference_of(layer)
        self._enter(twin)
        return twin

    def _enter(self, layer: Layer) -> None:
        self._order = None
        self._layers[layer] = None
        ends = self._ends.get(layer.type)
        if ends is None:
            self._names["", layer.name] = layer
        else:
            self._names[layer.type, layer.name] = layer
            ends[layer] = None
        self._next_guid += 1
        for index, value in enumerate(layer.inputs):
            if value is not None:
                value.uses[layer, index] = None

    def _checked_name(self, spec: LayerSpec, name: str | None) -> str:
        if name is None:
            return self.unique_name(f"{spec.name}_{self._next_guid}")
        if type(name) is not str:
            name = text(name, f"the name of {with_article(spec.name)} layer")
        if (namespace_of(spec), name) in self._names:
            raise InvalidArgumentError(
                f"{self.title} already has a layer {name!r}"
                f"{' of type ' + spec.name if namespace_of(spec) else ''}: choose another name"
            )
        return name

    def _checked_inputs(
        self, spec: LayerSpec, name: str, inputs: Sequence[Operand]
    ) -> tuple[Value | None, ...]:
        checked, are_made = checked_operands(inputs, spec, name), True
        for value in checked:
            if not isinstance(value, Value):
                are_made = are_made and value is None
            elif value.producer not in self._layers:
                raise GraphError(
                    f"layer {name!r} ({spec.name}): the value {value.name!r} belongs to another "
                    "network"
                )
        made: Sequence[Any] = checked
        if not are_made:
            made = [self.add_constant(x) if isinstance(x, ARRAYS) else x for x in checked]
        return without_trailing_none(made)


LayerGraph = Network
"""The name that armnn-core 1.2.0 had for it."""
