# SPDX-License-Identifier: MIT
"""The layers of a network, and the values between them."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Any

from numpy.typing import NDArray

from armnn.arguments import text
from armnn.graph.operators import DeferredOperator, Operator
from armnn.graph.python_operators import OperatorCall
from armnn.layers import Descriptor, LayerSpec, Requested
from armnn.layers._inference import infer_outputs
from armnn.tensor import TensorInfo


class Value:
    """One output of one layer.

    A value is equal only to itself. Its uses are kept by :class:`~armnn.graph.network.Network`;
    only the network's own methods change them.

    Attributes:
        info: Shape, data type and quantization.
        producer: The layer that makes it.
        index: Which output of the producer it is.
        uses: The (layer, input index) pairs that read it, in the order in which they were made.
    """

    __slots__ = ("index", "info", "producer", "uses")

    def __init__(self, info: TensorInfo, producer: Layer, index: int) -> None:
        self.info = info
        self.producer = producer
        self.index = index
        self.uses: dict[tuple[Layer, int], None] = {}

    @property
    def name(self) -> str:
        """The producer's name, with a number among several outputs."""
        if len(self.producer.outputs) == 1:
            return self.producer.name
        return f"{self.producer.name}:{self.index}"

    @property
    def constant(self) -> NDArray[Any] | None:
        """The data, if a Constant layer makes it."""
        return self.producer.data

    @property
    def consumers(self) -> tuple[Layer, ...]:
        """The layers that read it, each once."""
        return tuple(dict.fromkeys(layer for layer, _ in self.uses))

    def __repr__(self) -> str:
        return f"<Value {self.name!r} {self.info}>"


