# SPDX-License-Identifier: MIT
"""Text to tokens and back, and text that comes token by token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import tokenizers

from armnn.errors import InvalidArgumentError, ModelFileError

_UNFINISHED: Final = "\ufffd"
"""The character that decoders write where bytes of one are missing."""

_CONTEXT: Final = 8
"""How many tokens before a text are decoded with it: a first word may begin with a space then."""

_BYTES: Final = 4
"""How many tokens a character may have, each a byte of it."""


class Tokenizer:
    """The tokenizer of a folder.

    Args:
        file: Its ``tokenizer.json``.

    Raises:
        ModelFileError: It is not a file of a tokenizer.
    """

    def __init__(self, file: Path) -> None:
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(file))
        except Exception as error:  # of this class, whatever the fault is
            raise ModelFileError(f"{str(file)!r} is not a tokenizer: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    @property
    def vocabulary_size(self) -> int:
        """How many tokens there are."""
        return self._tokenizer.get_vocab_size()

    def encode(self, text: str, *, adds_special_tokens: bool = True) -> list[int]:
        """Return the tokens of a text.

        Args:
            text: The text.
            adds_special_tokens: Whether those come with it that the tokenizer puts around each
                text, such as a mark of its beginning.

        Raises:
            InvalidArgumentError: The text has surrogates, which stand for no character.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidArgumentError(
                f"the text cannot be tokenized, as it cannot be written as UTF-8: {error}"
            ) from error
        found = self._tokenizer.encode(text, add_special_tokens=adds_special_tokens)
        tokens: list[int] = found.ids
        return tokens

    def decode(self, tokens: Sequence[int], *, skips_special_tokens: bool = True) -> str:
        """Return the text of tokens.

        Args:
            tokens: The tokens.
            skips_special_tokens: Whether marks such as that of the end are left out.
        """
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=skips_special_tokens)
        return text

    def token_of(self, text: str) -> int | None:
        """Return the token that is written so, None if there is none."""
        token: int | None = self._tokenizer.token_to_id(text)
        return token


class TextStream:
    """The text of tokens that come one by one; a character comes when all of its tokens are there.

    Args:
        tokenizer: The tokenizer.
        before: The tokens that the text goes on from.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        counts = range(min(_CONTEXT, len(before)), min(_CONTEXT + _BYTES, len(before)) + 1)
        texts = [(count, tokenizer.decode(before[len(before) - count :])) for count in counts]
        # A cut inside of a character loses others, too, where a decoder takes runs of bytes whole.
        count, self._shown = next(
            (each for each in texts if not each[1].startswith(_UNFINISHED)), texts[0]
        )
        """The text of tokens of which nothing is left to come."""
        self._tokens = list(before[len(before) - count :])
        self._ends = [count]
        """After how many of the tokens a character ends."""

    def add(self, token: int) -> str:
        """Return the text that a token completes, "" for none."""
        self._tokens.append(token)
        text = self._tokenizer.decode(self._tokens)
        if text.endswith(_UNFINISHED):
            return ""
        return self._taken(text)

    def end(self) -> str:
        """Return the rest of the text; a character that nothing completed is U+FFFD."""
        return self._taken(self._tokenizer.decode(self._tokens))

    def _taken(self, text: str) -> str:
        piece = text[len(self._shown) :]
        # Few tokens are decoded again each time, however long the text is.
        self._ends.append(len(self._tokens))
        cut = max((each for each in self._ends if each <= len(self._tokens) - _CONTEXT), default=0)
        self._tokens = self._tokens[cut:]
        self._ends = [each - cut for each in self._ends if each >= cut]
        self._shown = self._tokenizer.decode(self._tokens)
        return piece


class StopTexts:
    """Text up to the first of some texts, which may come in several pieces.

    Attributes:
        is_found: Whether one of them has come.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stops)
        self._held = ""
        self.is_found = False

    def add(self, piece: str) -> str:
        """Return the text that is certain to stand before any of them."""
        text = self._held + piece
        at = min((found for stop in self._stops if (found := text.find(stop)) >= 0), default=-1)
        if at >= 0:
            self.is_found, self._held = True, ""
            return text[:at]
        held = max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[len(text) - held :]
        return text[: len(text) - held]

    def end(self) -> str:
        """Return the text that was held back, as a stop text might have begun there."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Return how many of the last characters of a text begin a stop text."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
