# SPDX-License-Identifier: MIT
"""States: outputs that become inputs of the next run, kept by the loaded network between runs.

A state has the name of its input. The output that has its next value is declared when a model is
loaded (:func:`declared_states`). A :class:`StateMemory` holds the states of one stream. It has two
sides: a bound call (:meth:`LoadedNetwork.bind`) reads the states of one side and writes those of
the other, and the next call uses the sides the other way round, so no state is copied. Programs use
a :class:`Stream`; the network has a stream of its own, which its ``run`` uses.

A state that fills up is a cache, such as the keys of a decoder: each call writes new rows behind
the valid ones. Its counters are inputs that tell the model how many rows are valid.
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armnn._process_memory import map_zeros
from armnn.arguments import integer, items, mapping, refused, text
from armnn.backends.memory import ALIGNMENT, address_of
from armnn.errors import ExecutionError, InvalidArgumentError
from armnn.graph.aliases import Aliased, Aliases
from armnn.graph.initial_values import initial_value
from armnn.optimizer.plan import Cache, Count, write_count
from armnn.quantization import dequantize
from armnn.runtime.context import KeptHandle, acquired, check_shapes
from armnn.runtime.steps import Targets, filling
from armnn.tensor import Dimension, Shape, TensorInfo, format_shape

if TYPE_CHECKING:
    from armnn.backends import MemoryManager, ProfilingSink
    from armnn.backends.contract import CancelToken, RunControl
    from armnn.buffer import Buffer
    from armnn.runtime.calls.binding import BoundCall
    from armnn.runtime.calls.tasks import RunTask
    from armnn.runtime.engine import LoadedPlan
    from armnn.runtime.loaded_network import LoadedNetwork

State: TypeAlias = "NDArray[Any] | KeptHandle"
"""The memory of a state: an array of the host, or a tensor of the backend that uses the state."""

States: TypeAlias = "Mapping[str, str] | str | None"
"""A caller's declaration of states: "auto", or by output the input whose next value it is."""

AUTO: Final = "auto"

_BLOCK: Final = 256
"""A state that fills up grows by a multiple of this number of rows, if the model allows that."""

_MAPPED: Final = 1 << 16
"""The size in bytes from which on a state is mapped in memory pages of its own."""

_MAY_BE_GIVEN: Final = ("mask", "places")
"""The kinds of counters that a caller may give, as only these can express padding of a prompt."""

_MOST_CALLS = 8
"""How many bound calls a stream keeps, one for each set of shapes of its other inputs."""


# -- the output that has the next value of an input ------------------------------------------------


def variables(
    inputs: Mapping[str, TensorInfo], outputs: Mapping[str, TensorInfo], metadata: Mapping[str, str]
) -> dict[str, str]:
    """Return the variables of a model, which are states even if the caller declares none.

    A variable is an input and an output of equal names whose initial value is in the metadata.
    """
    return {name: name for name in inputs if name in outputs and f"initial {name}" in metadata}


