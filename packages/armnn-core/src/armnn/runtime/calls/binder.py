# SPDX-License-Identifier: MIT
"""Checks the arrays of a bound call and makes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn._aliases import Aliased
from armnn.backends.memory import ALIGNMENT, HostAllocator
from armnn.errors import InvalidArgumentError, WorkerLostError
from armnn.quantization import dequantize
from armnn.runtime.calls.bound_call import BoundCall, Replay, Survivor, Turn
from armnn.runtime.calls.inputs import ExpectedInputs, checked_shape
from armnn.runtime.plans.binding import Binding
from armnn.runtime.plans.cache import NetworkPlans
from armnn.runtime.plans.context import check_shapes
from armnn.runtime.plans.outputs import Targets, checked_array
from armnn.runtime.plans.plan import Plan
from armnn.tensor import TensorInfo, format_shape
from armnn.types import MemorySource

_WRITTEN_FLAGS = {"False": False, "True": True}


@dataclass(frozen=True, slots=True, eq=False)
class Binder:
    """Binds arrays to one network.

    Attributes:
        plans: The plans of the network.
        expected: Its inputs.
        real: Which inputs and outputs are real values, which each run converts; None if the
            network takes what it stores.
        run: Runs the network on inputs, into outputs.
        after: Called after a run that ``run`` does not make, if there is anything to call.
        sources: Where the memory of arrays comes from, if it is not plain memory.
        may_move: Whether other backends may answer some of the calls.
    """

    plans: NetworkPlans
    expected: ExpectedInputs
    real: Mapping[str, TensorInfo] | None
    run: Callable[..., dict[str, NDArray[Any]]]
    after: Callable[[], None] | None
    sources: Mapping[str, MemorySource]
    may_move: bool = False

    def bind(
        self,
        inputs: Mapping[str, NDArray[Any] | tuple[int, ...]],
        targets: Targets,
        states: Mapping[str, str] | None,
    ) -> BoundCall:
        """Return a call; see :meth:`LoadedNetwork.bind`."""
        self.expected.check_known(inputs)
        arrays, free = self._arrays(inputs)
        targets = dict(targets)
        pairs = self._pairs(arrays, targets, states)
        initial = {name: self._initial(name, arrays.pop(name, None)) for name in pairs}
        for name, array in arrays.items():
            check_usable(self._checked(name, array), f"the input {name!r}")
        for name, array in targets.items():
            check_usable(array, f"the array for the output {name!r}")
        _check_overlaps(arrays, targets)
        given = {**arrays, **initial}
        self.expected.check_names(given)
        is_again = not (self.may_move and (pairs or _overlap(arrays, targets)))
        is_alone = self.real is None and is_again
        plan = self.plans.lone_plan(self.expected.checked(given)) if is_alone else None
        shapes = {} if plan is None else plan.output_shapes
        if plan is None or None in shapes.values():
            return self._replayed(arrays, targets, pairs, initial)
        known = {name: shape for name, shape in shapes.items() if shape is not None}
        check_shapes(targets, known)
        try:
            return self._made(plan, arrays, targets, pairs, initial, known, free)
        except WorkerLostError:
            if not self.may_move:
                raise
            return self._replayed(arrays, targets, pairs, initial)

    def _made(
        self,
        plan: Plan,
        inputs: Mapping[str, NDArray[Any]],
        targets: Mapping[str, NDArray[Any]],
        pairs: Mapping[str, str],
        initial: Mapping[str, NDArray[Any]],
        shapes: Mapping[str, tuple[int, ...]],
        free: Iterable[str],
    ) -> BoundCall:
        """Return a call whose plan stands on the arrays.

        Where no states alternate, arrays that are made here are in the memory of the backend.
        """
        self._check_state_shapes(pairs, initial, shapes)
        infos, kept = self.plans.optimized.outputs, set(pairs.values())
        made = {
            name: targets[name] if name in targets else aligned(info, shapes[name])
            for name, info in infos.items()
            if name not in kept
        }
        outputs = Aliased(made, self.plans.optimized.aliases.outputs)
        # A state is read from one of two arrays and written to the other, in turn.
        sides = [
            {name: aligned(infos[pairs[name]], array.shape) for name, array in initial.items()}
            for _ in range(2 if pairs else 1)
        ]
        turns = []
        copied: dict[str, None] = {}
        own = {*free, *(name for name in made if name not in targets)} if not pairs else set()
        own -= {name for name in inputs if name in made}
        for read, written in zip(sides, sides[::-1], strict=True):
            after = {pairs[name]: array for name, array in written.items()}
            binding = Binding(
                {**inputs, **read}, {**outputs, **after}, self.sources, frozenset(own)
            )
            context, names = plan.bound(binding)
            inputs = {name: binding.chosen.get(name, array) for name, array in inputs.items()}
            outputs.update({name: a for name, a in binding.chosen.items() if name in made})
            turns.append(Turn(context.bound_run, read, context, context.submit))
            copied.update(dict.fromkeys(names))
        title = f"the network {self.plans.optimized.name!r}"
        if not self.may_move:
            return BoundCall(title, inputs, outputs, tuple(copied), turns, initial, self.after)
        (turn,) = turns
        survivor = Survivor(turn.run, Replay(self.run, inputs, outputs, {}, {}), self.after)
        turns = [replace(turn, run=survivor, submit=None)]
        return BoundCall(title, inputs, outputs, tuple(copied), turns, initial, None)

    def _replayed(
        self,
        inputs: Mapping[str, NDArray[Any]],
        targets: Targets,
        pairs: Mapping[str, str],
        initial: Mapping[str, NDArray[Any]],
    ) -> BoundCall:
        """Return a call that runs the network and copies."""
        states = {name: array.copy() for name, array in initial.items()}
        optimized = self.plans.optimized
        outputs = Aliased(targets, optimized.aliases.outputs)
        replay = Replay(self.run, inputs, outputs, states, pairs)
        copied = tuple(dict.fromkeys((*optimized.inputs, *optimized.outputs)))
        turns = [Turn(replay, states, None)]
        title = f"the network {optimized.name!r}"
        return BoundCall(title, inputs, outputs, copied, turns, initial, None)

    def _arrays(self, inputs: Mapping[str, Any]) -> tuple[dict[str, NDArray[Any]], list[str]]:
        """Return the inputs, and the names of those made here."""
        free = [name for name, given in inputs.items() if isinstance(given, tuple)]
        infos = self.plans.optimized.inputs
        made = {
            name: zeros(self._dtype(name), checked_shape(inputs[name], name))
            for name in free
            if name in infos
        }
        return {**inputs, **made}, [*made]

    def _pairs(
        self, inputs: Mapping[str, Any], targets: Targets, states: Mapping[str, str] | None
    ) -> dict[str, str]:
        """Return the output that follows each state.

        Raises:
            InvalidArgumentError: A name is not known, or an output is taken already.
        """
        infos, made = self.plans.optimized.inputs, self.plans.optimized.outputs
        if states is None:
            names = [name for name in infos if name in made]
            return {name: name for name in names if name not in inputs and name not in targets}
        pairs = dict(states)
        self.expected.check_known(pairs)
        for name, output in pairs.items():
            if output not in made:
                raise InvalidArgumentError(
                    f"there is no output {output!r} for the state {name!r}: the network makes "
                    f"{', '.join(map(repr, made)) or 'none'}"
                )
        taken = [*targets, *pairs.values()]
        twice = next((name for name in pairs.values() if taken.count(name) > 1), None)
        if twice is not None:
            raise InvalidArgumentError(
                f"the output {twice!r} is the next value of a state: it cannot be another state's "
                "too, nor be written into an array"
            )
        return pairs

    def _initial(self, name: str, given: object) -> NDArray[Any]:
        """Return the first value of a state."""
        info = self.plans.optimized.inputs[name]
        if given is not None:
            return self._checked(name, given).copy()
        if not info.is_static:
            raise InvalidArgumentError(
                f"the state {name!r} needs a first value among the inputs: its shape "
                f"{format_shape(info.shape)} is not known in full"
            )
        dtype = info.data_type.numpy_dtype
        zero = info.zero_points[0] if info.is_quantized and info.zero_points else 0
        first = self.plans.optimized.metadata.get(f"initial {name}", str(zero))
        fill = dtype.type(_WRITTEN_FLAGS.get(first, first))
        stored = np.full(info.static_shape, fill, dtype)
        return stored if self._dtype(name) == dtype else dequantize(stored, info)

    def _checked(self, name: str, array: object) -> NDArray[Any]:
        info = self.plans.optimized.inputs[name]
        return checked_array(array, f"the input {name!r}", info, self._dtype(name))

    def _dtype(self, name: str) -> np.dtype[Any]:
        if self.real is not None and name in self.real:
            return np.dtype(np.float32)
        return self.plans.optimized.inputs[name].data_type.numpy_dtype

    def _check_state_shapes(
        self,
        pairs: Mapping[str, str],
        initial: Mapping[str, NDArray[Any]],
        shapes: Mapping[str, tuple[int, ...]],
    ) -> None:
        infos, made = self.plans.optimized.inputs, self.plans.optimized.outputs
        for name, output in pairs.items():
            same_type = infos[name].data_type is made[output].data_type
            if not same_type or initial[name].shape != shapes[output]:
                raise InvalidArgumentError(
                    f"the output {output!r} ({made[output]} of shape "
                    f"{format_shape(shapes[output])}) cannot be the next value of the state "
                    f"{name!r} ({infos[name]} of shape {format_shape(initial[name].shape)})"
                )


def aligned(info: TensorInfo, shape: Sequence[int]) -> NDArray[Any]:
    """Return zeros of a tensor, aligned as working memory is."""
    return zeros(info.data_type.numpy_dtype, shape)


def zeros(dtype: np.dtype[Any], shape: Sequence[int]) -> NDArray[Any]:
    """Return zeros, aligned as working memory is."""
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    block = HostAllocator().allocate(size, ALIGNMENT)
    block[...] = 0
    return block.view(dtype).reshape(shape)


def check_usable(array: NDArray[Any], what: str) -> None:
    """Check that a backend can use an array's memory.

    Raises:
        InvalidArgumentError: It cannot.
    """
    if not array.flags.c_contiguous:
        raise InvalidArgumentError(
            f"{what} is not contiguous in C order: np.ascontiguousarray() makes one that is"
        )
    if not array.flags.aligned:
        raise InvalidArgumentError(
            f"{what} begins at an address that is no multiple of its elements' {array.itemsize} "
            "bytes: a copy() begins at one"
        )


def _overlap(inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]) -> bool:
    """Return whether a call overwrites what it reads."""
    return any(np.may_share_memory(a, b) for a in inputs.values() for b in outputs.values())


def _check_overlaps(
    inputs: Mapping[str, NDArray[Any]], outputs: Mapping[str, NDArray[Any]]
) -> None:
    """Check that outputs share whole inputs or nothing.

    Raises:
        InvalidArgumentError: One shares a part.
    """
    for name, array in outputs.items():
        for other, given in inputs.items():
            same = array.ctypes.data == given.ctypes.data and array.nbytes == given.nbytes
            if not same and np.may_share_memory(array, given):
                raise InvalidArgumentError(
                    f"the array for the output {name!r} shares a part of the memory of the input "
                    f"{other!r}: expected the same array for both, or none that is shared"
                )
