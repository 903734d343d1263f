# SPDX-License-Identifier: MIT
"""The network of a language model, which computes the logits of the last token of a text.

The keys and values of earlier tokens are kept in a cache. So that calls have few shapes, a prompt
is divided into chunks of fixed sizes. The last chunk is filled up with filler tokens, whose keys
and values are dropped from the cache after the call.
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
"""The numbers of tokens that a call may have."""

_SHORT_CONTEXT: Final = "original_max_position_embeddings"
"""The key of the metadata in which the parser stores the short context of models with LongRoPE."""

_BLOCK: Final = 256
"""The number of tokens by whose multiples the capacity of caches grows."""

_LOGITS_WANTED: Final = "num_logits_to_keep"
"""An input that some exporters add: the number of last tokens for which logits are computed."""


def _parsing(folder: ModelFolder) -> dict[str, bool | str]:
    """Return the options with which a model is parsed.

    Weights are mapped, so that they leave the memory once they are packed; caches are written in
    place; and logits are computed for one token only.
    """
    return {"mapped": True, "whole_caches": True, "row_of": folder.logits}


class LanguageModel:
    """A loaded network of a language model, shared by conversations.

    Attributes:
        network: The loaded network.
        folder: The description of its folder.
        caches: The output that is the next value of each input of keys or values.
        short_context: The most tokens of a text that is computed with the rotary angles of short
            texts, if the model has other angles for longer texts (LongRoPE); else the context.
        can_grow: Whether the model leaves the capacity of caches open.
        is_in_place: Whether the caches are written in place, as states of a stream.
    """

    def __init__(
        self, runtime: armnn.Runtime, folder: ModelFolder, options: Mapping[str, Any]
    ) -> None:
        """Load the network.

        Args:
            runtime: The runtime that loads the network.
            folder: The description of its folder.
            options: Keywords of :meth:`armnn.Runtime.load_model`.

        Raises:
            ModelFileError: The model has other inputs and outputs than its folder says, or no
                caches.
        """
        self.folder = folder
        if folder.model.suffix != PREPARED:  # a prepared model was parsed with these options
            options = {"parser_options": _parsing(folder), **options}
        self.network = runtime.load_model(folder.model, states="auto", **options)
        self.caches = caches_of(folder, self.network.inputs, self.network.outputs)
        rooms = [self.network.inputs[name].shape or () for name in self.caches]
        fixed = [shape[2] for shape in rooms if len(shape) == 4 and isinstance(shape[2], int)]
        self.can_grow = not fixed
        if fixed:  # the caches of a prepared model have a fixed capacity
            self.folder = replace(folder, context_length=min(*fixed, folder.context_length))
        most = self.folder.context_length
        self.short_context = min(most, _short_context(self.network.metadata) or most)
        # Caches that Concat makes longer in each call are no caches of the network, and no states.
        self.is_in_place = all(name in self.network.caches for name in self.caches)
        self._row = f"{folder.logits}.row"  # as the parser calls it
        known = {folder.input_ids, folder.attention_mask, folder.position_ids, _LOGITS_WANTED}
        for name in self.network.inputs:
            if name not in {*known, *self.caches, self._row}:
                raise self._refused(
                    f"the meaning of its input {name!r} is not known: expected one of "
                    f"{', '.join(map(repr, sorted(known)))}, or a cache"
                )
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
        """The bytes of weights that computing one token reads; the model's file is parsed for it.

        It is 0 for a prepared model, whose weights are packed.
        """
        if self.folder.model.suffix == PREPARED:
            return 0
        parsed, _ = survey(self.folder.model)
        return _weight_bytes(parsed, self.folder.input_ids)

    def _refused(self, reason: str) -> ModelFileError:
        return ModelFileError(
            f"{str(self.folder.model)!r} is not a language model that armnn-generate runs: {reason}"
        )

    def feeds(
        self, tokens: NDArray[np.int64], others: Mapping[str, NDArray[Any]] = MappingProxyType({})
    ) -> dict[str, NDArray[Any]]:
        """Return the inputs of a call that the model has, in their data types.

        Args:
            tokens: The tokens that the call computes, [1, tokens].
            others: Further inputs, by name; inputs that the model lacks are left out.
        """
        made = {self.folder.input_ids: tokens, _LOGITS_WANTED: np.array(tokens.shape[1]), **others}
        inputs = self.network.inputs
        return {
            name: array.astype(inputs[name].data_type.numpy_dtype)
            for name, array in made.items()
            if name in inputs
        }

    def row_feeds(self, count: int) -> dict[str, NDArray[Any]]:
        """Return the input that selects the token for which logits are computed, the last one.

        It is empty if the model has no such input.

        Args:
            count: The number of tokens without filler.
        """
        return {self._row: np.array([count - 1])} if self._row in self.network.inputs else {}

    def empty(self, name: str, rows: int) -> NDArray[Any]:
        """Return zeros in the shape of the keys or values of some tokens.

        Args:
            name: The input of keys or values.
            rows: The number of tokens.

        Raises:
            ModelFileError: The input does not have the axes batch, heads, tokens and elements.
        """
        info = self.network.inputs[name]
        return np.zeros(_cache_shape(self.folder, name, info, rows), info.data_type.numpy_dtype)

    def prepare(self, *prompts: int) -> None:
        """Make the plans of calls now, so that no prompt waits for them.

        It does nothing for a model whose caches get longer with each call, as each call has other
        shapes.

        Args:
            prompts: The numbers of tokens of future prompts; without any, the plans for prompts of
                all lengths are made.
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
        """Yield the tokens of each call, and the size of its chunk; see :func:`chunks`."""
        return chunks(tokens, room, takes_filler=self._takes_filler)

    def new_cache(self) -> TokenCache:
        """Return an empty cache for a new conversation."""
        return _CacheInPlace(self) if self.is_in_place else _GrowingCache(self)


