# SPDX-License-Identifier: MIT
"""Model files to networks: finds the parser that an installed package has for a file's suffix."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from armnn import _metadata
from armnn.errors import ModelFileError, ModelFileNotFoundError

if TYPE_CHECKING:
    from armnn.graph import Network

GROUP = "armnn.parsers"
"""The entry-point group: an entry's name is a file suffix, its value a function of a path."""

DISTRIBUTIONS = {"onnx": "armnn-parser-onnx", "tflite": "armnn-parser-tflite"}
"""The distributions that bring parsers of well-known suffixes; the suffixes are extras, too."""


def installed_parsers() -> tuple[_metadata.EntryPoint, ...]:
    """Return the entry points of the parsers, the first of each suffix; none is imported."""
    first: dict[str, _metadata.EntryPoint] = {}
    for entry_point in _metadata.entry_points(GROUP):
        first.setdefault(entry_point.name.lower(), entry_point)
    return tuple(first[suffix] for suffix in sorted(first))


def parse(path: str | PathLike[str]) -> Network:
    """Parse a model file with the installed parser for its suffix.

    Args:
        path: The file; "model.onnx" needs ``armnn-parser-onnx``, for one.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is a folder, no parser is installed for its suffix, or the parser cannot
            be imported.
        ParseError: The file is malformed, or says something that the parser refuses.
    """
    file = Path(fspath(path))
    if not file.exists():
        raise ModelFileNotFoundError(f"There is no model file {str(file)!r}.")
    if file.is_dir():
        raise ModelFileError(f"Cannot parse {str(file)!r}: it is a folder, expected a model file.")
    suffix = file.suffix.removeprefix(".").lower()
    for entry_point in installed_parsers():
        if entry_point.name.lower() == suffix:
            return _load(entry_point)(file)
    raise ModelFileError(_no_parser(file, suffix))


def _load(entry_point: _metadata.EntryPoint) -> Callable[[Path], Network]:
    subject = f"The parser of .{entry_point.name} files ({entry_point.distribution})"
    try:
        parser: Callable[[Path], Network] = entry_point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a plug-in must not end the process
        raise ModelFileError(
            f"{subject} cannot be imported: {type(error).__name__}: {error}; reinstall "
            f"{entry_point.distribution.name}."
        ) from error
    if not callable(parser):
        raise ModelFileError(
            f"{subject} is not a function: got {type(parser).__name__} from {entry_point.value}."
        )
    return parser


def _no_parser(file: Path, suffix: str) -> str:
    parsers = [f".{entry.name} ({entry.distribution})" for entry in installed_parsers()]
    what = f"the suffix {file.suffix!r}" if suffix else "files without a suffix"
    installed = f"installed are those of {', '.join(parsers)}" if parsers else "none is installed"
    brought = ", ".join(f"{name} brings .{known}" for known, name in DISTRIBUTIONS.items())
    extra = f'pip install "armnn-core[{suffix}]" or ' if suffix in DISTRIBUTIONS else ""
    return (
        f"Cannot parse {str(file)!r}: there is no parser for {what}, {installed}; {brought}: "
        f'{extra}pip install "armnn-core[cpu]".'
    )
