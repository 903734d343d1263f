# SPDX-License-Identifier: MIT
"""The network in the making, by the model's value names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ParseError
from armnn.graph import Network, Survey, Value
from armnn.parsing.conversion import RefusedError, ValueTable
from armnn.tensor import Shape
from armnn.types import DataType
from armnn_parser_onnx import messages
from armnn_parser_onnx.body import Bodies
from armnn_parser_onnx.tensors import ExternalData, to_array


class FewBits(NamedTuple):
    """Weights of few bits in blocks, which a value has as real numbers.

    Attributes:
        packed: [N, bytes], the numbers of each column of a matrix [K, N] from the low bits on.
        scales: [N, blocks].
        zero_points: [N, bytes], packed likewise; None for 2^(bits - 1).
        bits: The bits of a number.
        block_size: How many share a scale.
        is_turned: Whether the value is [N, K].
    """

    packed: NDArray[np.uint8]
    scales: NDArray[Any]
    zero_points: NDArray[np.uint8] | None
    bits: int
    block_size: int
    is_turned: bool


Quantization: TypeAlias = "tuple[DataType, tuple[float, ...], tuple[int, ...]]"
"""Type, scales and zero points."""


class DerivedArrays:
    """Arrays derived from others, once for all networks."""

    def __init__(self) -> None:
        # Each entry holds the array that it was made from, so that the id stays taken.
        self._derived: dict[tuple[int, str], tuple[NDArray[Any], NDArray[Any]]] = {}

    def get(
        self, array: NDArray[Any], how: str, change: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return ``change`` of an array; ``how`` identifies the change."""
        key = (id(array), how)
        if key not in self._derived:
            self._derived.setdefault(key, (array, change(array)))
        return self._derived[key][1]


class Graph(ValueTable[str]):
    """Values by name; initializers are read on first use.

    Attributes:
        external_data: Reads the tensors that stand in other files.
        bodies: The graphs in attributes of the nodes that are converted.
        derived: Keeps derived data for other networks; None where there is only one.
        scope: Stands before the names of the nodes where they must be unique in the file.
        is_late: Whether its nodes have waited: those that may do without data wait no longer.
        may_fold: Whether quantized operators may become layers on stored values.
        quantizations: The quantizations of scales and zero points, by name; ``folded`` fills it.
        sequences: The tensors of each sequence by its name; see ``sequences``.
        few_bits: The weights of few bits that values have as real numbers.
    """

    def __init__(
        self,
        network: Network,
        external_data: ExternalData,
        bodies: Bodies | None = None,
        derived: DerivedArrays | None = None,
        prefix: str = "",
        scope: str = "",
        survey: Survey | None = None,
    ) -> None:
        super().__init__(network, prefix, survey)
        self.external_data = external_data
        self.bodies: Bodies = {} if bodies is None else bodies
        self.derived = derived
        self.scope = scope
        self.is_late = self.may_fold = False
        self.quantizations: dict[tuple[str, ...], Quantization | None] = {}
        self.sequences: dict[str, tuple[Value, ...]] = {}
        self.few_bits: dict[Value, FewBits] = {}
        self._initializers: dict[str, messages.Tensor | NDArray[Any]] = {}
        self._types: dict[str, DataType] = {}
        self._derived: dict[tuple[Value, str], Value] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.known or name in self._initializers or name in self.sequences

    def add_initializer(self, tensor: messages.Tensor) -> None:
        """Make a tensor of the file known by its name.

        Raises:
            ParseError: The name is taken or empty.
        """
        self.check_free(tensor.name)
        self._initializers[tensor.name] = tensor

    def add_array(self, name: str, data: NDArray[Any]) -> None:
        """Make an initializer known that is decoded already.

        Raises:
            ParseError: The name is taken or empty.
        """
        self.check_free(name)
        self._initializers[name] = data

    def value(self, name: str) -> Value:
        """Return a name's value; an initializer becomes one Constant layer.

        Raises:
            ParseError: Nothing makes it, or the data of the initializer is malformed.
        """
        known = self.known.get(name)
        if known is not None:
            return known
        value = self.network.add_constant(self._array(name), name=self.unique_name(name))
        self.known[name] = value
        return value

    def constant(self, name: str) -> NDArray[Any] | None:
        """Return a name's data, None if the network computes it.

        That makes no layer: many scales and zero points are read so only.
        """
        known = self.known.get(name)
        return self._array(name) if known is None else known.constant

    def data_type_of(self, name: str) -> DataType:
        """Return a name's data type without making a layer."""
        known = self.known.get(name)
        if known is not None:
            return known.info.data_type
        found = self.initializer_type(name)
        return DataType.from_numpy(self._array(name).dtype) if found is None else found

    def initializer_type(self, name: str) -> DataType | None:
        """Return an initializer's data type, None of another name."""
        found = self._types.get(name)  # scales and zero points are asked for several times
        if found is None and name in self._initializers:
            found = self._types[name] = DataType.from_numpy(self._array(name).dtype)
        return found

    def _array(self, name: str) -> NDArray[Any]:
        """Return the data of an initializer, which is decoded once."""
        given = self._initializers.get(name)
        if isinstance(given, np.ndarray):
            return given
        if given is None:
            if name in self.sequences:
                raise RefusedError(f"it reads {name!r}, and networks have no sequences")
            raise ParseError(f"{name!r} is read, but no node, input or initializer makes it")
        made = self._initializers[name] = to_array(given, self.external_data)
        return made

    def shape_of(self, name: str) -> Shape | None:
        """Return a name's shape, None if its rank is unknown."""
        known = self.known.get(name)
        return self._array(name).shape if known is None else known.info.shape

    def derived_constant(
        self, value: Value, how: str, change: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> Value:
        """Return a constant derived from another one, made once.

        Args:
            value: The constant that it is made from.
            how: Says what ``change`` does; becomes part of the layer's name.
            change: From the data of ``value`` to the data of the result.

        Raises:
            ParseError: ``value`` is not constant.
        """
        if value.constant is None:
            raise ParseError(f"{value.name!r} is computed: expected a constant")
        if (value, how) not in self._derived:
            if self.derived is None:
                data = change(value.constant)
            else:
                data = self.derived.get(value.constant, how, change)
            name = self.network.unique_name(f"{value.name}/{how}")
            self._derived[value, how] = self.network.add_constant(data, name=name)
        return self._derived[value, how]

    def check_free(self, name: str) -> None:
        """Check that no value has a name yet.

        Raises:
            ParseError: One has, or the name is empty.
        """
        if not name or name in self:
            raise ParseError(f"two inputs, initializers or nodes make a value named {name!r}")