def caches_of(
    folder: ModelFolder, inputs: Collection[str], outputs: Collection[str]
) -> dict[str, str]:
    """Return, by input of keys or values, the output that is its next value."""
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
    """Write the prepared model of a folder, which loads without a parser.

    Its file has each weight once, packed, for calls of all sizes; processes that load it share the
    memory of the weights. If the file is in the folder, ``load(folder, file=...)`` loads it.

    Args:
        folder: See :func:`armnn_generate.load`.
        file: The path of the prepared model, which ends in ".armnn-prepared".
        backends: See :func:`armnn_generate.load`.
        model: The path of the ONNX file in the folder, if there are several.
        capacity: The most tokens of a conversation; by default the context of the model.
        runtime: The runtime that prepares the model; by default a new one.
        keywords: Further keywords of :meth:`armnn.Runtime.compile_network`.

    Returns:
        The report on the backend of each layer.

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
    """Return the most tokens of a text with the rotary angles of short texts.

    It is None if the model has the same angles for texts of all lengths.
    """
    said = metadata.get(_SHORT_CONTEXT, "")
    return int(said) if said.isdecimal() and len(said) < 10 and int(said) else None


def _cache_shape(
    folder: ModelFolder, name: str, info: armnn.TensorInfo, rows: int
) -> tuple[int, ...]:
    """Return the shape of the keys or values of some tokens.

    Args:
        folder: The description of the folder.
        name: The input of keys or values.
        info: The description of the input.
        rows: The number of tokens.

    Raises:
        ModelFileError: The input does not have the axes batch, heads, tokens and elements.
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
        tokens: The tokens whose keys and values are in the cache.
        computed: The number of tokens that the model has computed so far.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self.tokens: list[int] = []
        self.computed = 0
        self._is_long = False
        self._start()

    def append(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Compute tokens after those in the cache, and return the logits of the last one.

        After an error, the tokens of the chunks before the error are in the cache.

        Args:
            tokens: One or more tokens.

        Returns:
            The logits, [vocabulary].

        Raises:
            InvalidArgumentError: No token was given, or more than the context has room for.
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
            # All keys of a text are rotated by the same kind of angles, those of short or those
            # of long texts: the keys in the cache must be computed again.
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
        # The logits are those of the last token, or of all tokens with filler behind them.
        last: NDArray[np.float32] = logits[0, : len(chunk)][-1].astype(np.float32)
        return last

    @property
    def room(self) -> int:
        """The number of further tokens for which the context has room."""
        return self.model.folder.context_length - len(self.tokens)

    def inputs_of(self, tokens: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return all inputs of a call that computes tokens after those in the cache.

        Args:
            tokens: The tokens, [1, tokens].
        """
        total = len(self.tokens) + tokens.shape[1]
        rows = {
            self.model.folder.attention_mask: np.ones((1, total)),
            self.model.folder.position_ids: np.arange(len(self.tokens), total)[None],
        }
        return {**self.model.feeds(tokens, rows), **self._past()}

    def rewind(self, length: int) -> None:
        """Drop all tokens but the first ones from the cache.

        Args:
            length: The number of tokens that stay.

        Raises:
            InvalidArgumentError: The cache has fewer tokens.
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
        """Compute tokens after those in the cache.

        Args:
            tokens: The tokens of a chunk with filler, [1, tokens].
            count: The number of tokens without filler.

        Returns:
            The logits of the last token before the filler, [1, 1, vocabulary], or of all tokens.
        """

    @abstractmethod
    def _past(self) -> dict[str, NDArray[Any]]:
        """Return the keys and values of the tokens in the cache, by the names of inputs."""


class _CacheInPlace(TokenCache):
    """A cache in the states of a stream, into which the network writes the rows of new tokens."""

    def _start(self) -> None:
        model = self.model
        capacity = None
        if self._is_long:
            capacity = model.short_context + _BLOCK
        elif model.short_context < model.folder.context_length and model.short_context % _BLOCK:
            # The model chooses the angles by the capacity of the cache, which must not be rounded
            # up beyond the short context.
            capacity = model.short_context
        self._stream = model.network.stream(capacity=capacity)
        self._rows = _BLOCK

    def append(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Compute tokens; see :meth:`TokenCache.append`.

        An empty cache gets room for all of them and one more token at once, as caches of each
        capacity need plans of their own.
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
        """Drop the rows after those of the tokens: of filler, a rewind, or a failed run."""
        if self._stream.length != len(self.tokens):
            self._stream.rewind(len(self.tokens))


class _GrowingCache(TokenCache):
    """A cache that each call replaces by a longer copy, for models that append with Concat."""

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
    """Yield the tokens of each call, and the size of its chunk, to which filler is added.

    Args:
        tokens: All tokens to compute.
        room: The number of tokens with filler for which the context has room, at least that of
            ``tokens``.
        takes_filler: Whether chunks may have filler; not for a model that computes the logits of
            the last token of each call only.
    """
    at = 0
    while at < len(tokens):
        left = len(tokens) - at
        most = 2 * left if takes_filler else left
        size = max(each for each in CHUNKS if each <= most and at + each <= room)
        yield tokens[at : at + size], size
        at += size


def _weight_bytes(network: Network, tokens: str) -> int:
    """Return the bytes of constants that computing one token reads.

    The embedding table, of which one row is read, is left out.

    Args:
        network: The network.
        tokens: The name of the input of tokens.
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
    """Return a name with the number of a layer in place of ``%d``."""
    return pattern.replace("%d", str(layer))
