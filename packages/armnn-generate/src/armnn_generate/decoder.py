# SPDX-License-Identifier: MIT
"""The network of a language model: tokens in, logits of the last one out, keys and values kept.

Calls have few shapes: a prompt goes in chunks of fixed sizes, of which the last one is filled up
with tokens that the cache forgets again.
"""

from __future__ import annotations

import functools
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

import armnn
from armnn.arguments import integer, refused
from armnn.errors import InvalidArgumentError, ModelFileError
from armnn.graph import Network
from armnn.parsing import survey
from armnn_generate.folder import PREPARED, ModelFolder, read_folder

if TYPE_CHECKING:
    from armnn.optimizer import Report

CHUNKS: Final = (1, 8, 32, 128)
"""How many tokens a call may have."""

_SHORT_CONTEXT: Final = "original_max_position_embeddings"
"""The key of the metadata, as the parser calls it, for models with LongRoPE."""

_BLOCK: Final = 256
"""By how many tokens the room of caches grows."""

_LOGITS_WANTED: Final = "num_logits_to_keep"
"""An input that some exporters add: for how many of the last tokens logits are computed."""


def _parsing(folder: ModelFolder) -> dict[str, bool | str]:
    """Return the options with which a model is parsed.

    Plain weights leave the memory once they are packed, caches are written in place, and logits are
    computed of one token.
    """
    return {"mapped": True, "whole_caches": True, "row_of": folder.logits}


class LanguageModel:
    """A loaded network of a language model, shared by conversations.

    Attributes:
        network: The loaded network.
        folder: The facts of its folder.
        short_context: The most tokens of a text that is computed with the angles of short texts,
            where the model has others for longer ones; else the context.
        can_grow: Whether the model leaves the room of caches open.
    """

    def __init__(
        self, runtime: armnn.Runtime, folder: ModelFolder, options: Mapping[str, Any]
    ) -> None:
        """Load it.

        Args:
            runtime: Loads it.
            folder: The facts of its folder.
            options: Keywords of :meth:`armnn.Runtime.load_model`.

        Raises:
            ModelFileError: The model has other inputs and outputs than its folder says, or no
                caches.
        """
        self.folder = folder
        if folder.model.suffix != PREPARED:  # most weights are in memory once, packed
            options = {"parser_options": _parsing(folder), **options}
        self.network = runtime.load_model(folder.model, states="auto", **options)
        self.caches = caches_of(folder, self.network.inputs, self.network.outputs)
        rooms = [self.network.inputs[name].shape or () for name in self.caches]
        fixed = [shape[2] for shape in rooms if len(shape) == 4 and isinstance(shape[2], int)]
        self.can_grow = not fixed
        if fixed:  # as in a prepared model
            self.folder = replace(folder, context_length=min(*fixed, folder.context_length))
        most = self.folder.context_length
        self.short_context = min(most, _short_context(self.network.metadata) or most)
        # Caches that get longer with each call are not states.
        self.is_in_place = all(name in self.network.caches for name in self.caches)
        self._row = f"{folder.logits}.row"  # as the parser calls it
        known = {folder.input_ids, folder.attention_mask, folder.position_ids, _LOGITS_WANTED}
        for name in self.network.inputs:
            if name not in {*known, *self.caches, self._row}:
                raise self._refused(f"its input {name!r} has a meaning that is not known")
        for name, given in (
            (folder.input_ids, self.network.inputs),
            (folder.logits, self.network.outputs),
        ):
            if name not in given:
                raise self._refused(f"it has {', '.join(given)}, expected {name!r} among them")
        if not self.caches:
            raise self._refused(
                f"it has no inputs such as {_numbered(folder.caches[0][0], 0)!r}, without which "
                "each token would compute all earlier ones again: export it with caches"
            )

        shape = self.network.outputs[folder.logits].shape
        is_of_all = shape is not None and len(shape) == 3 and isinstance(shape[1], str)
        self._takes_filler = is_of_all or self._row in self.network.inputs

    @functools.cached_property
    def weight_bytes(self) -> int:
        """The bytes of weights that computing one token reads; the file is read for it.

        0 for a prepared model, which has them packed.
        """
        if self.folder.model.suffix == PREPARED:
            return 0
        parsed, _ = survey(self.folder.model)
        return _weight_bytes(parsed, self.folder.input_ids)

    def _refused(self, reason: str) -> ModelFileError:
        return ModelFileError(
            f"{str(self.folder.model)!r} is not a language model that can be run here: {reason}"
        )

    def feeds(
        self, tokens: NDArray[np.int64], others: Mapping[str, NDArray[Any]] = MappingProxyType({})
    ) -> dict[str, NDArray[Any]]:
        """Return inputs of a call, those that the model has, in their types.

        Args:
            tokens: The tokens that it computes.
            others: Further inputs.
        """
        made = {self.folder.input_ids: tokens, _LOGITS_WANTED: np.array(tokens.shape[1]), **others}
        inputs = self.network.inputs
        return {
            name: array.astype(inputs[name].data_type.numpy_dtype)
            for name, array in made.items()
            if name in inputs
        }

    def row_feeds(self, count: int) -> dict[str, NDArray[Any]]:
        """Return the input that chooses the last of some tokens, if the model has one."""
        return {self._row: np.array([count - 1])} if self._row in self.network.inputs else {}

    def empty(self, name: str, rows: int) -> NDArray[Any]:
        """Return keys or values of so many tokens, zeros.

        Raises:
            ModelFileError: The input has not the axes of batch, heads, tokens and elements.
        """
        info = self.network.inputs[name]
        return np.zeros(_cache_shape(self.folder, name, info, rows), info.data_type.numpy_dtype)

    def prepare(self, *prompts: int) -> None:
        """Make the plans of calls now, so that no prompt waits for them.

        A model whose caches get longer with each call has too many shapes, so that there is nothing
        to prepare.

        Args:
            prompts: How many tokens prompts will have; without any, all lengths are prepared.
        """
        most = self.folder.context_length
        sizes = [*CHUNKS]
        if prompts:
            needed = {
                size for count in prompts for _, size in self.chunks(range(min(count, most)), most)
            }
            sizes = sorted({1, *needed})
        cache = self.new_cache()
        for size in sizes if self.is_in_place else ():
            if size <= most:
                cache.append([0] * size)
                cache.rewind(0)

    def chunks(self, tokens: Sequence[int], room: int) -> Iterator[tuple[Sequence[int], int]]:
        """Yield the tokens of each call, and how many they are; see :func:`chunks`."""
        return chunks(tokens, room, takes_filler=self._takes_filler)

    def new_cache(self) -> TokenCache:
        """Return a cache without tokens, for a conversation."""
        return _CacheInPlace(self) if self.is_in_place else _GrowingCache(self)


