# SPDX-License-Identifier: MIT
"""Model files to networks, by the installed parsers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from armnn import metadata
from armnn.arguments import closest, file_path, mapping, refused, text
from armnn.errors import InvalidArgumentError, ModelFileError, ModelFileNotFoundError
from armnn.installing import PARSERS, USUAL, install_command

if TYPE_CHECKING:
    from armnn.graph import Network, Survey

__all__ = [
    "GROUP",
    "ParserOptions",
    "checked_file",
    "checked_options",
    "installed_parsers",
    "parse",
    "parse_folded",
    "parser_version",
    "survey",
]

ParserOptions: TypeAlias = Mapping[str, str | int | bool]
"""Options of a parser by name; they are the keyword arguments of its function."""

_CONTENT = (bytes, bytearray, memoryview)

GROUP = "armnn.parsers"
"""The entry-point group: an entry's name is a file suffix, its value a function of a path, or of
the bytes of a file. A function that has the parameter ``survey`` fills one. To a function that has
the parameter ``folded``, True says that quantised operators may become layers on stored values
where layers on floats between Dequantize and Quantize mean the same; the network's ``is_folded``
then says that some did. Who asks for that parses the model again where backends refuse them."""

_NO_OPTIONS = ("survey", "folded")
"""Parameters that are for the core."""


def installed_parsers() -> tuple[metadata.EntryPoint, ...]:
    """Return the parsers' entry points, the first of each suffix."""
    first: dict[str, metadata.EntryPoint] = {}
    for entry_point in metadata.entry_points(GROUP):
        first.setdefault(entry_point.name.lower(), entry_point)
    return tuple(first[suffix] for suffix in sorted(first))


def parse(
    source: str | PathLike[str] | bytes | bytearray | memoryview,
    *,
    suffix: str | None = None,
    parser_options: ParserOptions | None = None,
) -> Network:
    """Parse a model with the installed parser for its suffix.

    Args:
        source: The file, or its content.
        suffix: What to take the source for, such as "onnx", which needs ``armnn-parser-onnx``.
            Left out, the suffix of the file; content has none, so there it must be given.
        parser_options: Options of that parser, such as ``{"signature": "serve"}`` of the one for
            TensorFlow Lite.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is a folder, no parser is installed for its suffix, or the parser cannot
            be imported.
        InvalidArgumentError: The source is content, and no suffix was given; or the parser has no
            such option.
        ParseError: The model is malformed, or says something that the parser refuses.
    """
    if suffix is not None:
        text(suffix, "the suffix")
    if isinstance(source, _CONTENT):
        source = bytes(source)
        if suffix is None:
            raise InvalidArgumentError(
                f"the model is {len(source)} bytes without a name: say what they are, for example "
                'suffix="onnx"'
            )
        return _parser(suffix, "the bytes of a model", parser_options)(source)
    file = checked_file(source)
    return _parser(file.suffix if suffix is None else suffix, repr(str(file)), parser_options)(file)


def parse_folded(file: str, *, parser_options: ParserOptions | None = None) -> Network:
    """Parse a file, perhaps to layers on stored values.

    See :data:`GROUP`. Other parsers do as in :func:`parse`, which also says what is raised.
    """
    path = checked_file(file)
    parser = _parser(path.suffix, repr(str(path)), parser_options)
    return parser(path, folded=True) if "folded" in signature(parser).parameters else parser(path)


def survey(
    path: str | PathLike[str], parser_options: ParserOptions | None = None
) -> tuple[Network, Survey]:
    """Parse a file as far as possible; list its operators.

    Returns:
        The network, without what cannot be converted, and the operators of the file. A parser that
        does not list them leaves the survey empty, and raises as :func:`parse` does.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is a folder, no parser is installed for its suffix, or the parser cannot
            be imported.
        ParseError: The model is malformed.
        InvalidArgumentError: The parser has no such option.
    """
    file = checked_file(path)
    parser = _parser(file.suffix, repr(str(file)), parser_options)
    from armnn.graph import Survey  # late: a prepared load does without

    found = Survey()
    if "survey" not in signature(parser).parameters:
        return parser(file), found
    return parser(file, survey=found), found


def parser_version(suffix: str) -> str:
    """Return distribution and version of a suffix's parser, or ""."""
    name = suffix.removeprefix(".").lower()
    return next(
        (str(entry.distribution) for entry in installed_parsers() if entry.name.lower() == name), ""
    )


def checked_file(path: object) -> Path:
    """Return the path of a model file.

    Raises:
        ArmnnError: See :func:`checked_path`.
    """
    return Path(checked_path(path))