class Layer:
    """One layer, made by its network only.

    A layer is equal only to itself.

    Attributes:
        spec: Its row of the layer table.
        type: The name of the layer type, "Convolution2d" for one.
        descriptor: Its parameters.
        name: Unique in its network.
        guid: Unique in its network and never used again; a higher one was made later.
        inputs: One value per input slot, None for an optional input that is absent. Trailing
            absent inputs are left out.
        outputs: The values that it makes.
        requested: The wish of the layer's maker for each output.
        backend: The id of the backend that runs it, once one was assigned.
        backend_hint: The id of the backend that its maker would like.
        data: The data of a Constant layer.
        compiled: The object that a PreCompiled layer holds for its backend, or that of a StandIn
            layer: a :class:`~armnn.graph.DeferredOperator` or an ``OperatorCall``.
        origin: The operator of the model's file that it is for, if it is for one.
        inferred: The facts that its outputs were inferred from, and their infos; None if they were
            not.
    """

    __slots__ = (
        "backend",
        "backend_hint",
        "compiled",
        "data",
        "descriptor",
        "guid",
        "inferred",
        "inputs",
        "name",
        "origin",
        "outputs",
        "requested",
        "spec",
        "type",
    )

    def __init__(
        self,
        spec: LayerSpec,
        descriptor: Descriptor,
        name: str,
        guid: int,
        inputs: tuple[Value | None, ...],
        requested: tuple[Requested, ...],
    ) -> None:
        self.spec = spec
        self.type = spec.name
        self.descriptor = descriptor
        self.name = name
        self.guid = guid
        self.inputs = inputs
        self.requested = requested
        self.backend: str | None = None
        self.backend_hint: str | None = None
        self.data: NDArray[Any] | None = None
        self.compiled: object | None = None
        self.origin: Operator | None = None
        self.outputs: tuple[Value, ...] = ()
        self.inferred: list[object] | None = None

    @property
    def output(self) -> Value:
        """The only output."""
        (only,) = self.outputs
        return only

    @property
    def call(self) -> OperatorCall | None:
        """The operator in Python that a StandIn layer is for, None of other layers."""
        held = self.compiled  # None of nearly all
        return held if isinstance(held, OperatorCall) else None

    @property
    def why_no_file(self) -> str:
        """Why no model file can hold it, whatever the format; "" of nearly all layers."""
        held = self.compiled
        if isinstance(held, OperatorCall):
            return f"it is {held!r}, a Python function, which cannot be stored"
        if not isinstance(held, DeferredOperator):
            return ""
        if held.registration is not None:
            return f"it is the operator {held.registration} in Python, which no file can hold"
        awaited = "data that a run computes" if held.awaits else "the shapes of its inputs"
        return (
            f"it is the operator {held.operator!r}, which becomes layers once {awaited} are known"
        )

    @property
    def title(self) -> str:
        """The type for people: that of an operator in Python is its domain and name."""
        return self.type if self.call is None else str(self.call.operator)

    @property
    def is_read(self) -> bool:
        """Whether something reads one of the outputs."""
        for value in self.outputs:  # noqa: SIM110  # a generator takes twice the time
            if value.uses:
                return True
        return False

    @property
    def input_infos(self) -> tuple[TensorInfo | None, ...]:
        """One info per input, None where the input is absent."""
        # Here and below a generator would take twice the time.
        return tuple([None if value is None else value.info for value in self.inputs])

    @property
    def output_infos(self) -> tuple[TensorInfo, ...]:
        """One info per output."""
        return tuple([value.info for value in self.outputs])

    def input(self, name: str) -> Value | None:
        """Return the value in an input slot, None if absent.

        Raises:
            UnknownNameError: The layer type has no such input; it is a KeyError.
        """
        index = self.spec.input_index(text(name, "the name of an input"))
        return self.inputs[index] if index < len(self.inputs) else None

    def constant(self, name: str) -> NDArray[Any] | None:
        """Return an input's data if a Constant layer makes it."""
        value = self.input(name)
        return None if value is None else value.constant

    def infer_output_infos(
        self, values: Sequence[NDArray[Any] | None] | None = None
    ) -> tuple[TensorInfo, ...]:
        """Return the output infos that the shape function infers now.

        Args:
            values: The data of the inputs where known; the data of Constant layers by default.

        Raises:
            ShapeError: The inputs do not fit; the message names the layer.
        """
        if values is None:
            values = [None if value is None else value.producer.data for value in self.inputs]
        try:
            return infer_outputs(
                self.spec, self.descriptor, self.input_infos, values, self.requested
            )
        except ValueError as error:
            raise type(error)(f"layer {self.name!r} ({self.type}): {error}") from error

    def note_inference(self) -> None:
        """Note that the outputs have infos inferred now."""
        self.inferred = self._facts()

    @property
    def is_inferred(self) -> bool:
        """Whether to infer the outputs again would change nothing.

        It would not where parameters and infos are the very objects of the last time, and so are
        the inputs if the shape function reads data.
        """
        known = self.inferred
        if known is None or known[0] is not self.descriptor:
            return False
        now = self._facts()
        return len(known) == len(now) and all(map(is_, known, now))

    def note_inference_of(self, twin: Layer) -> None:
        """Record how a copy with the same outputs infers their infos."""
        if not self.spec.reads_data:
            self.inferred = twin.inferred  # holds as long as these are the infos of this layer, too
        elif twin.is_inferred and all(map(_is_alike, self.inputs, twin.inputs)):
            self.note_inference()

    def _facts(self) -> list[object]:
        """Return the facts that decide about the outputs, and their infos."""
        facts: list[object] = [self.descriptor, self.requested]
        if self.spec.reads_data:
            facts.append(self.inputs)
        # Asked again and again, mostly of one or two values: comprehensions take twice the time.
        for value in self.inputs:
            facts.append(None if value is None else value.info)  # noqa: PERF401  # as above
        for made in self.outputs:
            facts.append(made.info)  # noqa: PERF401  # as above
        return facts

    def __repr__(self) -> str:
        return f"<Layer {self.name!r} ({self.type})>"


def _is_alike(value: Value | None, other: Value | None) -> bool:
    """Return whether a shape function finds the same in both."""
    if value is None or other is None:
        return value is other
    return value.info is other.info and value.constant is other.constant


def default_descriptor(kind: type[Descriptor]) -> Descriptor:
    """Return a descriptor of defaults, one for all layers.

    It cannot be changed.
    """
    known = _defaults.get(kind)
    if known is None:
        known = _defaults[kind] = kind()
    return known


_defaults: dict[type[Descriptor], Descriptor] = {}


def make_outputs(layer: Layer, infos: Sequence[TensorInfo], *, are_inferred: bool = True) -> None:
    """Give a new layer its outputs, perhaps inferred."""
    if len(infos) == 1:  # as of most, where this takes half the time
        layer.outputs = (Value(infos[0], layer, 0),)
    else:
        layer.outputs = tuple([Value(info, layer, index) for index, info in enumerate(infos)])
    if are_inferred:
        layer.note_inference()
