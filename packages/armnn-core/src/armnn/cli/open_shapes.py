# SPDX-License-Identifier: MIT
"""Explains errors about inputs whose shapes the model leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from armnn.cli.inputs import GENERATED
from armnn.cli.pictures import PICTURE_SUFFIXES
from armnn.errors import ShapeError
from armnn.tensor import format_shape

if TYPE_CHECKING:
    from armnn.cli.inputs import Feed


@contextmanager
def explaining_open_shapes(feeds: Iterable[Feed]) -> Iterator[None]:
    """Name inputs with open shapes in a ShapeError.

    The message says what to do.
    """
    try:
        yield
    except ShapeError as error:
        notes = [_shape_note(feed) for feed in feeds if not feed.info.is_static]
        if not notes:
            raise
        raise ShapeError(f"{error}; {'; '.join(notes)}") from error


def _shape_note(feed: Feed) -> str:
    shape = format_shape(feed.array.shape)
    if feed.source in GENERATED:
        return f"the input {feed.name!r} was taken as {shape}: --shape says otherwise"
    note = f"the input {feed.name!r} has the shape {shape} of {feed.source!r}"
    if feed.source.lower().endswith(PICTURE_SUFFIXES):
        return f"{note}: --resize WIDTHxHEIGHT gives the picture another size"
    return f"{note}: the model leaves {format_shape(feed.info.shape)} open, but not for any size"
