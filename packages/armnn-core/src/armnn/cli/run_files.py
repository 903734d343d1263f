# SPDX-License-Identifier: MIT
"""The files that ``armnn run`` writes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.cli.inputs import split_named
from armnn.cli.results import real_values
from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.runtime import LoadedNetwork


def output_files(texts: Sequence[str], loaded: LoadedNetwork, sets: int) -> dict[str, list[Path]]:
    """Return each output's files, one per set of inputs.

    The files of several sets have the number of the set before the suffix, from 0 on.

    Raises:
        InvalidArgumentError: A name is not known, or a file cannot be written.
    """
    found: dict[str, list[Path]] = {}
    for name, text in split_named(texts, loaded.outputs, "--output").items():
        path = Path(text)
        if path.suffix != ".npy":
            raise InvalidArgumentError(
                f"--output got {text!r} for {name!r}, expected a file ending in .npy"
            )
        numbered = [path.with_stem(f"{path.stem}_{number}") for number in range(sets)]
        found[name] = [path] if sets == 1 else numbered
        for each in found[name]:
            check_writable("--output", each)
    return found


def write_outputs(
    files: Mapping[str, Sequence[Path]],
    outputs: Sequence[Mapping[str, NDArray[Any]]],
    loaded: LoadedNetwork,
    *,
    as_real_values: bool,
) -> dict[str, str]:
    """Write outputs; return the paths by content."""
    written: dict[str, str] = {}
    for name, paths in files.items():
        for number, (path, arrays) in enumerate(zip(paths, outputs, strict=True)):
            array = arrays[name]
            if as_real_values:
                array = real_values(array, loaded.outputs[name])
            with writing(path):
                np.save(path, array)
            title = f"output {name}" if len(paths) == 1 else f"output {name} of set {number}"
            written[title] = str(path)
    return written


def check_writable(option: str, path: Path) -> None:
    """Raise InvalidArgumentError before a run for unwritable files."""
    place = path if path.exists() else path.parent
    is_kind = not path.is_dir() if path.exists() else place.is_dir()
    if not is_kind or not os.access(place, os.W_OK):
        raise InvalidArgumentError(
            f"{option} got {str(path)!r}, which cannot be written; expected a file in a folder "
            "that exists and is yours to write"
        )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say which file could not be written."""
    try:
        yield
    except OSError as error:
        raise InvalidArgumentError(
            f"cannot write {str(path)!r}: {error.strerror or error}"
        ) from error
