# SPDX-License-Identifier: MIT
"""The memory strategies of a runtime, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from armnn import _metadata
from armnn._arguments import refused
from armnn._spelling import closest
from armnn.backends.options import ANY_BACKEND, DEFAULT_STRATEGY
from armnn.errors import InvalidArgumentError
from armnn.runtime.memory.planner import (
    Block,
    Layout,
    MemoryValidationError,
    Strategy,
    constant_memory,
    single_axis_priority_list,
    validate_layout,
)

GROUP: Final = "armnn.memory_strategies"
"""The entry-point group: an entry's name is that of the strategy, its value the function."""

_VALIDATOR: Final = "StrategyValidator"


@dataclass(frozen=True, slots=True)
class StrategyValidator:
    """Checks every layout of a strategy (Arm NN: ``StrategyValidator``).

    Attributes:
        strategy: The strategy, or its name.
    """

    strategy: str | Strategy = DEFAULT_STRATEGY

    def __call__(self, blocks: Sequence[Block]) -> Layout:
        """Return the layout of the strategy.

        Raises:
            MemoryValidationError: The layout is wrong.
            InvalidArgumentError: There is no such strategy, or it returns no layout.
        """
        layout = find_strategy(self.strategy)(blocks)
        name = name_of(self.strategy)
        if not isinstance(layout, Layout):
            raise refused(f"what the memory strategy {name!r} returns", layout, "a Layout")
        try:
            validate_layout(blocks, layout)
        except MemoryValidationError as error:
            raise MemoryValidationError(f"memory strategy {name!r}: {error}") from None
        return layout


STRATEGIES: Final[Mapping[str, Strategy]] = {
    "ConstantMemoryStrategy": constant_memory,
    "SingleAxisPriorityList": single_axis_priority_list,
    _VALIDATOR: StrategyValidator(),
}
"""Arm NN's strategies by name."""


def name_of(strategy: str | Strategy) -> str:
    """Return a strategy's name for messages."""
    if isinstance(strategy, str):
        return strategy
    return str(getattr(strategy, "__qualname__", type(strategy).__qualname__))


def find_strategy(strategy: str | Strategy) -> Strategy:
    """Return the strategy of a name, or the object itself.

    Args:
        strategy: One of :data:`STRATEGIES`, ``StrategyValidator(NAME)``, the name of an entry
            point, or a function.

    Raises:
        InvalidArgumentError: There is none of that name, or its entry point cannot be imported.
    """
    if isinstance(strategy, StrategyValidator):
        find_strategy(strategy.strategy)
    if not isinstance(strategy, str):
        return strategy
    wrapped = strategy.removeprefix(f"{_VALIDATOR}(").removesuffix(")")
    if wrapped and strategy == f"{_VALIDATOR}({wrapped})":
        return StrategyValidator(find_strategy(wrapped))
    if strategy in STRATEGIES:
        return STRATEGIES[strategy]
    entries = {entry.name: entry for entry in reversed(_metadata.entry_points(GROUP))}
    if strategy not in entries:
        known = [*STRATEGIES, *sorted(entries)]
        meant = closest(strategy, known)
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise InvalidArgumentError(
            f"there is no memory strategy {strategy!r}: choose one of {', '.join(known)}{hint}"
        )
    try:
        found: object = entries[strategy].load()
    except Exception as error:
        raise InvalidArgumentError(
            f"the memory strategy {strategy!r} cannot be imported from {entries[strategy].value}: "
            f"{error}"
        ) from error
    if not callable(found):
        raise refused(f"the memory strategy {strategy!r}", found, "a function of blocks")
    return found


class MemoryStrategies:
    """The strategy of each backend of a runtime.

    What is not Arm NN's is checked in each layout: a wrong one computes wrong outputs silently.
    """

    def __init__(
        self,
        default: str = DEFAULT_STRATEGY,
        by_backend: Mapping[str, str | Strategy] = MappingProxyType({}),
    ) -> None:
        """Find the strategies.

        Raises:
            InvalidArgumentError: There is none of a name, or one cannot be imported.
        """
        self._by_backend = {each: _checked(given) for each, given in by_backend.items()}
        self._default = self._by_backend.get(ANY_BACKEND) or _checked(default)

    def place(self, backend_id: str, blocks: Sequence[Block]) -> Layout:
        """Return the layout of a backend's working memory.

        Raises:
            MemoryValidationError: The strategy is wrong.
        """
        return self._by_backend.get(backend_id, self._default)(blocks)


def _checked(strategy: str | Strategy) -> Callable[[Sequence[Block]], Layout]:
    found = find_strategy(strategy)
    if found in STRATEGIES.values() or isinstance(found, StrategyValidator):
        return found
    return StrategyValidator(strategy)