def caches_of(
    folder: ModelFolder, inputs: Collection[str], outputs: Collection[str]
) -> dict[str, str]:
    """Return the output that follows each input of keys or values."""
    pairs = {
        _numbered(past, layer): _numbered(present, layer)
        for past, present in folder.caches
        for layer in range(len(inputs))
    }
    return {name: output for name, output in pairs.items() if name in inputs and output in outputs}


def compile_folder(
    folder: str | os.PathLike[str],
    file: str | os.PathLike[str],
    backends: Sequence[str] | None = None,
    *,
    model: str | None = None,
    capacity: int | None = None,
    runtime: armnn.Runtime | None = None,
    **keywords: Any,
) -> Report:
    """Write a prepared model of a folder, which loads without a parser.

    Its file has the weights once, packed, for calls of all sizes; processes that load it share
    them. ``load(folder, file=...)`` takes it where it is in the folder.

    Args:
        folder: See :func:`armnn_generate.load`.
        file: Its name ends in ".armnn-prepared".
        backends: See :func:`armnn_generate.load`.
        model: The ONNX file, below the folder, where there are several.
        capacity: How many tokens a conversation may have; by default the context of the model.
        runtime: Prepares it; without it a runtime is made for the call.
        keywords: Others of :meth:`armnn.Runtime.compile_network`.

    Returns:
        Which layer runs where.

    Raises:
        ModelFileError: See :func:`armnn_generate.load`.
        InvalidArgumentError: The capacity is not within the context of the model, its caches get
            longer with each call, or a part of it cannot be stored.
        OSError: The file cannot be written.
    """
    found = read_folder(folder, model)
    network = armnn.parse(found.model, parser_options=_parsing(found))
    most, what = found.context_length, "the context"
    short = _short_context(network.metadata)
    if short is not None and short < most:
        most, what = short, "as longer texts have other rotary angles"
    rows = most if capacity is None else integer(capacity, "the capacity")
    if not 0 < rows <= most:
        raise refused("the capacity", capacity, f"1 to {most}, {what}")
    infos = {layer.name: layer.output.info for layer in network.inputs}
    caches = caches_of(found, infos, [layer.name for layer in network.outputs])
    sets = []
    for size in CHUNKS:
        lengths = {found.input_ids: size, found.position_ids: size, found.attention_mask: rows}
        shapes: dict[str, tuple[int, ...]] = {
            name: (1, lengths[name]) for name in infos if name in lengths
        }
        shapes |= {name: _cache_shape(found, name, infos[name], rows) for name in caches}
        if size <= rows:
            sets.append(shapes)
    with ExitStack() as undo:
        if runtime is None:
            runtime = undo.enter_context(armnn.Runtime())
        return runtime.compile_network(
            network, file, backends, shapes=sets, states="auto", **keywords
        )


