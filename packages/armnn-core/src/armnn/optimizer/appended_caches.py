# SPDX-License-Identifier: MIT
"""Replaces caches that Concat makes longer in each run by caches of fixed capacity, for states.

Plain exports of decoders append the keys and values of new tokens to the earlier ones (Concat), so
that each run has other shapes, from which the model computes masks and positions. If the network
keeps such caches as states, this pass replaces each cache by an array with room for further rows:
a run writes its new rows into it (TensorScatter). It replaces attention by CachedAttention, which
takes the number of valid rows from the model's mask of tokens.

Exporters write masks, positions, heads that share keys, and scales in many ways. So this module
does not match patterns of layers. It computes the layers between queries, caches and outputs for
some sizes, and checks that the results are those of attention to all earlier tokens, or to the
tokens in a window. If one cache of a network is read in another way, the network is not changed.

The computed part of a network ends at *cuts*: values for which an array, or only a shape, is given.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import zip_longest
from typing import Any, Final, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from armnn.errors import ArmnnError
from armnn.graph import Layer, Network, Value
from armnn.layers.attention import AttentionDescriptor
from armnn.layers.joining import ConcatDescriptor
from armnn.optimizer.passes.cleanup import Evaluate
from armnn.optimizer.shapes.specialize import specialize
from armnn.tensor import Shape
from armnn.types import BinaryOperation, DataType, ReduceOperation

_AXIS: Final = 2
"""The axis of tokens in a cache of shape [batch, heads, tokens, elements]."""

_MOVING: Final = frozenset(
    {
        *("Activation", "BroadcastTo", "Cast", "ConvertFp16ToFp32", "ConvertFp32ToFp16"),
        *("Division", "ElementwiseBinary", "Multiplication", "Permute", "Reshape", "Tile"),
        "Transpose",
    }
)
"""The layers that may be between a cache and the BatchMatMul that reads it, such as layers that
repeat heads, scale or convert types."""

_SCORING: Final = _MOVING | {"Addition", "ElementwiseUnary", "IsNaN", "Softmax", "Where"}
"""The layers that may be between the two BatchMatMul layers of attention."""

_POINTWISE: Final = frozenset(
    {"Addition", "Division", "ElementwiseBinary", "Multiplication", "Where"}
)
"""The layers of _SCORING that combine keys, values or weights of attention with other values."""

_HIDDEN: Final = -9e3
"""A key counts as hidden if the mask adds this number or less to its score."""

_MOST_NUMBERS: Final = 1 << 24
"""The most elements of a tensor that is computed to recognize attention."""

_MOST_TOKENS: Final = 1 << 18
"""The most tokens for which masks and positions are computed."""

_MANY: Final = 1 << 15
"""A number of tokens for which masks and positions are always computed, unless tables limit it."""

_FEW: Final = 8
"""Numbers of tokens below it need no further check, as :data:`_SIZES` covers them."""

_log = logging.getLogger(__name__)

_Static: TypeAlias = "tuple[int, ...]"
"""A shape that is known in full."""


class _Sizes(NamedTuple):
    """Sizes for which a part of a network is computed.

    Attributes:
        batch: The number of items of the batch.
        past: The number of tokens in the caches before the run.
        rows: The number of new tokens.
        counted: None for caches that Concat makes longer. For caches of fixed capacity, whose
            capacity is ``past`` then: the number of tokens that the mask counts, with the new ones.
    """

    batch: int
    past: int
    rows: int
    counted: int | None = None

    @property
    def columns(self) -> int:
        """The length of the caches after the run, and of the mask."""
        return self.past + self.rows if self.counted is None else self.past

    @property
    def end(self) -> int:
        """The number of tokens up to the last new token."""
        return self.columns if self.counted is None else self.counted


_SIZES: Final = (_Sizes(2, 5, 3), _Sizes(1, 0, 4), _Sizes(2, 7, 1))
"""The sizes for which each mask is computed."""


@dataclass(frozen=True, slots=True, eq=False)
class _Cache:
    """A cache: an input to which a Concat layer appends rows for an output.

    Attributes:
        input: The Input layer of the cache.
        concat: The Concat layer, whose output has the earlier and the new rows.
        output: The name of the output of the network.
    """

    input: Layer
    concat: Layer
    output: str

    @property
    def new(self) -> Value:
        """The value that has the new rows."""
        return _present(self.concat.inputs[1])


@dataclass(frozen=True, slots=True, eq=False)
class _Attention:
    """Attention to a cache of keys and one of values.

    It is an Attention layer, or two BatchMatMul layers with Softmax between them.

    Attributes:
        query: The queries, [batch, heads, rows, elements].
        key: The cache of keys.
        value: The cache of values.
        layer: The layer that computes the output: Attention, or the second BatchMatMul.
        masked: The input of Softmax, which is the masked scores; or the mask of an Attention layer,
            None if it has no mask.
        scores: The output of the first BatchMatMul, None for an Attention layer.
    """

    query: Value
    key: _Cache
    value: _Cache
    layer: Layer
    masked: Value | None
    scores: Value | None = None


class _Form(NamedTuple):
    """The parameters of CachedAttention that replaces some layers."""

    scale: float
    window: int
    softcap: float


class _Positions(NamedTuple):
    """The form of a value that holds the positions of the new tokens.

    Attributes:
        added: The number that is added to each position.
        rank: The rank of the value, whose shape is [items, 1, ..., 1, new tokens].
        is_shared: Whether one item holds the positions for all items of the batch.
    """

    added: int
    rank: int
    is_shared: bool


class _UnlikeError(Exception):
    """The caches of a network cannot be replaced; the text says why."""


def with_room(
    network: Network, states: Mapping[str, str] | str | None, evaluate: Evaluate
) -> Network:
    """Return a network whose caches have a fixed capacity, if they are states.

    Args:
        network: The network, which is not changed.
        states: The declaration: by output, the input whose next value it is; or "auto".
        evaluate: Computes a layer whose inputs are constant.

    Returns:
        A changed copy; or the given network, if no output appends rows to an input, if such an
        input is not declared as a state, or if a cache is read by something else than attention
        to earlier tokens.
    """
    caches = list(_appended(network)) if states is not None else []
    if isinstance(states, Mapping):
        aliases = network.aliases
        pairs = {
            aliases.inputs.get(name, name): aliases.outputs.get(output, output)
            for output, name in states.items()
            if isinstance(name, str)  # the load refuses other declarations later
        }
        if any(pairs.get(cache.input.name) != cache.output for cache in caches):
            return network
    if not caches:
        return network
    try:
        return _Recognizer(network, caches, evaluate).rewritten()
    except (ArmnnError, ValueError, _UnlikeError) as error:  # ValueError is NumPy's
        _log.info("caches of %s get longer with each run: %s", network.title, error)
        return network


def _appended(network: Network) -> Iterator[_Cache]:
    """Yield the caches: the inputs to which a Concat layer appends rows for an output."""
    for port in network.outputs:
        made = port.inputs[0]
        concat = None if made is None else made.producer
        if concat is None or concat.type != "Concat" or len(concat.inputs) != 2:
            continue
        past, new = map(_present, concat.inputs)
        shape = past.info.shape
        if past.producer.type != "Input" or shape is None or len(shape) != 4:
            continue
        axis = cast("ConcatDescriptor", concat.descriptor).axis % 4
        if axis == _AXIS and not isinstance(shape[_AXIS], int) and new is not past:
            yield _Cache(past.producer, concat, port.name)


def _present(value: Value | None) -> Value:
    assert value is not None  # the slot is not optional
    return value


class _Recognizer:
    """Recognizes the attention to the caches of one network, and replaces it.

    Args:
        network: The network, which is not changed.
        caches: The caches of the network.
        evaluate: Computes a layer whose inputs are constant.
    """

    def __init__(self, network: Network, caches: Sequence[_Cache], evaluate: Evaluate) -> None:
        self._network = network
        self._order = network.topological_order()
        self._evaluate = evaluate
        self._caches = {cache.concat.output: cache for cache in caches}
        if len(self._caches) != len(caches):
            raise _UnlikeError("two outputs are the same cache")
        self._inputs = {layer.name: layer for layer in network.inputs}
        self._pasts = {cache.input for cache in caches}
        masks = [
            layer
            for layer in network.inputs
            if "mask" in layer.name and layer.output.info.data_type.is_integer
        ]
        if len(masks) != 1 or masks[0].output.info.rank != 2:
            raise _UnlikeError("expected one mask of tokens, an integer input of rank 2")
        (self._mask,) = masks
        others = [each for each in network.inputs if each not in self._pasts and each not in masks]
        tokens = [each for each in others if (each.output.info.rank or 0) >= 2]
        if not tokens:
            raise _UnlikeError("no input of rank 2 or more holds the new tokens")
        self._tokens = tokens[0]
        batches = {(cache.input.output.info.shape or (None,))[0] for cache in caches}
        self._batch = next((dim for dim in batches if isinstance(dim, int)), None)

    def rewritten(self) -> Network:
        """Return a copy of the network whose caches have a fixed capacity.

        Raises:
            _UnlikeError: A cache is read by something else than attention to earlier tokens.
            ArmnnError: A shape or an operator is not known.
        """
        found = [made for each in self._order if (made := self._attention(each)) is not None]
        read = {cache for each in found for cache in (each.key, each.value)}
        missing = next((each for each in self._caches.values() if each not in read), None)
        if missing is not None or len(read) != 2 * len(found):
            name = missing.input.name if missing else ""
            raise _UnlikeError(f"attention to {name!r} is not found")
        shapes = self._shapes([each.query for each in found], self._fitted(_SIZES[0]))
        first = self._first_alike(found, shapes)
        few = sorted(set(first))
        forms = dict(
            zip(few, self._forms([found[i] for i in few], [shapes[i] for i in few]), strict=True)
        )
        positions = self._positions(found, shapes)
        return self._edited(found, [forms[index] for index in first], positions)

    # -- attention ---------------------------------------------------------------------------------

    def _attention(self, layer: Layer) -> _Attention | None:
        """Return the attention whose output a layer computes, None if there is none."""
        if layer.type == "Attention":
            query, keys, values = (
                _present(layer.input(name)) for name in ("query", "key", "value")
            )
            masked, scores = layer.input("mask"), None
        elif layer.type == "BatchMatMul":
            weights, values = map(_present, layer.inputs)
            softmax = _behind(weights, _SCORING, lambda each: each.type == "Softmax")
            if self._cache_behind(values) is None or len(softmax) != 1:
                return None
            masked = _present(softmax[0].inputs[0])
            products = [
                each
                for each in _behind(masked, _SCORING, lambda each: each.type == "BatchMatMul")
                if self._cache_behind(_present(each.inputs[1])) is not None
            ]
            if len(products) != 1:
                return None
            query, keys = map(_present, products[0].inputs)
            scores = products[0].output
        else:
            return None
        key, value = self._cache_behind(keys), self._cache_behind(values)
        if key is None or value is None or key is value:
            return None
        return _Attention(query, key, value, layer, masked, scores)

    def _cache_behind(self, value: Value) -> _Cache | None:
        """Return the one cache from which a value comes through _MOVING layers, else None."""
        layers = _behind(value, _MOVING, lambda layer: layer.output in self._caches)
        return self._caches[layers[0].output] if len(layers) == 1 else None

    def _first_alike(self, found: Sequence[_Attention], shapes: Sequence[_Static]) -> list[int]:
        """Return for each attention the index of the first attention that has the same layers.

        Most layers of a decoder have the same attention, so that only one of them is computed.
        """
        numbers: dict[Any, int] = {}

        def number(*key: Any) -> int:
            return numbers.setdefault(key, len(numbers))

        known = {
            value: number("cache", _with_rows(cache, 0, 0), value.info.data_type)
            for value, cache in self._caches.items()
        }
        for each, shape in zip(found, shapes, strict=True):
            known[each.query] = number("query", shape, each.query.info.data_type)
        ends = {each.layer.output: index for index, each in enumerate(found)}
        first: dict[int, int] = {}
        needed = _read_layers(ends, {*known})
        made = [*range(len(found))]
        for layer in self._order:
            if layer not in needed:
                continue
            read: list[Any] = [
                None if each is None else known.get(each, each) for each in layer.inputs
            ]
            dims = layer.inputs[0].info.shape if layer.type == "Shape" and layer.inputs[0] else None
            if dims is not None and None not in dims:
                read = [dims]
            elif layer.type == "Input" or (layer.data is not None and layer.data.size > _MANY):
                read = [layer]
            elif layer.data is not None:
                read = [layer.data.tobytes(), layer.data.shape]
            types = [value.info.data_type for value in layer.outputs]
            own = number(layer.type, repr(layer.descriptor), *read, *types)
            for value in layer.outputs:
                known.setdefault(value, number("output", own, value.index))
                if value in ends:
                    made[ends[value]] = first.setdefault(own, ends[value])
        return made

    def _forms(self, found: Sequence[_Attention], shapes: Sequence[_Static]) -> list[_Form]:
        """Return the parameters of CachedAttention that computes the same as each attention.

        Raises:
            _UnlikeError: CachedAttention does not compute the same.
        """
        windows = self._windows(found, shapes)
        scales = self._scales(found, shapes)
        forms = [
            _Form(scale, window, softcap)
            for (scale, softcap), window in zip(scales, windows, strict=True)
        ]
        random, sizes = np.random.default_rng(1), self._fitted(_SIZES[0])
        cuts: dict[Value, Any] = {}
        expected = []
        for attention, shape, form in zip(found, shapes, forms, strict=True):
            query, key, value = _operands(attention, shape, sizes, random)
            query *= 2 / (form.scale * math.sqrt(query.shape[-1]))
            cuts |= {
                attention.query: query,
                attention.key.concat.output: key,
                attention.value.concat.output: value,
            }
            expected.append(_attended(query, key, value, form, sizes))
        made = self._computed([each.layer.output for each in found], sizes, cuts)
        for attention, array, other in zip(found, made, expected, strict=True):
            tolerance = 1e-4 if array.dtype == np.float32 else 2e-2
            if array.shape != other.shape or not np.allclose(array, other, tolerance, tolerance):
                raise _UnlikeError(f"{attention.layer.name!r} differs from CachedAttention")
        return forms

    def _windows(self, found: Sequence[_Attention], shapes: Sequence[_Static]) -> list[int]:
        """Return the window of each attention: the number of tokens that a query sees.

        They are its own token and those before it; a window of 0 is all of them.

        Raises:
            _UnlikeError: A query sees other tokens.
        """
        sides = self._sides(found)
        tried = [*map(self._fitted, _SIZES), *self._further_sizes(found, sides)]
        wanted = [each.masked for each in found if each.masked is not None]
        joined: dict[Value, NDArray[Any]] = {}
        seen: list[list[NDArray[np.bool_]]] = []
        factors: dict[_Attention, float] = {}
        for sizes in tried:
            masks, raised = (self._masked(found, wanted, sizes, number) for number in (0, 1))
            cuts = self._score_cuts(found, sizes, 0) | self._attended_shapes(found, shapes, sizes)
            for side, array in zip(sides, self._computed(sides, sizes, cuts), strict=True):
                if not _is_same(joined.setdefault(side, array), array):
                    raise _UnlikeError(f"{side.name!r} depends on the number of tokens")
            seen.append([_seen(each, masks, sizes) for each in found])
            for each, shown in zip(found, seen[-1], strict=True):
                if each.scores is not None and each.masked is not None:
                    made = _raised(masks[each.masked], raised[each.masked], shown)
                    factor = factors.setdefault(each, float(made.flat[0]) if made.size else 0.0)
                    tolerance = 1e-4 if made.dtype == np.float32 else 2e-2
                    if not np.allclose(made, factor, tolerance, 0):
                        raise _UnlikeError(f"{each.layer.name!r} scales scores by several factors")
        windows = []
        for index, each in enumerate(found):
            visible = [made[index] for made in seen]
            counts = {int(mask[0, -1].sum()) for mask in visible if not mask[0, -1].all()}
            window = counts.pop() if len(counts) == 1 else 0
            windows.append(window)
            for mask, sizes in zip(visible, tried, strict=True):
                if not (mask == _visible(sizes, window)).all():
                    raise _UnlikeError(f"{each.layer.name!r} reads other tokens than earlier ones")
        return windows

    def _masked(
        self, found: Sequence[_Attention], wanted: Sequence[Value], sizes: _Sizes, score: float
    ) -> dict[Value, NDArray[Any]]:
        """Compute :attr:`_Attention.masked` with the same number for all scores."""
        cuts = self._score_cuts(found, sizes, score)
        return dict(zip(wanted, self._computed(wanted, sizes, cuts), strict=True))

    def _score_cuts(
        self, found: Sequence[_Attention], sizes: _Sizes, score: float
    ) -> dict[Value, Any]:
        """Return cuts: the shapes of caches, and scores that all have the same number."""
        cuts = self._cache_shapes(sizes)
        shape = (sizes.batch, 1, sizes.rows, sizes.columns)
        for each in found:
            if each.scores is not None:
                cuts[each.scores] = np.full(shape, score, each.scores.info.data_type.numpy_dtype)
        return cuts

    def _sides(self, found: Sequence[_Attention]) -> list[Value]:
        """Return the other operands of pointwise layers on keys, values and weights."""
        ends = list[Value]()
        for each in found:
            if each.scores is None:
                ends += [_present(each.layer.input(name)) for name in ("key", "value")]
            else:
                ends += [
                    *map(_present, each.layer.inputs),
                    _present(each.scores.producer.inputs[1]),
                ]
        starts = {*self._caches}
        starts |= {layer.output for layer in self._order if layer.type == "Softmax"}
        derived = {*starts}
        for layer in self._order:
            if layer.type in _SCORING and not derived.isdisjoint(layer.inputs):
                derived.update(layer.outputs)
        sides: dict[Value, None] = {}
        seen: set[Value] = set()
        while ends:
            value = ends.pop()
            if value in starts or value in seen:
                continue
            seen.add(value)
            read = [each for each in value.producer.inputs if each is not None]
            ends += [each for each in read if each in derived]
            if value.producer.type in _POINTWISE:
                sides.update({each: None for each in read if each not in derived})
        return [*sides]

    def _further_sizes(self, found: Sequence[_Attention], sides: Sequence[Value]) -> list[_Sizes]:
        """Return further sizes, with more tokens than the numbers in the layers of masks.

        Raises:
            _UnlikeError: A number is too large to compute masks for it, a table is not a square of
                tokens, or the mask of tokens is not read.
        """
        masks = [each.masked for each in found if each.masked is not None]
        scores = {each.scores for each in found if each.scores}
        tables: dict[_Sizes, None] = {}
        layers = _read_layers(masks, scores)
        if self._mask not in layers:
            raise _UnlikeError(f"attention does not read the mask of tokens {self._mask.name!r}")
        for layer in layers:
            if layer.data is not None and layer.data.size > _FEW:
                rows = layer.data.shape[-1]
                if layer.data.size != rows * rows or rows * rows > _MOST_NUMBERS:
                    raise _UnlikeError(f"a mask is computed from the table {layer.name!r}")
                tables[_Sizes(1, 0, rows)] = None
        # A table limits the number of tokens, so that larger sizes cannot be computed.
        turning = [] if tables else _turning_points([*masks, *sides], scores)
        far = [_Sizes(1, many + 3, 2) for many in turning]
        return [*map(self._fitted, (*tables, *far))]

    def _scales(
        self, found: Sequence[_Attention], shapes: Sequence[_Static]
    ) -> list[tuple[float, float]]:
        """Return the scale of the scores and their softcap, which is 0 without one.

        Raises:
            _UnlikeError: The scores are not products of queries and keys with a scale.
        """
        random, sizes = np.random.default_rng(2), self._fitted(_Sizes(1, 1, 1))
        written_out = [each for each in found if each.scores is not None]
        made: dict[_Attention, list[NDArray[Any]]] = {each: [] for each in found}
        for size in (1e-2, 1e3):
            cuts = self._cache_shapes(sizes)
            for attention, shape in zip(found, shapes, strict=True):
                query, key, _ = _operands(attention, shape, sizes, random)
                query *= size
                cuts |= {attention.query: query, attention.key.concat.output: key}
                made[attention].append(_products(query, key))
            wanted = [_present(each.masked) for each in written_out]
            computed = self._computed(wanted, sizes, cuts)
            for attention, array in zip(written_out, computed, strict=True):
                made[attention].append(array)
        result = []
        for attention, shape in zip(found, shapes, strict=True):
            if attention.scores is None:
                given = cast("AttentionDescriptor", attention.layer.descriptor)
                result.append((given.scale or shape[-1] ** -0.5, given.softcap))
                continue
            plain, small, wide, large = made[attention]
            if small.shape != plain.shape:
                raise _UnlikeError(f"{attention.layer.name!r} has scores of another shape")
            scale, bound = _factor(small, plain), float(np.abs(large).max())
            whole, softcap = np.isfinite(large), 0.0
            top = float(np.abs(wide).max())
            if bound < 0.5 * scale * top:
                softcap, scale = bound, _factor(bound * np.arctanh(small / bound), plain)
            elif not np.allclose(large[whole], scale * wide[whole], 1e-2, 1e-2 * scale * top):
                raise _UnlikeError(f"{attention.layer.name!r} has a softcap that is not tanh")
            if not (math.isfinite(scale) and scale > 0):
                raise _UnlikeError(f"{attention.layer.name!r} has scores without a positive scale")
            result.append((scale, softcap))
        return result

    # -- positions ---------------------------------------------------------------------------------

    def _positions(
        self, found: Sequence[_Attention], shapes: Sequence[_Static]
    ) -> dict[Value, _Positions]:
        """Return the values that are positions of the new tokens, each with its form.

        Raises:
            _UnlikeError: Another value would change if the caches had a fixed capacity.
        """
        kept = self._kept(found)
        tried = [*map(self._fitted, (*_SIZES, _Sizes(2, 9, 3), _Sizes(1, 30, 1)))]
        follows, _ = self._following(kept, {})
        whole = [each for each in follows if _is_whole(each) and (each.info.rank or 0) >= 2]

        def cuts(sizes: _Sizes) -> dict[Value, Any]:
            """Return cuts: shapes of caches and results of attention, and position inputs."""
            made = self._cache_shapes(sizes) | self._attended_shapes(found, shapes, sizes)
            where = np.tile(np.arange(sizes.end - sizes.rows, sizes.end), (sizes.batch, 1))
            given = [layer.output for layer in self._inputs.values() if _has_positions(layer)]
            return made | dict.fromkeys(given, where)

        made = [self._computed(whole, sizes, cuts(sizes)) for sizes in tried]
        positions = {}
        for index, value in enumerate(whole):
            form = _positions_from([arrays[index] for arrays in made], tried)
            if form is not None:
                positions[value] = form
        for many in _turning_points(positions, {}) if positions else ():
            sizes = self._fitted(_Sizes(2, many + 3, 2))
            for value, array in zip(
                positions, self._computed([*positions], sizes, cuts(sizes)), strict=True
            ):
                if _positions_from([array], [sizes]) != positions[value]:
                    raise _UnlikeError(f"{value.name!r} is another position after {many} tokens")
        _, read = self._following(kept, positions)
        if not read:
            return positions
        rooms = _turning_points(read, positions)
        for arrays, sizes in zip(made, tried, strict=True):
            fed = {
                value: array
                for value, array in zip(whole, arrays, strict=True)
                if value in positions
            }
            expected = self._computed(read, sizes, cuts(sizes) | fed)
            for room in (sizes.columns + 3, *rooms):
                roomy = sizes._replace(past=room + 3, counted=sizes.columns)
                others = self._computed(read, roomy, cuts(roomy) | fed)
                for value, one, other in zip(read, expected, others, strict=True):
                    if not np.array_equal(one, other):
                        raise _UnlikeError(f"{value.name!r} depends on the length of the caches")
        return positions

    def _kept(self, found: Sequence[_Attention]) -> set[Layer]:
        """Return the layers that stay needed after attention is replaced.

        Raises:
            _UnlikeError: A layer other than attention reads a cache.
        """
        passed: dict[Value, list[Value]] = {
            cache.concat.output: [cache.new] for cache in self._caches.values()
        }
        for each in found:
            passed[each.layer.output] = [each.query, each.key.new, each.value.new]
        kept: set[Layer] = set()
        pending = [_present(port.inputs[0]) for port in self._network.outputs]
        if any(value.producer in self._pasts for value in pending):
            raise _UnlikeError("an output is a cache without new tokens")
        while pending:
            value = pending.pop()
            if value in passed:
                pending += passed[value]
            elif value.producer not in kept:
                kept.add(value.producer)
                pending += [each for each in value.producer.inputs if each is not None]
        for layer in kept:
            read = [each for each in layer.inputs if each is not None]
            if layer.type != "Shape" and any(
                each in self._caches or each.producer in self._pasts for each in read
            ):
                raise _UnlikeError(f"{layer.name!r} reads a cache")
        return kept

    def _following(
        self, kept: Collection[Layer], positions: Collection[Value]
    ) -> tuple[list[Value], list[Value]]:
        """Return the values that depend on nothing but the sizes of caches and the mask.

        Args:
            kept: The layers whose outputs are looked at.
            positions: Values that are known to be positions of new tokens.

        Returns:
            All such values; and those of them that an output returns, or that a layer combines
            with other data.
        """
        known = {self._mask.output, *positions}
        known |= {layer.output for layer in self._inputs.values() if _has_positions(layer)}
        sized = {self._mask.output, *self._caches, *(past.output for past in self._pasts)}
        follows: dict[Value, None] = {}
        read: dict[Value, None] = {}
        for layer in self._order:
            inputs = [each for each in layer.inputs if each is not None]
            sources = [each for each in inputs if each in sized]
            if layer.type == "Output":
                read.update({each: None for each in sources if each not in self._caches})
            elif layer in kept and layer.type != "Input":
                if layer.type == "Shape" or known.issuperset(inputs):
                    known.update(layer.outputs)
                    made = [each for each in layer.outputs if sources and each not in positions]
                    sized.update(made)
                    follows.update(dict.fromkeys(made))
                else:
                    read.update(dict.fromkeys(sources))
        return [*follows], [*read]

    # -- computing for some sizes ------------------------------------------------------------------

    def _fitted(self, sizes: _Sizes) -> _Sizes:
        """Return sizes with the batch size of the network, if it has a fixed one."""
        return sizes if self._batch is None else sizes._replace(batch=self._batch)

    def _cache_shapes(self, sizes: _Sizes) -> dict[Value, Any]:
        """Return cuts: the shapes of the caches with the new rows."""
        return {
            value: _with_rows(cache, sizes.batch, sizes.columns)
            for value, cache in self._caches.items()
        }

    def _attended_shapes(
        self, found: Sequence[_Attention], shapes: Sequence[_Static], sizes: _Sizes
    ) -> dict[Value, Any]:
        """Return cuts: the shapes of the results of attention."""
        widths = [(each.value.input.output.info.shape or (None,))[-1] for each in found]
        return {
            each.layer.output: (sizes.batch, shape[1], sizes.rows, width)
            for each, shape, width in zip(found, shapes, widths, strict=True)
        }

    def _shapes(self, values: Sequence[Value], sizes: _Sizes) -> list[_Static]:
        """Return the shapes of values of rank 4.

        Raises:
            _UnlikeError: The shape of a value is not known, or has another rank.
        """
        shapes = {layer.name: self._input_shape(layer, sizes) for layer in self._network.inputs}
        made = specialize(self._network, shapes, {}, self._evaluated)
        layers = {
            layer.name: layer for layer in made.layers if layer.type not in ("Input", "Output")
        }
        found: list[_Static] = []
        for value in values:
            layer = layers.get(value.producer.name)
            info = layer.outputs[value.index].info if layer is not None else value.info
            if not info.is_static or info.rank != 4:
                raise _UnlikeError(f"the shape of {value.name!r} is not known")
            found.append(info.static_shape)
        return found

    def _computed(
        self,
        values: Sequence[Value],
        sizes: _Sizes,
        cuts: Mapping[Value, NDArray[Any] | Shape],
    ) -> list[NDArray[Any]]:
        """Return the arrays of some values, computed from the mask, the sizes and the cuts.

        Args:
            values: The values to compute.
            sizes: The sizes of inputs; only the mask has data.
            cuts: The arrays, or only the shapes, of values that are not computed.

        Raises:
            _UnlikeError: A value depends on data that is not given.
        """
        copy = Network("copy of a part")
        shapes: dict[str, Shape | None] = {}
        data: dict[str, NDArray[Any]] = {}
        replaced = {}
        for number, (value, given) in enumerate(cuts.items()):
            name = f"{number} of the cuts"
            shapes[name] = given if isinstance(given, tuple) else given.shape
            replaced[value] = copy.add_input(name, value.info.with_shape(shapes[name]))
            if not isinstance(given, tuple):
                data[name] = given
        needed = _read_layers(values, cuts, sees_shapes=True)
        copied = copy.insert_copies([each for each in self._order if each in needed], replaced)
        for number, value in enumerate(values):
            copy.add_output(f"{number} of the values", copied[value])
        for layer in copy.inputs:
            if layer.name not in shapes:
                shapes[layer.name] = self._input_shape(self._inputs[layer.name], sizes)
        if any(layer.name == self._mask.name for layer in copy.inputs):
            columns = np.arange(sizes.columns)
            data[self._mask.name] = np.tile(columns < sizes.end, (sizes.batch, 1))
        made = specialize(copy, shapes, data, self._evaluated)
        found = [port.inputs[0].constant for port in made.outputs if port.inputs[0] is not None]
        for value, array in zip(values, found, strict=True):
            if array is None:
                raise _UnlikeError(f"{value.name!r} depends on data that is not given")
        return [np.asarray(array) for array in found]

    def _evaluated(self, layer: Layer, *spare: Any) -> Sequence[NDArray[Any]] | None:
        is_small = all(info.num_elements <= _MOST_NUMBERS for info in layer.output_infos)
        return self._evaluate(layer, *spare) if is_small else None

    def _input_shape(self, layer: Layer, sizes: _Sizes) -> Shape:
        """Return the shape of an input for some sizes.

        Open dimensions of the mask are [batch, columns], those of a cache batch and tokens, and
        those of other inputs [batch, new tokens].

        Raises:
            _UnlikeError: The input has another open dimension.
        """
        assumed: tuple[int, ...] = (sizes.batch, sizes.rows)
        if layer in self._pasts:
            assumed = (sizes.batch, -1, sizes.past, -1)
        elif layer is self._mask:
            assumed = (sizes.batch, sizes.columns)
        shape = layer.output.info.shape
        if shape is not None:
            pairs = zip_longest(shape, assumed[: len(shape)], fillvalue=-1)
            dims = [dim if isinstance(dim, int) else size for dim, size in pairs]
            if min(dims, default=0) >= 0:
                return tuple(dims)
        raise _UnlikeError(f"the input {layer.name!r} has a shape that is not known")

    # -- rewriting ---------------------------------------------------------------------------------

    def _edited(
        self,
        found: Sequence[_Attention],
        forms: Sequence[_Form],
        positions: Mapping[Value, _Positions],
    ) -> Network:
        """Return a copy of the network with replaced caches, attention and positions."""
        made = self._network.clone()
        twins = dict(zip(self._order, made.topological_order(), strict=True))

        def twin(value: Value) -> Value:
            return twins[value.producer].outputs[value.index]

        self._name_dimensions(twins)
        rows, past, ends = _counts(made, twin(self._mask.output), twin(self._tokens.output))
        if positions:
            first, past = _shared_past(made, past)
            for value, held in positions.items():
                start = first if held.is_shared else past
                made.replace_uses(twin(value), _add_positions(made, twin(value), start, rows, held))
        scattered = {}
        for cache in self._caches.values():
            name = _renamed(made, twins[cache.concat])
            scattered[cache] = made.add_tensor_scatter(
                twins[cache.input].output, twin(cache.new), past, axis=_AXIS, name=name
            )
            made.replace_uses(twins[cache.concat].output, scattered[cache])
        for attention, form in zip(found, forms, strict=True):
            attended = made.add_cached_attention(
                twin(attention.query),
                scattered[attention.key],
                scattered[attention.value],
                ends,
                scale=form.scale,
                window=form.window,
                softcap=form.softcap,
                name=_renamed(made, twins[attention.layer]),
            )
            made.replace_uses(twins[attention.layer].output, attended)
        made.origin = None
        made.remove_unused()
        return made

    def _name_dimensions(self, twins: Mapping[Layer, Layer]) -> None:
        """Give equal dimensions the same name, as some exporters name each one differently."""
        first = next(iter(self._caches.values())).input.output.info.shape or (None,) * 4
        for layer in (*self._pasts, self._mask):
            info = twins[layer].output.info
            _, *rest = info.shape or ()
            if layer in self._pasts:
                rest[1] = first[_AXIS]
            twins[layer].output.info = info.with_shape((first[0], *rest))


# -- layers ----------------------------------------------------------------------------------------


def _behind(
    value: Value, through: Collection[str], is_wanted: Callable[[Layer], bool]
) -> list[Layer]:
    """Return the wanted layers from which a value comes through layers of some types only."""
    found: dict[Layer, None] = {}
    pending, seen = [value], {value}
    while pending:
        layer = pending.pop().producer
        if is_wanted(layer):
            found[layer] = None
        elif layer.type in through:
            read = [each for each in layer.inputs if each is not None and each not in seen]
            seen.update(read)
            pending += read
    return [*found]


def _read_layers(
    values: Iterable[Value], cuts: Collection[Value], *, sees_shapes: bool = False
) -> set[Layer]:
    """Return the layers that compute some values.

    Args:
        values: The values.
        cuts: Values that are given and not computed.
        sees_shapes: Whether to include layers of whose outputs only the shape is read.
    """
    found: set[Layer] = set()
    pending = [*values]
    while pending:
        value = pending.pop()
        if value in cuts or value.producer in found:
            continue
        found.add(value.producer)
        if sees_shapes or value.producer.type != "Shape":
            pending += [each for each in value.producer.inputs if each is not None]
    return found


def _turning_points(values: Iterable[Value], cuts: Collection[Value]) -> list[int]:
    """Return numbers of tokens above which values may be computed differently.

    They are the whole numbers in the layers that compute the values, and :data:`_MANY`.

    Args:
        values: The values.
        cuts: Values that are given and not computed.

    Raises:
        _UnlikeError: A number is too large to compute values for it.
    """
    numbers = {_MANY}.union(*map(_numbers, _read_layers(values, cuts)))
    if max(numbers) > _MOST_TOKENS:
        raise _UnlikeError(f"{max(numbers)} may be a number of tokens, too large to try")
    return sorted(numbers)


def _numbers(layer: Layer) -> set[int]:
    """Return the whole numbers in a layer that may be counts of tokens."""
    given: list[Any] = [getattr(layer.descriptor, each.name) for each in fields(layer.descriptor)]
    if layer.data is not None and layer.data.size <= _FEW:
        is_real = np.issubdtype(layer.data.dtype, np.floating)
        numbers = layer.data.reshape(-1).tolist()
        # Large real numbers are those that a mask adds to hidden scores.
        given += [each for each in numbers if not is_real or abs(each) < _MOST_TOKENS]
    flat = [number for each in given for number in (each if isinstance(each, tuple) else (each,))]
    whole = {abs(int(each)) for each in flat if isinstance(each, (int, float)) and each % 1 == 0}
    return {number for number in whole if _FEW <= number < np.iinfo(np.int32).max}


def _has_positions(layer: Layer) -> bool:
    """Return whether an input holds the positions of new tokens, judging by its name and type."""
    info = layer.output.info
    return "position" in layer.name and info.rank == 2 and info.data_type.is_integer


def _is_whole(value: Value) -> bool:
    return value.info.data_type.is_integer or value.info.data_type is DataType.BOOLEAN


def _renamed(network: Network, layer: Layer) -> str:
    """Rename a layer and return its old name, for the layer that replaces it."""
    name = layer.name
    network.rename(layer, network.unique_name(f"{name} (replaced)"))
    network.origin = layer.origin
    return name


def _counts(network: Network, mask: Value, tokens: Value) -> tuple[Value, Value, Value]:
    """Add layers that count tokens.

    Args:
        network: The network, which is changed.
        mask: The mask of tokens, [batch, tokens], 1 for each valid token.
        tokens: An input with the new tokens, [batch, new tokens, ...].

    Returns:
        The number of new tokens, a scalar; the number of earlier tokens of each item, [batch]; and
        the number of tokens of each item with the new ones and their padding, [batch].
    """

    def binary(operation: BinaryOperation, one: Value, other: Value) -> Value:
        return network.add_elementwise_binary(one, other, operation=operation)

    sizes = network.add_shape(tokens, output=DataType.SIGNED64)
    rows = network.add_gather(sizes, network.add_constant(np.array(1, np.int64)))
    whole = network.add_cast(mask, output=DataType.SIGNED64)
    counts = network.add_reduce(whole, axis=(1,), reduce_operation=ReduceOperation.SUM)
    # The end is at least the number of new tokens, as padding counts. An item with a count of 0
    # gets a negative number, for which TensorScatter refuses the run.
    most = binary(BinaryOperation.MUL, binary(BinaryOperation.ADD, counts, counts), rows)
    most = binary(BinaryOperation.SUB, most, rows)
    ends = binary(BinaryOperation.MAXIMUM, counts, rows)
    ends = binary(BinaryOperation.MINIMUM, ends, most)
    return rows, binary(BinaryOperation.SUB, ends, rows), ends


def _shared_past(network: Network, past: Value) -> tuple[Value, Value]:
    """Add layers that let a run fail if an item has fewer earlier tokens than another item.

    Args:
        network: The network, which is changed.
        past: The number of earlier tokens of each item, [batch].

    Returns:
        The largest of these numbers, [1]; and the numbers, [batch], of which those that are smaller
        are made negative, so that TensorScatter refuses the run.
    """
    first = network.add_reduce(past, axis=(0,), keep_dims=True, reduce_operation="Max")
    behind = network.add_elementwise_binary(past, first, operation=BinaryOperation.SUB)
    large = network.add_constant(np.array(1 << 40, np.int64))
    below = network.add_elementwise_binary(behind, large, operation=BinaryOperation.MUL)
    return first, network.add_elementwise_binary(past, below, operation=BinaryOperation.ADD)


def _add_positions(
    network: Network, old: Value, past: Value, rows: Value, form: _Positions
) -> Value:
    """Add layers that compute the positions of new tokens, and return their output.

    Args:
        network: The network, which is changed.
        old: The value that the positions replace.
        past: The number of earlier tokens of each item, [batch], or of all items, [1].
        rows: The number of new tokens, a scalar.
        form: The form of the replaced value.
    """
    start, one = (network.add_constant(np.array(number, np.int64)) for number in (form.added, 1))
    end = network.add_elementwise_binary(rows, start, operation=BinaryOperation.ADD)
    steps = network.add_range(start, end, one)
    items = 1 if form.is_shared else -1
    first = network.add_reshape(past, target_shape=(items, *[1] * (form.rank - 1)))
    made = network.add_elementwise_binary(first, steps, operation=BinaryOperation.ADD)
    return network.add_cast(made, output=old.info.data_type)


# -- arrays ----------------------------------------------------------------------------------------


def _with_rows(cache: _Cache, batch: int, rows: int) -> _Static:
    """Return the shape of a cache with a number of rows."""
    _, heads, _, width = (
        dim if isinstance(dim, int) else -1 for dim in cache.input.output.info.shape or ()
    )
    return batch, heads, rows, width


def _operands(
    attention: _Attention, shape: _Static, sizes: _Sizes, random: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return random queries, keys and values of some sizes."""
    _, heads, _, width = shape
    key, value = (each.concat.output for each in (attention.key, attention.value))
    sized = (
        (attention.query, (sizes.batch, heads, sizes.rows, width)),
        (key, _with_rows(attention.key, sizes.batch, sizes.columns)),
        (value, _with_rows(attention.value, sizes.batch, sizes.columns)),
    )
    query, keys, values = (
        random.standard_normal(dims).astype(each.info.data_type.numpy_dtype) for each, dims in sized
    )
    return query, keys, values