def checked_path(path: object) -> str:
    """Return the path of a model file, as a text.

    Raises:
        InvalidArgumentError: It is no path.
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is a folder.
    """
    if not isinstance(path, (str, PathLike)):
        hint = "; parse(data, suffix='onnx') makes a network of the content of a file"
        expected = "the path of a model file, or a Network"
        raise refused("the model", path, expected + hint * isinstance(path, _CONTENT))
    file = file_path(path, "the path of the model")
    if not os.path.exists(file):
        raise ModelFileNotFoundError(f"There is no model file {file!r}.")
    if os.path.isdir(file):
        raise ModelFileError(f"Cannot parse {file!r}: it is a folder, expected a model file.")
    return file


def checked_options(options: object) -> dict[str, str | int | bool]:
    """Return the options of a parser.

    Raises:
        InvalidArgumentError: They are no mapping from names to texts or numbers.
    """
    expected = "a mapping from names to values, such as {'signature': 'serve'}"
    given = mapping({} if options is None else options, "the parser_options", expected)
    for name, value in given.items():
        what = f"the parser option {text(name, 'a name in the parser_options')!r}"
        if not isinstance(value, str | int):
            raise refused(what, value, "a text, a whole number, True or False")
    return dict(given)


def _parser(suffix: str, subject: str, options: object) -> Callable[..., Network]:
    """Return the parser of a suffix, with its options."""
    given = checked_options(options)
    name = suffix.removeprefix(".")
    for entry_point in installed_parsers():
        if entry_point.name.lower() == name.lower():
            parser = _load(entry_point)
            _check_names(entry_point, parser, given)
            return partial(parser, **given) if given else parser
    raise ModelFileError(_no_parser(subject, name))


def _check_names(
    entry_point: metadata.EntryPoint, parser: Callable[..., Network], options: Iterable[str]
) -> None:
    """Raise InvalidArgumentError for options that a parser lacks."""
    for name in options:
        parameters = signature(parser).parameters.values()
        known = [
            p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in _NO_OPTIONS
        ]
        if name not in known:
            meant = closest(name, known, 0.6)
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise InvalidArgumentError(
                f"the parser of .{entry_point.name} files ({entry_point.distribution}) has no "
                f"option {name!r}: it has {', '.join(map(repr, known)) or 'none'}{hint}"
            )


def _load(entry_point: metadata.EntryPoint) -> Callable[..., Network]:
    subject = f"The parser of .{entry_point.name} files ({entry_point.distribution})"
    try:
        parser: Callable[..., Network] = entry_point.load()
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


def _no_parser(subject: str, suffix: str) -> str:
    installed = installed_parsers()
    what = f"the suffix {'.' + suffix!r}" if suffix else "files without a suffix"
    suffixes: dict[str, list[str]] = {}
    for entry in installed:
        suffixes.setdefault(str(entry.distribution), []).append(f".{entry.name}")
    readable = ", ".join(f"{', '.join(names)} ({brings})" for brings, names in suffixes.items())
    there_is = f"; readable here: {readable}" if installed else ", none is installed"
    message = f"Cannot parse {subject}: there is no parser for {what}{there_is}"
    here = [entry.name.lower() for entry in installed]
    meant = closest(suffix, dict.fromkeys([*here, *PARSERS])) if suffix else None
    if meant in here:
        return (
            f"{message}; did you mean .{meant}? Rename the file, or parse it with suffix={meant!r}."
        )
    if meant is not None:
        suggestion = "" if meant == suffix.lower() else f"did you mean .{meant}? "
        advice = f"{PARSERS[meant]} reads .{meant}: {install_command(f'armnn-core[{meant}]')}"
        return f"{message}; {suggestion}{advice}."
    if installed:
        return f"{message}."
    return f"{message}. The usual ones: {install_command(USUAL)}."


def is_below(location: str) -> bool:
    """Return whether a location is a path below its folder.

    Rules of Windows count everywhere, so that a file means the same, or nothing, on every platform.
    """
    parts = location.replace("\\", "/").split("/")
    has_drive = location[1:2] == ":"
    return bool(parts[0]) and not (has_drive or ".." in parts or "\0" in location)


def resolved_below(folder: str, location: str) -> str:
    """Return a location's path; empty if links lead out."""
    folder = os.path.realpath(folder)
    path = os.path.realpath(os.path.join(folder, location))
    return path if os.path.commonpath([folder, path]) == folder else ""
