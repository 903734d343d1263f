# SPDX-License-Identifier: MIT
"""The reference's values of a network, dropped after use.

Every layer is computed of the reference's own values, so that no error of another backend reaches
them: they are clean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armnn.errors import ExecutionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from armnn.debugging.reference import Reference
    from armnn.graph import Layer, Network, Value

    Array = NDArray[Any]

KEPT_BYTES = 2**19
"""Values of a network that are kept for later stages rather than computed again."""

NOT_COMPUTED = ("Input", "Output", "Constant")
"""Layer types that no backend computes."""


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """A layer with its clean inputs and outputs, as stored.

    Attributes:
        layer: The layer.
        operands: One array per input, None where it is absent.
        outputs: One array per output.
    """

    layer: Layer
    operands: Sequence[Array | None]
    outputs: Sequence[Array]


class CleanValues:
    """Computes a network's values, one layer at a time.

    Args:
        network: Its shapes are known.
        inputs: One array per input.
        reference: Computes the layers.
        held: Values that stay after their last reader until they are let go.
    """

    def __init__(
        self,
        network: Network,
        inputs: Mapping[str, Array],
        reference: Reference,
        held: Iterable[Value] = (),
    ) -> None:
        self.outputs: dict[str, Array] = {}
        self._network = network
        self._reference = reference
        self._inputs = inputs
        self._order = iter(network.topological_order())
        self._values = {layer.output: inputs[layer.name] for layer in network.inputs}
        self._readers: Counter[Value] = Counter()
        for layer in network.layers:
            self._readers.update(value for value in layer.inputs if value is not None)
        self._readers.update(tuple(dict.fromkeys(held)))
        self._keeps = is_small(network)
        self._visits: list[Visit] = []
        self._replays = False

    def __iter__(self) -> Iterator[Visit]:
        """Yield the layers that are left, each computed."""
        if self._replays:
            yield from self._visits
        for layer in self._order:
            visit = self._visit(layer)
            if visit is not None:
                yield visit
            visit = None  # its values go before the next layer's are made

    def until(self, value: Value) -> Array:
        """Return a value; layers up to its own are computed.

        Raises:
            ExecutionError: It was dropped already.
        """
        if value.constant is not None:
            return value.constant
        while value not in self._values:
            layer = next(self._order, None)
            if layer is None:
                raise ExecutionError(f"the clean value {value.name!r} is gone")
            self._visit(layer)
        return self._values[value]

    def again(self, held: Iterable[Value] = ()) -> CleanValues:
        """Return the values from the first layer on.

        A small network's are kept and not computed again; all of them were computed before.

        Args:
            held: Values that stay after their last reader.
        """
        if not self._keeps:
            return CleanValues(self._network, self._inputs, self._reference, held)
        self._replays = True
        return self

    def let_go(self, value: Value) -> None:
        """Drop a value unless something else reads it."""
        self._readers[value] -= 1
        self._drop_unread(value)

    def _visit(self, layer: Layer) -> Visit | None:
        """Compute the next layer; None without computation."""
        operands = [self._operand(value) for value in layer.inputs]
        visit = None
        if layer.type == "Output":
            (only,) = operands
            if only is not None:
                self.outputs[layer.name] = only
        elif layer.type not in NOT_COMPUTED:
            visit = Visit(layer, operands, self._reference.own(layer, operands))
            self._values.update(zip(layer.outputs, visit.outputs, strict=True))
            if self._keeps:
                self._visits.append(visit)
        for value in layer.inputs:
            if value is not None:
                self.let_go(value)
        for value in layer.outputs:
            self._drop_unread(value)
        return visit

    def _operand(self, value: Value | None) -> Array | None:
        if value is None:
            return None
        return self._values[value] if value.constant is None else value.constant

    def _drop_unread(self, value: Value) -> None:
        if self._readers[value] <= 0 and not self._keeps:
            self._values.pop(value, None)


def is_small(network: Network) -> bool:
    """Return whether all values together are worth to be kept."""
    sizes = (
        value.info.size_bytes
        for layer in network.layers
        if layer.type not in NOT_COMPUTED
        for value in layer.outputs
        if value.info.is_static
    )
    return sum(sizes) <= KEPT_BYTES