def _products(query: NDArray[Any], key: NDArray[Any]) -> NDArray[np.float64]:
    """Return the products of queries and keys, whose heads neighboring heads of queries share."""
    shared = np.repeat(key.astype(np.float64), query.shape[1] // key.shape[1], axis=1)
    products: NDArray[np.float64] = query.astype(np.float64) @ shared.swapaxes(-1, -2)
    return products


def _factor(scores: NDArray[Any], products: NDArray[np.float64]) -> float:
    """Return the factor from products to scores, by least squares."""
    return float((scores * products).sum() / (products * products).sum())


def _attended(
    query: NDArray[Any], key: NDArray[Any], value: NDArray[Any], form: _Form, sizes: _Sizes
) -> NDArray[np.float64]:
    """Return the result of CachedAttention with some parameters."""
    scores = form.scale * _products(query, key)
    if form.softcap:
        scores = form.softcap * np.tanh(scores / form.softcap)
    scores = np.where(_visible(sizes, form.window), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    shared = np.repeat(value.astype(np.float64), query.shape[1] // value.shape[1], axis=1)
    made: NDArray[np.float64] = weights @ shared
    return made


def _visible(sizes: _Sizes, window: int) -> NDArray[np.bool_]:
    """Return which tokens each new token sees, [rows, tokens]: itself and those before it.

    Args:
        sizes: The sizes.
        window: The number of tokens that each one sees; 0 for all.
    """
    positions = sizes.past + np.arange(sizes.rows)[:, np.newaxis]
    distances = positions - np.arange(sizes.past + sizes.rows)
    seen: NDArray[np.bool_] = distances >= 0
    return seen & (distances < window) if window else seen


def _seen(
    attention: _Attention, masks: Mapping[Value, NDArray[Any]], sizes: _Sizes
) -> NDArray[np.bool_]:
    """Return which tokens each query sees, [items, rows, tokens].

    Args:
        attention: The attention.
        masks: The arrays of :attr:`_Attention.masked`, computed with scores of 0.
        sizes: The sizes for which they were computed.

    Raises:
        _UnlikeError: A number is added to the scores of seen tokens, or heads see other tokens.
    """
    shape = (sizes.batch, 1, sizes.rows, sizes.columns)
    mask = np.zeros(shape) if attention.masked is None else masks[attention.masked]
    if mask.dtype == np.bool_:
        mask = np.where(mask, 0.0, -np.inf)
    heads = mask.shape[-3] if mask.ndim > 2 else 1
    mask = np.broadcast_to(mask, (shape[0], heads, *shape[2:]))
    seen = mask > _HIDDEN
    if (np.abs(np.where(seen, mask, 0)) > 1e-6).any() or (seen != seen[:, :1]).any():
        raise _UnlikeError(f"{attention.layer.name!r} adds numbers to scores")
    given = attention.layer.descriptor
    if isinstance(given, AttentionDescriptor) and given.causal:
        before = sizes.past if given.causal_from_end else 0
        seen = seen & np.tri(*shape[2:], before, dtype=np.bool_)
    return seen[:, 0]


def _raised(masked: NDArray[Any], raised: NDArray[Any], visible: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the differences at seen tokens between masked scores of 1 and masked scores of 0.

    They are the factor that is applied to the scores between the first BatchMatMul and the mask.

    Args:
        masked: :attr:`_Attention.masked` for scores of 0.
        raised: :attr:`_Attention.masked` for scores of 1.
        visible: The tokens that each query sees, [items, rows, tokens].
    """
    heads = masked.shape[-3] if masked.ndim > 2 else 1
    items, *rest = visible.shape
    shape = (items, heads, *rest)
    seen = np.broadcast_to(visible[:, np.newaxis], shape)
    more: NDArray[Any] = np.broadcast_to(raised, shape)[seen] - np.broadcast_to(masked, shape)[seen]
    return more


def _is_same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Return whether two arrays are equal, or have the same number everywhere in any shape."""
    if one.shape == other.shape and np.array_equal(one, other):
        return True
    numbers = {*np.unique(one).tolist(), *np.unique(other).tolist()}
    return len(numbers) <= 1


def _positions_from(made: Sequence[NDArray[Any]], tried: Sequence[_Sizes]) -> _Positions | None:
    """Return the form of a value that holds the positions of new tokens, None if it does not.

    Args:
        made: The arrays of the value, of rank 2 or more, for some sizes.
        tried: These sizes.
    """
    is_shared = all(positions.shape[0] == 1 for positions in made)
    added = set()
    for positions, sizes in zip(made, tried, strict=True):
        items = 1 if is_shared else sizes.batch
        if positions.shape != (items, *[1] * (positions.ndim - 2), sizes.rows):
            return None
        added |= {*(positions - np.arange(sizes.past, sizes.past + sizes.rows)).flat}
    return _Positions(int(added.pop()), made[0].ndim, is_shared) if len(added) == 1 else None
