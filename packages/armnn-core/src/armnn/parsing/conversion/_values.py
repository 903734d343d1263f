# SPDX-License-Identifier: MIT
"""The values of a network under construction, by key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from armnn.graph import Network, Survey, Value
from armnn.tensor import TensorInfo

Key = TypeVar("Key")


class ValueTable(ABC, Generic[Key]):
    """Values by name or index; a parser adds its constants.

    Attributes:
        network: The network that is being made.
        prefix: How the names of the layers begin.
        survey: Where operators are noted; None if those that cannot be converted are an error.
        known: The values that are inputs or were made.
    """

    def __init__(self, network: Network, prefix: str = "", survey: Survey | None = None) -> None:
        self.network = network
        self.prefix = prefix
        self.survey = survey
        self.known: dict[Key, Value] = {}

    def __contains__(self, key: Key) -> bool:
        return key in self.known

    @abstractmethod
    def check_free(self, key: Key) -> None:
        """Check that no value has a key yet.

        Raises:
            ParseError: One has.
        """

    @abstractmethod
    def value(self, key: Key) -> Value:
        """Return a key's value; data becomes a Constant layer once.

        Raises:
            ParseError: The file lacks it, or its data is malformed.
        """

    def add_input(self, key: Key, info: TensorInfo, name: str = "") -> None:
        """Add an input of the network, named after its key.

        Raises:
            ParseError: The key is taken.
        """
        self.check_free(key)
        self.known[key] = self.network.add_input(name or str(key), info)

    def bind(self, key: Key, value: Value) -> None:
        """Make a value known by its key.

        Raises:
            ParseError: The key is taken.
        """
        self.check_free(key)
        self.known[key] = value

    def bind_all(self, keys: Iterable[Key], values: Iterable[Value]) -> None:
        """Make values known by their keys, which are as many.

        Raises:
            ParseError: A key is taken.
        """
        for key, value in zip(keys, values, strict=True):
            self.bind(key, value)

    def unique_name(self, stem: str) -> str:
        """Return a free name for a layer."""
        return self.network.unique_name(self.prefix + stem)
