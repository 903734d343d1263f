# SPDX-License-Identifier: MIT
"""Folders as inputs of ``armnn run``: a set per file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from armnn.cli.inputs import ARRAY_SUFFIXES, InputOptions
from armnn.cli.pictures import PICTURE_SUFFIXES
from armnn.errors import InvalidArgumentError


def input_sets(options: InputOptions) -> list[InputOptions]:
    """Return the options of each set of inputs.

    Where a source is a folder, the first set has its first file by name, and so on; other sources
    are the same in all sets.

    Raises:
        InvalidArgumentError: A folder has no file to read, or two folders differ in their number.
    """
    folders = {text: found for text in options.sources if (found := _files(text, "--input"))}
    count = _common_count(folders, "--input")
    return [
        replace(options, sources=[_chosen(text, folders, at) for text in options.sources])
        for at in range(count or 1)
    ]


def texts_of_sets(texts: Sequence[str], option: str, count: int) -> list[list[str]]:
    """Return an option's values for each set of inputs.

    Args:
        texts: NAME=FILE, or NAME=FOLDER with a file for each set.
        option: Its name, for the message.
        count: How many sets there are.

    Raises:
        InvalidArgumentError: A folder has another number of files than there are sets.
    """
    folders = {text: found for text in texts if (found := _files(text, option))}
    given = _common_count(folders, option)
    if texts and (given or 1) != count:
        raise InvalidArgumentError(
            f"{option} got {given or 1} file{'s' * ((given or 1) > 1)} for an output, expected "
            f"{count}: one for each set of inputs, in a folder"
        )
    return [[_chosen(text, folders, at) for text in texts] for at in range(count)]


def _files(text: str, option: str) -> tuple[str, list[Path]] | None:
    """Return a folder's name and files, None for other sources."""
    for start in [0, *(at + 1 for at, char in enumerate(text) if char == "=")]:
        folder = Path(text[start:])
        if text[start:] and folder.is_dir():
            suffixes = ARRAY_SUFFIXES + PICTURE_SUFFIXES
            files = sorted(each for each in folder.iterdir() if each.suffix.lower() in suffixes)
            if not files:
                raise InvalidArgumentError(
                    f"{option} got the folder {str(folder)!r}, which has no file ending in "
                    f"{', '.join(suffixes)}"
                )
            return text[:start], files
    return None


def _common_count(folders: dict[str, tuple[str, list[Path]]], option: str) -> int:
    """Return how many files every folder has, 0 without folders."""
    counts = {text: len(files) for text, (_, files) in folders.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{text!r} with {count}" for text, count in counts.items())
        raise InvalidArgumentError(
            f"{option} got folders of different numbers of files: {listed}; expected one file for "
            "each set of inputs"
        )
    return max(counts.values(), default=0)


def _chosen(text: str, folders: dict[str, tuple[str, list[Path]]], at: int) -> str:
    if text not in folders:
        return text
    name, files = folders[text]
    return f"{name}{files[at]}"
