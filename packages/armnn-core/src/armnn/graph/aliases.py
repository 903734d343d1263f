# SPDX-License-Identifier: MIT
"""Second names of a network's inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Aliases:
    """Second names of inputs and outputs: those of tensors.

    Attributes:
        inputs: From the second name to the name of the input.
        outputs: From the second name to the name of the output.
    """

    inputs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    outputs: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    def __bool__(self) -> bool:
        return bool(self.inputs) or bool(self.outputs)


class Aliased(dict[str, _Item]):
    """A dictionary whose items are also found by second names.

    Iteration, length and comparison know the first names only.
    """

    __slots__ = ("aliases",)

    def __init__(self, items: Mapping[str, _Item], aliases: Mapping[str, str]) -> None:
        super().__init__(items)
        self.aliases = aliases

    def __missing__(self, key: str) -> _Item:
        """Return the item of a second name."""
        if key not in self.aliases:
            raise KeyError(key)
        return self[self.aliases[key]]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.aliases

    def get(self, key: str, default: Any = None) -> Any:
        """Return the item of a name, or the default."""
        name = key if super().__contains__(key) else self.aliases.get(key, key)
        return super().get(name, default)

    def __reduce__(self) -> tuple[Any, ...]:
        return Aliased, (dict(self), dict(self.aliases))


_new_dictionary: Final = dict.__new__


def empty_aliased(aliases: Mapping[str, str]) -> Aliased[Any]:
    """Return one without items, to be filled.

    Each run of a TensorFlow Lite model makes one: without ``__init__`` it takes 0.05 us of the two
    of a small model, with it 0.2.
    """
    made: Aliased[Any] = _new_dictionary(Aliased)
    made.aliases = aliases
    return made


def aliases_of(items: object) -> Mapping[str, str]:
    """Return the second names in a dictionary, if any."""
    return items.aliases if isinstance(items, Aliased) else MappingProxyType({})


def first_names(given: Mapping[str, _Item], aliases: Mapping[str, str]) -> dict[str, _Item]:
    """Return items by their first names.

    A second name beside its first one stays, so that the caller refuses it as unknown.
    """
    return {
        name if (first := aliases.get(name, name)) in given else first: item
        for name, item in given.items()
    }
