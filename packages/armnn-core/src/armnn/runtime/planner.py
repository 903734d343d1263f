# SPDX-License-Identifier: MIT
"""The memory planner: a pure function from lifetimes to offsets.

The strategies carry the names of Arm NN's ``IMemoryOptimizerStrategy`` library; a runtime has
further ones by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from armnn import metadata
from armnn.arguments import closest, refused
from armnn.backends.memory import ALIGNMENT
from armnn.backends.options import ANY_BACKEND, DEFAULT_STRATEGY
from armnn.errors import ArmnnError, InvalidArgumentError
from armnn.optimizer.plan import Plan, PlannedTensor


def lifetimes(plan: Plan) -> dict[PlannedTensor, tuple[int, int]]:
    """Return the first and last step of each tensor's memory.

    Inputs are written in step 0, the first layer is step 1. Outputs of the network live to the end;
    a tensor whose memory is imported lives until the last reader of what was imported.
    """
    end = len(plan.layers) + 1
    last = {tensor: end for tensor in plan.outputs.values() if tensor is not None}
    for step, layer in zip(range(end - 1, 0, -1), reversed(plan.layers), strict=True):
        use = max(step, last.get(layer.outputs[0], 0)) if layer.type == "MemImport" else step
        for tensor in layer.inputs:
            if tensor is not None:
                last[tensor] = max(last.get(tensor, 0), use)
    found = {tensor: (0, last.get(tensor, 0)) for tensor in plan.inputs.values()}
    for step, layer in enumerate(plan.layers, 1):
        for tensor in layer.outputs:
            found[tensor] = step, last.get(tensor, step)
    return found


class MemoryValidationError(ArmnnError, RuntimeError):
    """Two tensors share bytes in the same step."""


@dataclass(frozen=True, slots=True)
class Block:
    """A tensor as the planner sees it.

    Attributes:
        first: The step that writes it.
        last: The last step that reads it, at least ``first``.
        size: Bytes.
    """

    first: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The offsets of the blocks.

    Attributes:
        offsets: One per block, in the order of the blocks; multiples of the alignment.
        size: Bytes of the arena that holds them all.
    """

    offsets: tuple[int, ...]
    size: int


Strategy: TypeAlias = "Callable[[Sequence[Block]], Layout]"
"""A function from lifetimes to offsets; it must depend on nothing else."""


def constant_memory(blocks: Sequence[Block]) -> Layout:
    """Give each block memory of its own (Arm NN: ``ConstantMemoryStrategy``).

    Nothing is reused, so every tensor can be looked at after a run.
    """
    offsets: list[int] = []
    end = 0
    for block in blocks:
        offsets.append(end)
        end += _aligned(block.size)
    return Layout(tuple(offsets), end)


def single_axis_priority_list(blocks: Sequence[Block]) -> Layout:
    """Place the largest blocks first, each at the lowest offset.

    (Arm NN: ``SingleAxisPriorityList``.) A gap is looked for among the blocks that live at the
    same time. Greedy by size is within a few per cent of the optimum on real networks
    (Pisarchyk and Lee 2020, "Efficient Memory Management for Deep Neural Net Inference").
    """
    offsets = [0] * len(blocks)
    placed: list[int] = []
    by_size = sorted(range(len(blocks)), key=lambda i: (-blocks[i].size, blocks[i].first, i))
    for index in by_size:
        block = blocks[index]
        neighbors = sorted(
            (offsets[other], offsets[other] + _aligned(blocks[other].size))
            for other in placed
            if _overlap(blocks[other], block)
        )
        offset = 0
        for start, end in neighbors:
            if start - offset >= block.size:
                break
            offset = max(offset, end)
        offsets[index] = offset
        placed.append(index)
    size = max((o + _aligned(b.size) for o, b in zip(offsets, blocks, strict=True)), default=0)
    return Layout(tuple(offsets), size)


def validate_layout(blocks: Sequence[Block], layout: Layout) -> None:
    """Check a layout.

    Raises:
        MemoryValidationError: Two blocks that live at the same time overlap, one leaves the arena
            or is not aligned, or one has no offset.
    """
    if len(layout.offsets) != len(blocks):
        raise MemoryValidationError(
            f"there are {len(layout.offsets)} offsets for {len(blocks)} blocks"
        )
    for index, block in enumerate(blocks):
        start = layout.offsets[index]
        if start % ALIGNMENT or start < 0 or start + block.size > layout.size:
            raise MemoryValidationError(
                f"block {index} of {block.size} bytes at {start} is not aligned to {ALIGNMENT} or "
                f"leaves the arena of {layout.size} bytes"
            )
        for other in range(index):
            other_start = layout.offsets[other]
            if (
                _overlap(block, blocks[other])
                and start < other_start + blocks[other].size
                and other_start < start + block.size
            ):
                raise MemoryValidationError(
                    f"blocks {other} and {index} live at the same time and share bytes"
                )


def _overlap(first: Block, second: Block) -> bool:
    return first.first <= second.last and second.first <= first.last


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


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
        layout = _find_strategy(self.strategy)(blocks)
        name = _name_of(self.strategy)
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


def _name_of(strategy: str | Strategy) -> str:
    """Return a strategy's name for messages."""
    if isinstance(strategy, str):
        return strategy
    return str(getattr(strategy, "__qualname__", type(strategy).__qualname__))


def _find_strategy(strategy: str | Strategy) -> Strategy:
    """Return the strategy of a name, or the object itself.

    Args:
        strategy: One of :data:`STRATEGIES`, ``StrategyValidator(NAME)``, the name of an entry
            point, or a function.

    Raises:
        InvalidArgumentError: No strategy has that name, or its entry point cannot be imported.
    """
    if isinstance(strategy, StrategyValidator):
        _find_strategy(strategy.strategy)
    if not isinstance(strategy, str):
        return strategy
    wrapped = strategy.removeprefix(f"{_VALIDATOR}(").removesuffix(")")
    if wrapped and strategy == f"{_VALIDATOR}({wrapped})":
        return StrategyValidator(_find_strategy(wrapped))
    if strategy in STRATEGIES:
        return STRATEGIES[strategy]
    entries = {entry.name: entry for entry in reversed(metadata.entry_points(GROUP))}
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

    Each layout of a strategy that is not Arm NN's is checked: a wrong one would give wrong outputs.
    """

    def __init__(
        self,
        default: str = DEFAULT_STRATEGY,
        by_backend: Mapping[str, str | Strategy] = MappingProxyType({}),
    ) -> None:
        """Find the strategies.

        Raises:
            InvalidArgumentError: A name is unknown, or its strategy cannot be imported.
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
    found = _find_strategy(strategy)
    if found in STRATEGIES.values() or isinstance(found, StrategyValidator):
        return found
    return StrategyValidator(strategy)
