# SPDX-License-Identifier: MIT
"""From operators to layers, with refusals and deferral."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar

from armnn.errors import ArmnnError, UnsupportedOperatorError
from armnn.graph import DeferredOperator, Network, Operator, Survey, Value
from armnn.layers.plumbing import StandInDescriptor
from armnn.parsing.conversion._operation import NotKnownYetError, Operation, RefusedError
from armnn.parsing.conversion._values import Key
from armnn.tensor import TensorInfo

Record = TypeVar("Record")
"""What a parser reads of one operator from the file."""

Found = TypeVar("Found")
"""What a parser has to convert an operator by."""

Converted: TypeAlias = Value | Sequence[Value]
"""What a function that converts an operator returns: its output, or its outputs."""

AnyOperation = TypeVar("AnyOperation", bound=Operation)


class Conversion(ABC, Generic[Record, Found, Key]):
    """Converts operators one by one, in the graph's order.

    An operator that is refused does not end the conversion: all refusals are reported together. One
    that reads what a refused one would make is left out.

    Attributes:
        network: The network that layers are added to.
        survey: Where operators are noted; None if refusals are an error.
    """

    places = "at"
    """What stands before the places of an operator in the message of :meth:`raise_refused`."""

    def __init__(self, network: Network, survey: Survey | None) -> None:
        self.network = network
        self.survey = survey
        self._refused: dict[tuple[str, str], list[str]] = {}
        self._unavailable: dict[Key, None] = {}

    @abstractmethod
    def operator_of(self, record: Record) -> Operator:
        """Return an operator's type and its unique name."""

    @abstractmethod
    def place_of(self, record: Record) -> str:
        """Return where an operator is, for the list of refusals."""

    @abstractmethod
    def keys_read(self, record: Record) -> Iterable[Key]:
        """Return the keys of what an operator reads."""

    @abstractmethod
    def keys_made(self, record: Record) -> Iterable[Key]:
        """Return the keys of what an operator makes."""

    @abstractmethod
    def find(self, record: Record) -> Found:
        """Return what converts an operator.

        Raises:
            RefusedError: Nothing does.
        """

    @abstractmethod
    def add_layers(self, record: Record, found: Found) -> None:
        """Add an operator's layers and make its outputs known.

        Raises:
            RefusedError: Layers cannot compute it.
            NotKnownYetError: It must wait for data or shapes.
        """

    @abstractmethod
    def defer(self, record: Record, found: Found, unknown: NotKnownYetError) -> None:
        """Add a StandIn layer, by :func:`add_stand_in`.

        Raises:
            RefusedError: There is nothing to wait for.
        """

    def convert(self, record: Record) -> None:
        """Add an operator's layers, or note why that is impossible."""
        outer, self.network.origin = self.network.origin, self.operator_of(record)
        self.convert_part(record)
        self.network.origin = outer

    def convert_part(self, record: Record) -> None:
        """Do as :meth:`convert` for a part of another operator."""
        survey, origin = self.survey, self.network.origin
        try:
            found = self.find(record)
            missing = self._unavailable.keys()  # none in nearly every model
            if missing and not missing.isdisjoint(self.keys_read(record)):
                if survey is not None and origin is not None:
                    survey.cut_off[origin] = None
                self._give_up(record)
                return
            try:
                self.add_layers(record, found)
            except NotKnownYetError as unknown:
                self.defer(record, found, unknown)
        except RefusedError as refusal:
            if survey is not None and origin is not None:
                survey.operators[origin] = str(refusal)
            kind = (self.operator_of(record).type, str(refusal))
            self._refused.setdefault(kind, []).append(self.place_of(record))
            self._give_up(record)
        except UnsupportedOperatorError as error:  # of a graph inside of the operator
            if survey is None or origin is None:
                raise
            survey.operators[origin] = str(error)
            self._give_up(record)

    def raise_refused(self) -> None:
        """Report everything that could not be converted.

        Raises:
            UnsupportedOperatorError: There is something, and no survey that it was noted in.
        """
        if not self._refused or self.survey is not None:
            return
        listed = "; ".join(
            f"{name} ({self.places} {', '.join(places)}): {reason}"
            for (name, reason), places in self._refused.items()
        )
        names = dict.fromkeys(name for name, _ in self._refused)
        raise UnsupportedOperatorError(f"the model uses unsupported operators: {listed}", (*names,))

    def _give_up(self, record: Record) -> None:
        self._unavailable.update(dict.fromkeys(self.keys_made(record)))


def values_of(
    operation: AnyOperation, convert: Callable[[AnyOperation], Converted]
) -> Sequence[Value]:
    """Convert an operator, return its outputs, name it in errors.

    Raises:
        RefusedError: Layers cannot compute it.
        ParseError: It is malformed.
    """
    try:
        values = convert(operation)
    except UnsupportedOperatorError:
        raise  # of a graph inside of the operator: it names the operators in there
    except ArmnnError as error:
        if str(error).startswith(str(operation)):
            raise
        raise operation.error(str(error)) from error
    return (values,) if isinstance(values, Value) else values


def add_stand_in(
    network: Network,
    deferred: DeferredOperator,
    inputs: Sequence[Value],
    unknown: NotKnownYetError,
    infos: Callable[[], Sequence[TensorInfo]],
    name: Callable[[], str],
) -> Sequence[Value]:
    """Add a StandIn layer for later conversion; return its outputs.

    Args:
        network: The network.
        deferred: What makes the layers then.
        inputs: What the operator reads.
        unknown: What it waits for.
        infos: Returns what is known of its outputs.
        name: Returns a free name for the layer.

    Raises:
        RefusedError: There is nothing to wait for; ``infos`` may raise it as well.
    """
    if not deferred.awaits and all(value.info.is_static for value in inputs):
        raise unknown
    outputs = infos()
    stand_in = network.add(
        "StandIn",
        inputs,
        StandInDescriptor(num_outputs=len(outputs)),
        name=name(),
        outputs=outputs,
    )
    stand_in.compiled = deferred
    return stand_in.outputs