def _short_context(metadata: Mapping[str, str]) -> int | None:
    """Return the most tokens of a text with the first kind of angles, None for one kind."""
    said = metadata.get(_SHORT_CONTEXT, "")
    return int(said) if said.isdecimal() and len(said) < 10 and int(said) else None


def _cache_shape(
    folder: ModelFolder, name: str, info: armnn.TensorInfo, rows: int
) -> tuple[int, ...]:
    """Return the shape of keys or values of so many tokens.

    Raises:
        ModelFileError: The input has not the axes of batch, heads, tokens and elements.
    """
    _, heads, _, size = info.shape if info.shape and info.rank == 4 else (None,) * 4
    if not (isinstance(heads, int) and isinstance(size, int)):
        raise ModelFileError(
            f"the input {name!r} of {str(folder.model)!r} has shape {info.shape}, "
            "expected [batch, heads, tokens, elements] with known heads and elements"
        )
    return 1, heads, rows, size


class TokenCache(ABC):
    """The keys and values of the tokens of one conversation.

    Attributes:
        model: The model.
        tokens: The tokens whose keys and values are there.
        computed: How many tokens the model has computed so far.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.tokens: list[int] = []
        self.computed = 0
        self._is_long = False
        self._start()

    def append(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Compute tokens behind those that are there; return the logits of the last one.

        After an error those are there that were computed before it.

        Args:
            tokens: One or more.

        Raises:
            InvalidArgumentError: There is no token, or more than the context has room for.
            ExecutionError: A layer failed.
        """
        most, room = self.model.folder.context_length, self.room
        if not 0 < len(tokens) <= room:
            raise InvalidArgumentError(
                f"{len(tokens)} tokens were given behind {len(self.tokens)}, expected 1 to {room}: "
                f"the context of the model has {most}"
            )
        short = self.model.short_context
        if (len(self.tokens) + len(tokens) > short) != self._is_long:
            # Keys are turned by the angles of short or of long texts, all of them alike.
            tokens = [*self.tokens, *tokens]
            self.tokens.clear()
            self._is_long = not self._is_long
            self._start()
        room = (most if self._is_long else short) - len(self.tokens)
        for chunk, size in self.model.chunks(tokens, room):
            filled = np.zeros((1, size), np.int64)
            filled[0, : len(chunk)] = chunk
            logits = self._run(filled, len(chunk))
            self.tokens += chunk
            self.computed += len(chunk)
        # Of one token, or of all.
        last: NDArray[np.float32] = logits[0, : len(chunk)][-1].astype(np.float32)
        return last

    @property
    def room(self) -> int:
        """How many tokens the context has room for."""
        return self.model.folder.context_length - len(self.tokens)

    def inputs_of(self, tokens: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return all inputs of a call that computes tokens behind those that are there.

        Args:
            tokens: [1, tokens].
        """
        total = len(self.tokens) + tokens.shape[1]
        rows = {
            self.model.folder.attention_mask: np.ones((1, total)),
            self.model.folder.position_ids: np.arange(len(self.tokens), total)[None],
        }
        return {**self.model.feeds(tokens, rows), **self._past()}

    def rewind(self, length: int) -> None:
        """Forget all tokens but the first.

        Args:
            length: How many stay.

        Raises:
            InvalidArgumentError: There are fewer.
        """
        if not 0 <= length <= len(self.tokens):
            expected = f"0 to {len(self.tokens)}, as many tokens as there are"
            raise refused("the length to rewind to", length, expected)
        del self.tokens[length:]

    @abstractmethod
    def _start(self) -> None:
        """Make an empty cache."""

    @abstractmethod
    def _run(self, tokens: NDArray[np.int64], count: int) -> NDArray[Any]:
        """Compute tokens behind those that are there; return logits.

        They are those of the last one of the first ``count``, or of each.
        """

    @abstractmethod
    def _past(self) -> dict[str, NDArray[Any]]:
        """Return keys and values of the tokens that are there, by the names of inputs."""


class _CacheInPlace(TokenCache):
    """The states of a stream: the network writes further rows into them."""

    def _start(self) -> None:
        model = self.model
        capacity = None
        if self._is_long:
            capacity = model.short_context + _BLOCK
        elif model.short_context < model.folder.context_length and model.short_context % _BLOCK:
            # A text is as long for the model as its cache has room: no block may go beyond that.
            capacity = model.short_context
        self._stream = model.network.stream(capacity=capacity)
        self._rows = _BLOCK

    def append(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Compute tokens; see :meth:`TokenCache.append`.

        An empty cache gets room for all of them and the one after them at once, as each size of
        caches has plans of its own.
        """
        model = self.model
        rows = -(-(len(tokens) + 1) // _BLOCK) * _BLOCK
        may_grow = model.can_grow and model.short_context == model.folder.context_length
        if may_grow and not self.tokens and self._rows < rows and len(tokens) <= self.room:
            self._stream, self._rows = model.network.stream(capacity=rows), rows
        return super().append(tokens)

    def _run(self, tokens: NDArray[np.int64], count: int) -> NDArray[Any]:
        self._forget_others()
        folder = self.model.folder
        # The stream makes mask and positions.
        feeds = self.model.feeds(tokens, self.model.row_feeds(count))
        made = self._stream.run(feeds, names=[folder.logits])
        logits: NDArray[Any] = made[folder.logits]
        return logits

    def _past(self) -> dict[str, NDArray[Any]]:
        self._forget_others()
        if not self.tokens:
            return {name: self.model.empty(name, 0) for name in self.model.caches}
        states = self._stream.states()
        return {name: states[name] for name in self.model.caches}

    def _forget_others(self) -> None:
        """Drop rows behind those of the tokens, after filler, a rewind, or a failed run."""
        if self._stream.length != len(self.tokens):
            self._stream.rewind(len(self.tokens))


class _GrowingCache(TokenCache):
    """A cache of which each call makes a longer copy, as plain exports have it."""

    def _start(self) -> None:
        self._arrays = {name: self.model.empty(name, 0) for name in self.model.caches}

    def _run(self, tokens: NDArray[np.int64], count: int) -> NDArray[Any]:
        made = self.model.network.run({**self.inputs_of(tokens), **self.model.row_feeds(count)})
        self._arrays = {name: made[output] for name, output in self.model.caches.items()}
        logits: NDArray[Any] = made[self.model.folder.logits]
        return logits

    def _past(self) -> dict[str, NDArray[Any]]:
        return {name: each[:, :, : len(self.tokens)] for name, each in self._arrays.items()}


def chunks(
    tokens: Sequence[int], room: int, *, takes_filler: bool = True
) -> Iterator[tuple[Sequence[int], int]]:
    """Yield the tokens of each call, and how many they are: a last chunk is filled up.

    Args:
        tokens: All tokens to compute.
        room: How many the context still takes, filler included: as many or more.
        takes_filler: Whether a chunk may be filled up: not for a model that computes the logits of
            the last token only.
    """
    at = 0
    while at < len(tokens):
        left = len(tokens) - at
        most = 2 * left if takes_filler else left
        size = max(each for each in CHUNKS if each <= most and at + each <= room)
        yield tokens[at : at + size], size
        at += size


def _weight_bytes(network: Network, tokens: str) -> int:
    """Return the bytes of constants that computing a token reads.

    Of a table that tokens are looked up in that is one row.
    """
    read: dict[int, int] = {}
    for layer in network.topological_order():
        values = [value for value in layer.inputs if value is not None]
        if any(value.producer.name == tokens for value in values):
            continue
        for value in values:
            if value.producer.type == "Constant" and value.info.is_static:
                size = math.prod(value.info.static_shape)
                read[id(value)] = -(-size * value.info.data_type.bits // 8)
    return sum(read.values())


def _numbered(pattern: str, layer: int) -> str:
    """Return a name with the number of a layer in the place of its mark."""
    return pattern.replace("%d", str(layer))