def declared_states(
    states: States,
    inputs: Mapping[str, TensorInfo],
    outputs: Mapping[str, TensorInfo],
    aliases: Aliases,
    caches: Mapping[str, Cache] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the declared states of a network: by input, the output that has its next value.

    Args:
        states: The declarations of the caller: from the name of an output to that of the input
            whose next value it is, or "auto".
        inputs: The inputs of the network.
        outputs: The outputs of the network.
        aliases: Alternative names of inputs and outputs.
        caches: The caches of the network, by input.

    Raises:
        InvalidArgumentError: A name is not known, a name is in two pairs, or the input and the
            output of a pair differ in type or shape.
    """
    if states is None:
        return {}
    if isinstance(states, str) and states == AUTO:
        return usual_states(inputs, outputs, caches)
    expected = 'a mapping from names of outputs to those of inputs, or "auto"'
    pairs: dict[str, str] = {}
    for given, named in mapping(states, "states", expected).items():
        state = text(named, f"the input of which the output {given!r} is the next value")
        output = aliases.outputs.get(given, given)
        name = aliases.inputs.get(state, state)
        if output not in outputs:
            hint = f"the network makes {', '.join(map(repr, outputs)) or 'none'}"
            if output in inputs and name in outputs:
                hint = f"write {{{name!r}: {output!r}}}, the output first"
            raise InvalidArgumentError(
                f"there is no output {output!r} that could be the next value of the state "
                f"{name!r}: {hint}"
            )
        if name not in inputs:
            takes = ", ".join(map(repr, inputs)) or "none"
            raise InvalidArgumentError(
                f"there is no input {name!r} of which the output {output!r} could be the next "
                f"value: the network takes {takes}"
            )
        if name in pairs:
            raise InvalidArgumentError(
                f"the outputs {pairs[name]!r} and {output!r} are both declared to be the next "
                f"value of the state {name!r}: expected one"
            )
        pairs[name] = output
        if not _may_follow(inputs[name], outputs[output]):
            raise _unlike(name, inputs[name], output, outputs[output])
    twice = next((each for each in pairs.values() if [*pairs.values()].count(each) > 1), None)
    if twice is not None:
        both = " and ".join(repr(name) for name, output in pairs.items() if output == twice)
        raise InvalidArgumentError(
            f"the output {twice!r} is declared to be the next value of {both}: expected one state"
        )
    return pairs


def usual_states(
    inputs: Mapping[str, TensorInfo],
    outputs: Mapping[str, TensorInfo],
    caches: Mapping[str, Cache] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the states that are recognized by the usual names of inputs and outputs.

    Known pairs of output and input are ``present.0.key`` and ``past_key_values.0.key``, ``hn`` and
    ``h``, ``stateN`` and ``state``, ``h_out`` and ``h_in`` and the like, and equal names. The input
    and the output must have the same type and shape, and neither may fit in another pair. Caches
    that fill up are recognized by their layers, also if the declared output is longer than the
    input.
    """
    named = {dim for info in inputs.values() for dim in info.shape or () if isinstance(dim, str)}
    found = {cache.output: [name] for name, cache in caches.items() if cache.counters}
    for output in outputs:
        for name in dict.fromkeys(_names_before(output)) if output not in found else ():
            grows = "past" in name  # such a cache may get longer with each step
            if name in inputs and _is_same(inputs[name], outputs[output], named, grows=grows):
                found.setdefault(output, []).append(name)
    sure = {output: names[0] for output, names in found.items() if len(names) == 1}
    taken = [*sure.values()]
    return {name: output for output, name in sure.items() if taken.count(name) == 1}


def _names_before(output: str) -> Iterator[str]:
    """Yield the names of inputs whose next value an output may be, judging by its name."""
    yield output
    for now, before in (("present_key_values", "past_key_values"), ("present", "past")):
        if now in output:
            yield output.replace(now, before, 1)
    if "present" in output and "present_key_values" not in output:
        yield output.replace("present", "past_key_values", 1)
    for ending in ("_out", "_output", "_next", "_new", "_n", "n", "N"):
        stem = output.removesuffix(ending)
        if stem and stem != output:
            yield from (stem, f"{stem}_in", f"{stem}_input", f"{stem}0", f"{stem}_0")
    for beginning in ("new_", "next_", "out_", "output_", "updated_"):
        stem = output.removeprefix(beginning)
        if stem and stem != output:
            yield from (stem, f"in_{stem}", f"input_{stem}", f"prev_{stem}", f"old_{stem}")


def _is_same(state: TensorInfo, output: TensorInfo, named: Collection[str], *, grows: bool) -> bool:
    """Return whether an output has the type and the shape of a state.

    An unknown dimension fits every dimension, unless the state might grow.

    Args:
        state: The state.
        output: The output.
        named: The names of the inputs' dimensions; any other name is an unknown dimension.
        grows: Whether the state might get longer with each run.
    """
    if not _may_follow(state, output) or state.shape is None or output.shape is None:
        return False
    return all(
        dim == other or (not grows and (dim is None or _is_unknown(other, named)))
        for dim, other in zip(state.shape, output.shape, strict=True)
    )


def _is_unknown(dim: Dimension, named: Collection[str]) -> bool:
    return dim is None or (isinstance(dim, str) and dim not in named)


def _may_follow(state: TensorInfo, output: TensorInfo) -> bool:
    """Return whether an output can be the next value of a state, as far as both are known."""
    if (state.data_type, state.scales, state.zero_points) != (
        output.data_type,
        output.scales,
        output.zero_points,
    ):
        return False
    if state.shape is None or output.shape is None:
        return True
    return len(state.shape) == len(output.shape) and not any(
        isinstance(dim, int) and isinstance(other, int) and dim != other
        for dim, other in zip(state.shape, output.shape, strict=True)
    )


def _unlike(
    name: str,
    state: TensorInfo,
    output: str,
    info: TensorInfo,
    shape: Shape | None = None,
    first: Shape | None = None,
) -> InvalidArgumentError:
    made = format_shape(info.shape if shape is None else shape)
    kept = format_shape(state.shape if first is None else first)
    return InvalidArgumentError(
        f"the output {output!r} ({info} of shape {made}) cannot be the next value of the state "
        f"{name!r} ({state} of shape {kept})"
    )


def check_next_values(
    pairs: Mapping[str, str],
    values: Mapping[str, State],
    inputs: Mapping[str, TensorInfo],
    outputs: Mapping[str, TensorInfo],
    shapes: Mapping[str, tuple[int, ...]],
) -> None:
    """Check that the outputs of a plan can be the next values of states.

    Raises:
        InvalidArgumentError: An output has another type or shape than its state.
    """
    for name, output in pairs.items():
        same_type = inputs[name].data_type is outputs[output].data_type
        if not same_type or values[name].shape != shapes[output]:
            raise _unlike(
                name, inputs[name], output, outputs[output], shapes[output], values[name].shape
            )


# -- the states of a stream ------------------------------------------------------------------------


class MakeArrays(Protocol):
    """Makes arrays of zeros in memory that backends in worker processes use as well."""

    def __call__(
        self,
        kinds: Sequence[tuple[np.dtype[Any], Sequence[int]]],
        /,
        *,
        is_written_there: bool = True,
    ) -> list[NDArray[Any]]:
        """Return one array for each pair of type and shape.

        Args:
            kinds: The types and shapes.
            is_written_there: Whether the worker processes write the arrays.
        """


def made_here(
    kinds: Sequence[tuple[np.dtype[Any], Sequence[int]]],
    /,
    *,
    is_written_there: bool = True,  # noqa: ARG001  # no worker process uses them
) -> list[NDArray[Any]]:
    """Return arrays of zeros in memory of this process."""
    return [zeros(dtype, shape) for dtype, shape in kinds]


class StateMemory:
    """The states of one stream, which its calls read and write.

    The states are arrays of the host first. The first plan that uses them moves each state into the
    memory of the backend that reads and writes it, if this backend has memory of its own
    (:meth:`place`).

    Attributes:
        pairs: The output that is the next value of each state, by input.
        sides: The memory of the states by input, once for each side: a call reads one side and
            writes the other. A cache has the same memory on both sides, as a call writes only its
            new rows. If all states are caches, there is one side.
        side: The index of the side that the next call reads.
        other: By the index of the side that a call reads, the index of the side that it writes.
        lock: Is held by the call that runs, as one thread at a time may use a stream.
        caches: The caches among the states, by input.
        counts: The counters: inputs that tell a call where its rows go and how many there are, each
            with the kind of count that it holds.
        given: The values of counters that the caller of the current run gave.
        capacity: The number of rows for which the caches that fill up have room.
        length: The number of valid rows in these caches.
        copied_bytes: The bytes of states that calls have copied so far: of a cache that is written
            in place, the added rows; of a state with two sides, nothing.
        managers: The memory managers, by backend id, of the contexts of all calls on these states.
            The calls run one by one, so they share one queue, which keeps their order. None where
            all states are the host's.
        is_shared: Whether worker processes use the arrays in shared memory. A worker writes in
            place only into caches that fill up: if it dies, their earlier rows are intact.
        padded_from: The first row that the last mask of the caller marked as padding in some item
            of the batch; None if it marked none.
    """

    def __init__(
        self,
        pairs: Mapping[str, str],
        initial: Mapping[str, NDArray[Any]],
        caches: Mapping[str, Cache] = MappingProxyType({}),
        inputs: Mapping[str, TensorInfo] = MappingProxyType({}),
        lock: threading.Lock | None = None,
        make_arrays: MakeArrays | None = None,
    ) -> None:
        """Make the arrays, and write the initial values into them.

        Args:
            pairs: See the attribute.
            initial: The first values of the states.
            caches: The caches of the network.
            inputs: The infos of the counters.
            lock: The lock of the memory that this one replaces.
            make_arrays: Makes arrays in shared memory; None if no other process uses them.
        """
        self.pairs = dict(pairs)
        self.is_shared = make_arrays is not None
        self._make_arrays = made_here if make_arrays is None else make_arrays
        self._owner = os.getpid()
        self.caches = {
            name: cache
            for name, cache in caches.items()
            if pairs.get(name) == cache.output and (cache.counters or not self.is_shared)
        }
        kinds = {name: (array.dtype, array.shape) for name, array in initial.items()}
        twice = [name for name in initial if name not in self.caches]
        every = [*kinds.values(), *(kinds[name] for name in twice)]
        arrays = self._make_arrays(every) if every else []
        first: dict[str, State] = dict(zip(kinds, arrays, strict=False))
        again = first | dict(zip(twice, arrays[len(kinds) :], strict=True))
        takes_turns = len(pairs) > len(self.caches)
        self.sides = (first, again) if takes_turns else (first,)
        self.side = 0
        self.managers: Mapping[str, MemoryManager] | None = None
        self._is_placed = self.is_shared  # workers map arrays of the host
        self.other = (1, 0) if takes_turns else (0,)
        self.lock = threading.Lock() if lock is None else lock
        self.length = 0
        self.copied_bytes = 0
        self._is_outgrown = False
        self._filling = {name: cache for name, cache in self.caches.items() if cache.counters}
        capacities = [first[name].shape[cache.axis] for name, cache in self._filling.items()]
        self.capacity = min(capacities, default=0)
        self.counts: dict[str, Count] = {
            name: kind for cache in self._filling.values() for name, kind in cache.counters
        }
        self.given: Mapping[str, NDArray[Any]] = {}
        self.padded_from: int | None = None
        counters = [
            (inputs[name].data_type.numpy_dtype, self._counter_shape(inputs[name], kind))
            for name, kind in self.counts.items()
        ]
        counts = self._make_arrays(counters, is_written_there=False) if counters else []
        self._counters = dict(zip(self.counts, counts, strict=True))
        self._initial = {
            name: array if name in self._filling else array.copy()
            for name, array in initial.items()
        }
        for name, array in self._initial.items():
            if array.any():  # zeros are not written, so that their pages stay unallocated
                self.write(name, array)

    def place(self, plan: LoadedPlan) -> None:
        """Move states into the memory of the backends that read and write them.

        Only the first call moves them. A later plan that needs a state in other memory copies it in
        each run.

        Args:
            plan: The plan whose backends use the states.
        """
        if self._is_placed:
            return
        self._is_placed = True
        managers = plan.managers()
        for name, output in self.pairs.items():
            count = 1 if name in self.caches else len(self.sides)
            kept = plan.kept(name, output, count, managers)
            if not kept:
                continue
            kept = [kept[side % count] for side in range(len(self.sides))]
            kept[self.side].tensor.copy_from(self.fetch(name))
            for side, handle in zip(self.sides, kept, strict=True):
                side[name] = handle
            self.managers = managers

    def close(self) -> None:
        """Give the memory of backends back; the states there are gone."""
        for side in self.sides:
            for state in side.values():
                if isinstance(state, KeptHandle):
                    state.close()
        self.managers = None

    def fetch(self, name: str) -> NDArray[Any]:
        """Return the array of a state, or a copy of the state if a backend's memory holds it."""
        return self._content(self.read[name])

    def _content(self, state: State) -> NDArray[Any]:
        if not isinstance(state, KeptHandle):
            return state
        made: NDArray[Any] = np.empty(state.shape, state.dtype)
        with acquired(self.managers or {}):
            state.copy_to(made)
        return made

    @contextmanager
    def next_values(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield arrays, by output, into which the caller writes the next values of the states.

        At the end of the block they are copied to the states in memory of backends.
        """
        arrays = {name: self._content(state) for name, state in self.written.items()}
        yield {self.pairs[name]: array for name, array in arrays.items()}
        with acquired(self.managers or {}):
            for name, state in self.written.items():
                if isinstance(state, KeptHandle):
                    state.copy_from(arrays[name])

    def shown(self) -> dict[str, NDArray[Any] | Buffer]:
        """Return the states by input: arrays of the host, and buffers of those on devices."""
        found: dict[str, NDArray[Any] | Buffer] = {}
        for name, state in self.read.items():
            if isinstance(state, KeptHandle):
                event = state.written()
                if event is not None:
                    event.wait()
                found[name] = state.as_buffer()
            else:
                found[name] = state
        return found

    def write(self, name: str, array: ArrayLike, rows: int | None = None) -> None:
        """Write a state.

        Args:
            name: The input.
            array: The elements, or an array that is broadcast to their shape.
            rows: The number of first rows of a cache that are written; None for the whole state.
        """
        state = self.read[name]
        first_rows = () if rows is None else _rows(self._filling[name].axis, rows)
        if not isinstance(state, KeptHandle):
            state[first_rows] = array
            return
        with acquired(self.managers or {}):
            if rows is not None and self._write_rows(state, self._filling[name].axis, rows, array):
                return
            content: NDArray[Any] = np.zeros(state.shape, state.dtype)
            content[first_rows] = array
            state.copy_from(content)

    @staticmethod
    def _write_rows(state: KeptHandle, axis: int, rows: int, array: ArrayLike) -> bool:
        """Write the first rows of a state; return False if its memory cannot be sliced so."""
        slices = state.slices(axis, rows)
        shape = (*state.shape[:axis], rows, *state.shape[axis + 1 :])
        content = np.broadcast_to(np.asarray(array, state.dtype), shape)
        for each, index in zip(slices, np.ndindex(shape[:axis]), strict=False):
            each.copy_from(content[index])
        return bool(slices)

    @property
    def read(self) -> Mapping[str, State]:
        """The states that the next call reads."""
        return self.sides[self.side]

    @property
    def written(self) -> Mapping[str, State]:
        """The states that the next call writes."""
        return self.sides[self.other[self.side]]

    @property
    def turns(self) -> Iterator[tuple[Mapping[str, State], Mapping[str, State]]]:
        """For each side that a call may read, the states that it reads and those it writes."""
        for side, after in enumerate(self.other):
            yield self.sides[side], self.sides[after]

    @property
    def filling(self) -> Mapping[str, Cache]:
        """The caches that fill up, by input."""
        return self._filling

    @property
    def tensors(self) -> Collection[State]:
        """The memory of all states, each once."""
        return {id(state): state for side in self.sides for state in side.values()}.values()

    def check_owner(self) -> None:
        """Check that this process made the shared arrays.

        Raises:
            ExecutionError: This process was forked from the process that made the arrays, so both
                would write to them.
        """
        if self.is_shared and self._owner != os.getpid():
            raise ExecutionError(
                "the arrays of this call or stream are in memory that a worker shares with the "
                "process that this one was forked from: load the model after the fork"
            )

    def rows_of(self, shapes: Mapping[str, tuple[int, ...]]) -> int:
        """Return how many rows a call adds to the caches if its inputs have these shapes."""
        for cache in self._filling.values():
            if isinstance(cache.rows, tuple):
                name, axis = cache.rows
                return shapes[name][axis] if name in shapes else 0
            return cache.rows or 0
        return 0

    def counters(self, rows: int) -> dict[str, NDArray[Any]]:
        """Return the counters' arrays for a call that adds rows; :meth:`begin` fills them."""
        return {
            name: array if self.counts[name] != "places" else self._places(array, rows)
            for name, array in self._counters.items()
        }

    def _places(self, array: NDArray[Any], rows: int) -> NDArray[Any]:
        """Return the beginning of an array of places as a contiguous array for some rows.

        Args:
            array: An array with room for the places of as many rows as the capacity has.
            rows: The number of rows.
        """
        *items, _ = array.shape
        shape = (*items, rows)
        return array.reshape(-1)[: math.prod(shape)].reshape(shape)

    def bytes_of(self, rows: int, copied: Collection[str]) -> int:
        """Return the bytes of states that a call copies.

        Args:
            rows: The number of rows that the call adds.
            copied: The names of the inputs and outputs that the runtime copies for the call.
        """
        total = 0
        for name, output in self.pairs.items():
            array = self.read[name]
            total += array.nbytes * ((name in copied) + (output in copied))
            if name in self._filling:
                total += rows * _row_bytes(array, self._filling[name].axis)
        return total

    def begin(self, rows: int) -> None:
        """Write the counters for a call that adds rows.

        Raises:
            ExecutionError: There is no room for the rows; or some valid rows are padding, and the
                caller gave no mask that says which.
        """
        self.check_room(rows)
        for name, array in self.counters(rows).items():
            given, is_mask = self.given.get(name), self.counts[name] == "mask"
            if is_mask and given is None:
                self._check_padding(name)
            elif is_mask and given is not None:
                left_out = (given == 0).any(axis=(*range(given.ndim - 1),))
                self.padded_from = int(left_out.argmax()) if left_out.any() else None
            if given is None:
                write_count(self.counts[name], array, self.length, rows)
            else:
                array[..., : given.shape[-1]] = given
                array[..., given.shape[-1] :] = 0

    def _check_padding(self, mask: str) -> None:
        if self.padded_from is None:
            return
        if self.padded_from < self.length:
            raise ExecutionError(
                f"row {self.padded_from} of the {self.length} rows in the states is padding in an "
                f"item of the batch, as the last {mask!r} said: give {mask!r} for all rows again"
            )
        self.padded_from = None  # its rows were never added, or have been rewound

    def has_room(self, rows: int) -> bool:
        """Return whether further rows fit, and no larger memory has replaced this one."""
        return not self._is_outgrown and self.length + rows <= self.capacity

    def check_room(self, rows: int) -> None:
        """Check that further rows fit into the caches.

        Raises:
            ExecutionError: The caches have no room for them.
        """
        if self.length + rows > self.capacity:
            names = ", ".join(map(repr, self._filling))
            raise ExecutionError(
                f"the states {names} are full: {self.length} of {self.capacity} rows are used, and "
                f"this call adds {rows}; rewind() or reset() the stream"
            )

    def end(self, rows: int, copied_bytes: int) -> None:
        """Count the rows that a call has added and the bytes that it has copied."""
        self.length += rows
        self.copied_bytes += copied_bytes

    def grown(self, capacity: int, inputs: Mapping[str, TensorInfo]) -> StateMemory:
        """Return a larger memory that replaces this one, with copies of the valid rows."""
        first = dict(self._initial)
        for name, cache in self._filling.items():
            shape = list(first[name].shape)
            shape[cache.axis] = capacity
            first[name] = np.broadcast_to(np.zeros((), first[name].dtype), shape)
        make_arrays = self._make_arrays if self.is_shared else None
        made = StateMemory(self.pairs, first, self.caches, inputs, self.lock, make_arrays)
        made.copied_bytes = self.copied_bytes
        for name, array in self._valid().items():
            rows = self.length if name in self._filling else None
            made.write(name, array, rows)
            made.copied_bytes += 0 if rows is None else array.nbytes
        made.length, made.given = self.length, self.given
        made.padded_from = self.padded_from
        self._is_outgrown = True
        return made

    def values(self) -> dict[str, NDArray[Any]]:
        """Return copies of the states; of a state that fills up, a copy of its valid rows."""
        return {name: array.copy() for name, array in self._valid().items()}

    def _valid(self) -> dict[str, NDArray[Any]]:
        """Return the states; of a state that fills up, the valid rows."""
        found = {name: self.fetch(name) for name in self.pairs}
        for name, cache in self._filling.items():
            found[name] = found[name][_rows(cache.axis, self.length)]
        return found

    def reset(self) -> None:
        """Write the initial values into the states; states that fill up have no rows then."""
        for name in self.pairs:
            if name not in self._filling:
                self.write(name, self._initial[name])
            else:
                self.write(name, 0, self.length)
        self.length = 0

    def _counter_shape(self, info: TensorInfo, kind: Count) -> tuple[int, ...]:
        """Return the shape of a counter: a scalar, or one number for each item of the batch.

        The last axis of a mask and of places is the capacity; a call reads the places of its rows
        from the beginning of their array.
        """
        batch = next(self.read[name].shape[0] for name in self._filling)
        shape = tuple(dim if isinstance(dim, int) else batch for dim in info.shape or ())
        return (*shape[:-1], self.capacity) if kind in ("mask", "places") else shape


def _rows(axis: int, count: int) -> tuple[slice, ...]:
    """Return the index of the first rows along an axis."""
    return (*[slice(None)] * axis, slice(count))


def _row_bytes(array: State, axis: int) -> int:
    size = array.shape[axis]
    return array.nbytes // size if size else 0


def first_value(
    name: str,
    info: TensorInfo,
    shape: tuple[int, ...],
    metadata: Mapping[str, str],
    *,
    is_real: bool,
) -> NDArray[Any]:
    """Return the first value of a state: the one in the model's file, or zeros.

    Args:
        name: The input.
        info: The description of the input.
        shape: The shape of the value.
        metadata: The metadata of the model's file.
        is_real: Whether the caller sees real values in place of quantized ones.
    """
    stored = initial_value(metadata, name, info, shape)
    return dequantize(stored, info) if is_real else stored


def aligned(info: TensorInfo, shape: Sequence[int]) -> NDArray[Any]:
    """Return an array of zeros for a tensor, aligned as working memory is."""
    return zeros(info.data_type.numpy_dtype, shape)


def zeros(dtype: np.dtype[Any], shape: Sequence[int]) -> NDArray[Any]:
    """Return an array of zeros, aligned as working memory is."""
    size = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if size < _MAPPED:
        block = np.zeros(size + ALIGNMENT, np.uint8)
    else:
        block = np.frombuffer(map_zeros(size), np.uint8)
    start = -address_of(block) % ALIGNMENT
    return block[start : start + size].view(dtype).reshape(shape)


# -- streams ---------------------------------------------------------------------------------------


def _check_mask(name: str, mask: NDArray[Any]) -> None:
    """Check that each item of a mask is ones and then zeros, as only the number of ones is used.

    Raises:
        InvalidArgumentError: A one is behind a zero, as in a mask of a prompt that is padded in
            front; or an element is neither 0 nor 1.
    """
    if not ((mask == 0) | (mask == 1)).all():
        raise InvalidArgumentError(f"the mask {name!r} has elements other than 0 and 1")
    rises = np.argwhere(np.diff(mask.astype(np.int8), axis=-1) > 0)
    if len(rises):
        *item, row = (int(each) for each in rises[0])
        raise InvalidArgumentError(
            f"the mask {name!r} has 0 at row {row} of item {item[0] if item else 0}, and 1 at row "
            f"{row + 1}: expected 1 for all rows of a prompt, then 0. Pad shorter prompts of a "
            "batch at their end"
        )


class _StreamCall:
    """A bound call of a stream with input and output arrays of its own, for one set of shapes."""

    __slots__ = ("call", "fill", "outputs")

    def __init__(self, call: BoundCall) -> None:
        self.call = call
        self.fill = filling(list(call.inputs.items()))
        self.outputs = call.outputs


class StreamStates:
    """The states of a stream, and its bound calls, one for each set of shapes of other inputs.

    It does not refer to the network, as the network may own it.

    Args:
        pairs: The output that is the next value of each state, by input.
        shapes: The shapes that the caller gave for states whose shapes the model leaves open.
    """

    def __init__(self, pairs: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.pairs = pairs
        self._shapes = dict(shapes)
        self._capacity = _BLOCK
        self._is_bound = False  # whether calls that users have bound may use the states
        self._memory: StateMemory | None = None
        self._making = threading.Lock()
        self._calls: OrderedDict[tuple[object, ...], _StreamCall] = OrderedDict()
        self._last: _StreamCall | None = None

    def set_capacity(self, network: LoadedNetwork, capacity: int) -> None:
        """Set the number of rows with which the caches will be made.

        Raises:
            InvalidArgumentError: The capacity is below 1, or no cache has an open number of rows.
        """
        self._capacity = integer(capacity, "the capacity")
        if self._capacity < 1:
            raise refused("the capacity", capacity, "a number of rows, at least 1")
        dims = [
            (network.inputs[name].shape or (None,) * (cache.axis + 1))[cache.axis]
            for name, cache in self._filling(network).items()
        ]
        if all(isinstance(dim, int) for dim in dims):
            fixed = f"the model fixes it to {dims[0]} rows" if dims else "none of them fills up"
            raise InvalidArgumentError(
                f"the capacity of the states of {network.title} cannot be chosen, as {fixed}: "
                "leave capacity out"
            )

    def run(
        self,
        network: LoadedNetwork,
        inputs: Mapping[str, ArrayLike],
        outputs: Targets | None,
        control: RunControl | None,
        chunks: Sequence[int] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run the network on its states; see :meth:`Stream.run`."""
        if type(inputs) is not dict:  # a dict, the usual case, skips the check
            inputs = network.named_inputs(inputs)
        last = self._last
        if last is not None and control is None and not outputs and chunks is None:
            made = self._run_again(network, last, inputs)
            if made is not None:
                return made
        is_first = self._memory is None
        lock = self.memory(network, inputs).lock
        if not lock.acquire(blocking=False):
            raise _busy(network)
        try:
            if chunks is not None:
                return self._run_chunks(network, inputs, outputs, control, chunks)
            return self._collected(
                network, self._run_once(network, inputs, outputs, control), outputs
            )
        except BaseException:
            if is_first and not self._is_bound:  # these inputs may have given states wrong sizes
                self._close_taken()
                self._memory = None
            raise
        finally:
            if self._memory is not None:
                self._memory.given = {}
            lock.release()

    def bind(
        self, network: LoadedNetwork, inputs: Mapping[str, Any], targets: Targets
    ) -> BoundCall:
        """Return a call on the states; see :meth:`Stream.bind`."""
        memory = self.memory(network, inputs)
        self._check_free(network, inputs)
        taken = next((name for name in self.pairs.values() if name in targets), None)
        if taken is not None:
            raise InvalidArgumentError(
                f"the output {taken!r} is the next value of a state of the stream: it cannot be "
                "written into an array; states() has its value after a call"
            )
        given = {name: getattr(each, "shape", each) for name, each in inputs.items()}
        # The call refuses what is neither an array nor a shape.
        shapes = {name: tuple(each) for name, each in given.items() if isinstance(each, Sequence)}
        rows = memory.rows_of(shapes)
        with self._held(network) as memory:
            if not memory.has_room(rows):
                memory = self._with_room(network, memory, rows)
            self._is_bound = True
        call = network.bind_states(inputs, targets, self.pairs, memory)
        call.renew(partial(self._renewed, network))
        return call

    def _renewed(self, network: LoadedNetwork, call: BoundCall) -> BoundCall | None:
        """Return a call on larger states that replaces a call whose states are full.

        It is None if the states cannot grow.
        """
        memory = self.memory(network)
        if not memory.has_room(call.rows):
            memory = self._with_room(network, memory, call.rows)
        if not memory.has_room(call.rows):
            return None
        given, made = dict(call.inputs), dict(call.outputs)
        return network.bind_states(given, made, self.pairs, memory, is_kept=True)

    def memory(
        self, network: LoadedNetwork, inputs: Mapping[str, Any] = MappingProxyType({})
    ) -> StateMemory:
        """Return the states; they are made when they are first needed.

        Args:
            network: The network.
            inputs: The inputs of the first call, or their shapes; they give the sizes of open
                dimensions.

        Raises:
            InvalidArgumentError: The shape of a state is not known in full.
            ExecutionError: See :meth:`StateMemory.check_owner`.
        """
        if self._memory is None:
            with self._making:
                if self._memory is None:  # no other thread was faster
                    sizes = self._sizes(network, inputs)
                    first = {name: self._first(network, name, sizes) for name in self.pairs}
                    self._memory = StateMemory(
                        self.pairs,
                        first,
                        network.caches,
                        network.inputs,
                        make_arrays=network.make_arrays,
                    )
        self._memory.check_owner()
        return self._memory

    @contextmanager
    def _held(self, network: LoadedNetwork) -> Iterator[StateMemory]:
        """Wait until no call runs, and keep further calls out."""
        with self.memory(network).lock:
            yield self.memory(network)  # which may have grown since

    def reset(self) -> None:
        """Set the states to their first values; see :meth:`Stream.reset`."""
        if self._memory is not None:
            with self._memory.lock:
                self._memory.reset()

    def values(self, network: LoadedNetwork) -> dict[str, NDArray[Any]]:
        """Return copies of the states, by input."""
        with self._held(network) as memory:
            return memory.values()

    def set_values(self, network: LoadedNetwork, states: Mapping[str, ArrayLike]) -> None:
        """Write values into states; see :meth:`Stream.set_states`."""
        expected = "a mapping from names of inputs that are states to arrays"
        given = network.arrays_of(mapping(states, "the states", expected))
        unknown = next((name for name in given if name not in self.pairs), None)
        if unknown is not None:
            raise InvalidArgumentError(
                f"there is no state {unknown!r}: the states of {network.title} are "
                f"{', '.join(map(repr, self.pairs)) or 'none'}"
            )
        infos = {name: self._info(network, name) for name in given}
        arrays = {
            name: network.checked_state(name, array, infos[name]) for name, array in given.items()
        }
        if self._memory is None:
            filling = self._filling(network)
            plain = {name: array.shape for name, array in arrays.items() if name not in filling}
            self._shapes |= plain
        self.memory(network, arrays)
        with self._held(network) as memory:
            self._set(network, memory, arrays)

    def rewind(self, network: LoadedNetwork, length: int) -> None:
        """Keep the first ``length`` rows of each cache; see :meth:`Stream.rewind`."""
        filling = self._filling(network)
        names = ", ".join(repr(name) for name in self.pairs if name not in filling)
        if names:
            raise InvalidArgumentError(
                f"{network.title} cannot be rewound: each step replaces all of the "
                f"states {names}, so earlier values are gone; keep states() and give them to "
                "set_states()"
            )
        rows = integer(length, "the length to rewind to")
        if self._memory is None and rows == 0:
            return
        with self._held(network) as memory:
            if not 0 <= rows <= memory.length:
                raise InvalidArgumentError(
                    f"the states of {network.title} cannot be rewound to {rows} rows: "
                    f"expected 0 to {memory.length}, as many as there are"
                )
            memory.length = rows

    @property
    def length(self) -> int:
        """How many rows of the states that fill up are valid."""
        return 0 if self._memory is None else self._memory.length

    @property
    def copied_bytes(self) -> int:
        """See :attr:`Stream.copied_bytes`."""
        return 0 if self._memory is None else self._memory.copied_bytes

    def close(self) -> None:
        """Free the working memory of the stream's calls; the states stay."""
        calls = [*self._calls.values()]
        self._calls.clear()
        self._last = None
        for each in calls:
            each.call.close()

    # -- inside ------------------------------------------------------------------------------------

    def _run_again(
        self, network: LoadedNetwork, last: _StreamCall, inputs: Mapping[str, ArrayLike]
    ) -> dict[str, NDArray[Any]] | None:
        """Run the last call again; return None if the inputs have other shapes, or room is out."""
        memory = self.memory(network)
        if not memory.lock.acquire(False):  # by position: it is called each time
            raise _busy(network)
        try:
            call = last.call
            if self._last is not last or not memory.has_room(call.rows) or not last.fill(inputs):
                return None
            call.run_taken()
            made = {name: array.copy() for name, array in last.outputs.items()}
            return self._named(network, made)
        finally:
            memory.lock.release()

    def _run_once(
        self,
        network: LoadedNetwork,
        inputs: Mapping[str, ArrayLike],
        outputs: Targets | None,
        control: RunControl | None,
    ) -> BoundCall:
        """Run the network by a prepared call and return this call; needs the lock."""
        memory = self.memory(network)  # it may have grown since
        if not memory.counts.keys().isdisjoint(inputs):
            inputs, memory.given = self._without_counters(network, memory, inputs)
        prepared = self._last
        if prepared is None or not prepared.fill(inputs):
            prepared = self._filled(network, memory, inputs)
            memory = self.memory(network)
        rows = prepared.call.rows
        if rows and memory.length + rows > memory.capacity:
            memory = self._with_room(network, memory, rows)
            prepared = self._filled(network, memory, inputs)
        if outputs:
            following = {self.pairs[name]: state for name, state in memory.written.items()}
            made: dict[str, State] = {**prepared.outputs, **following}
            shapes = {name: each.shape for name, each in made.items()}
            check_shapes(network.checked_targets(outputs), shapes)
        prepared.call.run_taken(control)
        return prepared.call

    def _collected(
        self, network: LoadedNetwork, call: BoundCall, outputs: Targets | None
    ) -> dict[str, NDArray[Any]]:
        """Return the outputs of a run: the caller's arrays, filled, and new arrays."""
        if not outputs:
            return self._named(network, {name: a.copy() for name, a in call.outputs.items()})
        targets = network.checked_targets(outputs)
        memory = self.memory(network)
        made = {}
        for name, array in call.outputs.items():
            if name in targets:
                targets[name][...] = array
            made[name] = targets[name] if name in targets else array.copy()
        for name, output in self.pairs.items():
            if output in targets:
                targets[output][...] = memory.fetch(name)
                made[output] = targets[output]
        return self._named(network, made)

    def _run_chunks(
        self,
        network: LoadedNetwork,
        inputs: Mapping[str, ArrayLike],
        outputs: Targets | None,
        control: RunControl | None,
        chunks: Sequence[int],
    ) -> dict[str, NDArray[Any]]:
        """Run the rows of inputs in chunks; see :meth:`Stream.run`.

        Raises:
            InvalidArgumentError: The states or the inputs cannot be divided into chunks.
        """
        listed = items(chunks, "chunks", "numbers of rows")
        sizes = sorted({integer(each, "a size of chunks") for each in listed}, reverse=True)
        if not sizes or sizes[-1] < 1:
            raise refused("chunks", chunks, "numbers of rows, each at least 1")
        memory = self.memory(network)
        apart = [name for name in self.pairs if name not in memory.filling]
        divided = {cache.rows for cache in memory.filling.values()}
        if apart or len(divided) != 1 or not isinstance(source := divided.pop(), tuple):
            raise InvalidArgumentError(
                f"the inputs of {network.title} cannot be run in chunks: expected "
                "states that fill up by as many rows as an input has, and no others"
            )
        given = network.named_inputs(inputs)
        masks = [name for name in given if memory.counts.get(name) == "mask"]
        if masks:
            raise InvalidArgumentError(
                f"the input {masks[0]!r} is a mask, which a run in chunks computes itself: leave "
                "it out"
            )
        dim = (network.inputs[source[0]].shape or ())[source[1]]
        axes = {
            name: (network.inputs[name].shape or ()).index(dim)
            for name in given
            if name in network.inputs and dim in (network.inputs[name].shape or ())
        }
        arrays = {name: np.asarray(array) for name, array in network.arrays_of(given).items()}
        rows = memory.rows_of({name: array.shape for name, array in arrays.items()})
        before, start = memory.length, 0
        try:
            while True:
                size = next((each for each in sizes if each <= rows - start), rows - start)
                chunk = {
                    name: array[(*[slice(None)] * axes[name], slice(start, start + size))]
                    if name in axes
                    else array
                    for name, array in arrays.items()
                }
                start += size
                targets = outputs if start == rows else None
                call = self._run_once(network, chunk, targets, control)
                if start == rows:
                    return self._collected(network, call, outputs)
        except BaseException:
            self.memory(network).length = before
            raise

    def _filled(
        self, network: LoadedNetwork, memory: StateMemory, inputs: Mapping[str, ArrayLike]
    ) -> _StreamCall:
        """Return the call for inputs of these shapes, with the inputs copied into its arrays."""
        self._check_free(network, inputs)
        arrays = network.checked_inputs(inputs, self.pairs, memory.counts)
        self._check_sizes(network, memory, arrays)
        shapes = {name: array.shape for name, array in arrays.items()}
        rows = memory.rows_of(shapes)
        if rows and memory.length + rows > memory.capacity:
            # Before the call is planned: no cache takes more rows than it has.
            memory = self._with_room(network, memory, rows)
        key = tuple(shapes.values())
        prepared = self._calls.get(key)
        if prepared is None:
            call = network.bind_states(shapes, {}, self.pairs, memory, is_kept=True)
            prepared = self._calls[key] = _StreamCall(call)
            while len(self._calls) > _MOST_CALLS:
                _, dropped = self._calls.popitem(last=False)
                dropped.call.close_taken()
        self._calls.move_to_end(key)
        self._last = prepared
        for name, array in arrays.items():
            prepared.call.inputs[name][...] = array
        return prepared

    def _named(
        self, network: LoadedNetwork, made: dict[str, NDArray[Any]]
    ) -> dict[str, NDArray[Any]]:
        names = network.aliases.outputs
        return Aliased(made, names) if names else made

    def _with_room(self, network: LoadedNetwork, memory: StateMemory, rows: int) -> StateMemory:
        """Return a memory with room for further rows, or the given one if it may not grow."""
        shapes = [
            (network.inputs[name].shape or ())[cache.axis] for name, cache in memory.filling.items()
        ]
        if any(isinstance(dim, int) for dim in shapes):
            return memory  # StateMemory.begin() raises the error that it is full
        capacity = -(-(memory.length + rows) // _BLOCK) * _BLOCK
        grown = memory.grown(capacity, network.inputs)
        self._close_taken()
        self._memory = grown
        return grown

    def _close_taken(self) -> None:
        """Close the prepared calls; needs the lock."""
        calls = [*self._calls.values()]
        self._calls.clear()
        self._last = None
        for each in calls:
            each.call.close_taken()

    def _set(
        self, network: LoadedNetwork, memory: StateMemory, arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        """Write checked values into states."""
        counts = {
            name: array.shape[memory.filling[name].axis]
            for name, array in arrays.items()
            if name in memory.filling
        }
        length = next(iter(counts.values()), memory.length)
        kept = [name for name in memory.filling if name not in counts] if counts else []
        if any(count != length for count in counts.values()) or (kept and length != memory.length):
            found = ", ".join(f"{name!r} has {count} rows" for name, count in counts.items())
            rest = f", {', '.join(map(repr, kept))} {memory.length}" if kept else ""
            raise InvalidArgumentError(
                f"all states that fill up have the same number of rows: got {found}{rest}"
            )
        if length > memory.capacity and counts:
            memory = self._with_room(network, memory, length - memory.length)
        for name, array in arrays.items():
            room = list(memory.read[name].shape)
            if name in counts:
                room[memory.filling[name].axis] = length
            if array.shape != tuple(room):
                raise InvalidArgumentError(
                    f"the value for the state {name!r} has shape {format_shape(array.shape)}: "
                    f"expected {format_shape(room)}"
                )
        for name, array in arrays.items():
            memory.write(name, array, length if name in counts else None)
        memory.length = length
        if counts:
            memory.padded_from = None

    def _filling(self, network: LoadedNetwork) -> dict[str, Cache]:
        """Return the states that fill up."""
        return {
            name: cache
            for name, cache in network.caches.items()
            if cache.counters and self.pairs.get(name) == cache.output
        }

    def _info(self, network: LoadedNetwork, name: str) -> TensorInfo:
        """Return the info of a state's value; a state that fills up has an open number of rows."""
        info = network.inputs[name]
        cache = self._filling(network).get(name)
        if cache is None or info.shape is None:
            return info
        shape = info.shape
        return info.with_shape((*shape[: cache.axis], None, *shape[cache.axis + 1 :]))

    def _check_sizes(
        self,
        network: LoadedNetwork,
        memory: StateMemory,
        arrays: Mapping[str, NDArray[Any]],
    ) -> None:
        """Check that named dimensions have the same sizes in the inputs as in the states.

        Raises:
            InvalidArgumentError: A dimension of an input has another size.
        """
        kept: dict[str, tuple[str, int]] = {}
        for name, array in memory.read.items():
            rows = memory.filling[name].axis if name in memory.filling else None
            for axis, dim in enumerate(network.inputs[name].shape or ()):
                if isinstance(dim, str) and axis != rows:
                    kept.setdefault(dim, (name, array.shape[axis]))
        for name, array in arrays.items():
            for dim, size in zip(network.inputs[name].shape or (), array.shape, strict=False):
                state, expected = kept.get(dim, ("", size)) if isinstance(dim, str) else ("", size)
                if size != expected:
                    raise InvalidArgumentError(
                        f"the input {name!r} has shape {format_shape(array.shape)}: expected "
                        f"{dim}={expected}, as the state {state!r} of the stream has; stream() "
                        "makes another stream, whose states may have other sizes"
                    )

    def _check_free(self, network: LoadedNetwork, inputs: Mapping[str, object]) -> None:
        """Check that no state and no counter is among the inputs.

        Raises:
            InvalidArgumentError: A state or a counter is among them.
        """
        for name in network.named_inputs(inputs):
            if name in self.pairs:
                raise InvalidArgumentError(
                    f"the input {name!r} is a state, whose next value is the output "
                    f"{self.pairs[name]!r}: leave it out; set_states() gives it another value"
                )
            if self._memory is not None and name in self._memory.counts:
                states = ", ".join(map(repr, self._memory.filling))
                raise InvalidArgumentError(
                    f"the input {name!r} counts the rows of the states {states}: leave it out; "
                    "rewind() changes how many there are"
                )

    def _without_counters(
        self, network: LoadedNetwork, memory: StateMemory, inputs: Mapping[str, ArrayLike]
    ) -> tuple[dict[str, ArrayLike], dict[str, NDArray[Any]]]:
        """Divide the inputs of a run into those without counters, and the masks and places.

        Raises:
            InvalidArgumentError: A counter of another kind is given, or of another shape.
        """
        arrays = dict(inputs)
        kinds = {name: memory.counts[name] for name in inputs if name in memory.counts}
        taken = {name: arrays.pop(name) for name, kind in kinds.items() if kind in _MAY_BE_GIVEN}
        self._check_free(network, arrays)
        rows = memory.rows_of({name: np.shape(array) for name, array in arrays.items()})
        given = {}
        for name, array in network.arrays_of(taken).items():
            columns = rows if kinds[name] == "places" else memory.length + rows
            shape = (*memory.counters(rows)[name].shape[:-1], columns)
            given[name] = network.checked_state(name, np.asarray(array), network.inputs[name])
            if given[name].shape != shape:
                raise InvalidArgumentError(
                    f"the input {name!r} has shape {format_shape(given[name].shape)}: expected "
                    f"{format_shape(shape)}, as this call adds {rows} rows to {memory.length}; "
                    "leave it out to let the stream compute it"
                )
            if kinds[name] == "mask":
                _check_mask(name, given[name])
        return arrays, given

    def _sizes(self, network: LoadedNetwork, inputs: Mapping[str, Any]) -> dict[str, int]:
        """Return the sizes of named dimensions, by name, from the shapes of inputs."""
        sizes: dict[str, int] = {}
        for name, given in inputs.items():
            info = network.inputs.get(name)
            shape = given if isinstance(given, tuple) else np.shape(given)
            for dim, size in zip((info and info.shape) or (), shape, strict=False):
                if isinstance(dim, str) and isinstance(size, int):
                    sizes.setdefault(dim, size)
        return sizes

    def _first(self, network: LoadedNetwork, name: str, sizes: Mapping[str, int]) -> NDArray[Any]:
        """Return the first value of a state."""
        info = network.inputs[name]
        shape = info.static_shape if info.is_static else self._shapes.get(name)
        cache = self._filling(network).get(name)
        if shape is None and info.shape is not None:
            dims: list[Dimension] = [
                sizes.get(dim, dim) if isinstance(dim, str) else dim for dim in info.shape
            ]
            if cache is not None and not isinstance(info.shape[cache.axis], int):
                dims[cache.axis] = self._capacity
            known = info.with_shape(tuple(dims))
            shape = known.static_shape if known.is_static else None
        if shape is None:
            raise InvalidArgumentError(
                f"the shape {format_shape(info.shape)} of the state {name!r} is not known in full: "
                "set_states() gives it a first value, or shapes=[...] of load_model a shape"
            )
        is_real = network.dtype_of(name) != info.data_type.numpy_dtype
        return first_value(name, info, shape, network.metadata, is_real=is_real)


def _busy(network: LoadedNetwork) -> ExecutionError:
    return ExecutionError(
        f"a stream of {network.title} runs already: it belongs to one thread at a "
        "time; stream() makes one for each thread"
    )


class Stream:
    """A sequence of runs of one network, with states of its own.

    :meth:`LoadedNetwork.stream` makes it. Streams share weights and programs; each belongs to one
    thread at a time. It keeps its network loaded.
    """

    def __init__(self, network: LoadedNetwork, states: StreamStates) -> None:
        self.network = network
        self._states = states

    def run(
        self,
        inputs: Mapping[str, ArrayLike],
        outputs: Targets | None = None,
        *,
        names: Sequence[str] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        profiler: ProfilingSink | None = None,
        chunks: Sequence[int] | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run the network on the states, and replace them by their next values.

        Args:
            inputs: One array per input that is not a state. Counters, the inputs that say how many
                rows of states are valid, may be left out: the stream makes them. Only a mask of
                rows and the places of rows may be given; a mask covers all valid rows and those
                that this run adds, places cover those that this run adds.
            outputs: Arrays that outputs are written into; the array for an output that is the next
                value of a state gets a copy of it.
            names: The outputs that are returned; see :meth:`LoadedNetwork.run`.
            timeout: See :meth:`LoadedNetwork.run`.
            cancel: See there.
            profiler: See there.
            chunks: Numbers of rows, for states that fill up: the rows of the inputs are run in
                chunks of these sizes, the largest that fits first, so that prompts of all lengths
                need the plans of a few shapes. The outputs are those of the last chunk.

        Returns:
            One array per output that is not a state's, and those that ``outputs`` asks for.

        Raises:
            InvalidArgumentError: See :meth:`LoadedNetwork.run`; or a state is among the inputs.
            ExecutionError: A layer failed, or another thread uses this stream. The states then
                have the values from before the run.
        """
        control = self.network.control(timeout, cancel, profiler)
        if names is None:
            return self._states.run(self.network, inputs, outputs, control, chunks)
        wanted = self.network.checked_names(names, outputs, has_states=True)
        made = self._states.run(self.network, inputs, outputs, control, chunks)
        return {name: made[name] for name in wanted}

    def submit(
        self,
        inputs: Mapping[str, ArrayLike],
        outputs: Targets | None = None,
        *,
        names: Sequence[str] | None = None,
        timeout: float | None = None,
        cancel: CancelToken | None = None,
        profiler: ProfilingSink | None = None,
        chunks: Sequence[int] | None = None,
    ) -> RunTask:
        """Start a run in another thread and return at once; see :meth:`LoadedNetwork.submit`.

        The stream is in use until the run has ended.
        """
        limits = {"names": names, "cancel": cancel, "profiler": profiler, "chunks": chunks}
        return self.network.submitted(self.run, inputs, outputs, timeout, limits)

    def bind(
        self,
        inputs: Mapping[str, NDArray[Any] | tuple[int, ...]],
        outputs: Targets | None = None,
    ) -> BoundCall:
        """Prepare a call that always uses the same arrays, and the states of this stream.

        See :meth:`LoadedNetwork.bind`, whose calls have states of their own. All calls of a stream,
        bound or not, share its states.
        """
        return self.network.bound_on(self._states, inputs, outputs)

    def reset(self) -> None:
        """Set the states to their first values: those of the model's file, or zeros."""
        self._states.reset()

    def states(self) -> dict[str, NDArray[Any]]:
        """Return copies of the states, by the names of their inputs."""
        return self._states.values(self.network)

    def set_states(self, states: Mapping[str, ArrayLike]) -> None:
        """Replace the values of states, for example by values that :meth:`states` returned.

        Args:
            states: Arrays by the names of inputs; the other states stay as they are.

        Raises:
            InvalidArgumentError: There is no such state, or a value has another type or shape than
                its state.
        """
        self._states.set_values(self.network, states)

    def rewind(self, length: int) -> None:
        """Keep only the first rows of the states that fill up.

        Args:
            length: The number of rows that are kept.

        Raises:
            InvalidArgumentError: There are fewer rows; or a state is replaced as a whole in each
                run, so that it has no rows to keep.
        """
        self._states.rewind(self.network, length)

    @property
    def length(self) -> int:
        """The number of valid rows in the states that fill up; 0 if no state fills up."""
        return self._states.length

    @property
    def copied_bytes(self) -> int:
        """The bytes of states that the calls of this stream have copied so far.

        For a state that fills up in place they are the bytes of the added rows.
        """
        return self._states.copied_bytes

    def close(self) -> None:
        """Free the working memory of the runs of this stream; the states stay."""
        self._states.close()

    def __repr__(self) -> str:
        return f"<Stream of {self.network!r}>"
