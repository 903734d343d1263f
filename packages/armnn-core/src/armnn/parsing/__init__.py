# SPDX-License-Identifier: MIT
"""Model files to networks, by the installed parsers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import signature
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias

from armnn import metadata
from armnn.arguments import closest, file_path, mapping, refused, shown, text
from armnn.errors import InvalidArgumentError, ModelFileError, ModelFileNotFoundError, ParseError
from armnn.installing import CPU_EXTRA, PARSERS, install_command

if TYPE_CHECKING:
    from armnn.graph import Network, Survey
    from armnn.parsing.content import Content

__all__ = [
    "GROUP",
    "ModelContent",
    "ParserOptions",
    "checked_file",
    "checked_folder",
    "checked_options",
    "content_in",
    "format_of",
    "installed_parsers",
    "parse",
    "parse_folded",
    "parser_version",
    "survey",
]

ParserOptions: TypeAlias = Mapping[str, str | int | bool]
"""Options of a parser by name; they are the keyword arguments of its function. The option "format"
is none of these: it says which parser is meant, as the parameter of :func:`parse`."""

_BYTES = (bytes, bytearray, memoryview)


class Message(Protocol):
    """A message of Protocol Buffers, such as an ``onnx.ModelProto``."""

    def SerializeToString(self) -> bytes:  # noqa: N802 # Protocol Buffers' name
        """Return its bytes."""


ModelContent: TypeAlias = "bytes | bytearray | memoryview | BinaryIO | Message"
"""A model without a path: its bytes, a file that is open for reading them, or a message."""

GROUP = "armnn.parsers"
"""The entry-point group: an entry's name is a file suffix, its value a function of a path, or of
the bytes of a file. A function that has the parameter ``folder`` reads the data of bytes from files
below that folder. A function that has the parameter ``survey`` fills one. To a function that has
the parameter ``folded``, True says that quantized operators may become layers on stored values
where layers on floats between Dequantize and Quantize mean the same; the network's ``is_folded``
then says that some did. Who asks for that parses the model again where backends refuse them."""

_FORMAT = "format"

_NO_OPTIONS = ("survey", "folded", "folder", _FORMAT)
"""Parameters that are for the core."""


def installed_parsers() -> tuple[metadata.EntryPoint, ...]:
    """Return the parsers' entry points, the first of each suffix."""
    first: dict[str, metadata.EntryPoint] = {}
    for entry_point in metadata.entry_points(GROUP):
        first.setdefault(entry_point.name.lower(), entry_point)
    return tuple(first[suffix] for suffix in sorted(first))


def parse(
    source: str | PathLike[str] | ModelContent,
    *,
    format: str | None = None,
    suffix: str | None = None,
    folder: str | PathLike[str] | None = None,
    parser_options: ParserOptions | None = None,
) -> Network:
    """Parse a model with the installed parser of its format.

    Args:
        source: The path of a file, or its content: bytes, a file that is open for reading them, or
            a message such as an ``onnx.ModelProto``.
        format: The format of the source: the suffix of such files, as "onnx", which needs
            ``armnn-parser-onnx``. Left out, the suffix of the file says it; where there is none,
            or no parser of that suffix, the content does.
        suffix: The earlier name of ``format``.
        folder: Where the files are in which content keeps its weights; those of a path are beside
            it.
        parser_options: Options of that parser, such as ``{"signature": "serve"}`` of the one for
            TensorFlow Lite.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is a folder, no parser is installed for its format, or the parser cannot
            be imported.
        InvalidArgumentError: The source is content that does not tell its format, and none was
            given, or cannot be read; or the parser has no such option; or a folder was given with a
            path.
        ParseError: The model is malformed, says something that the parser refuses, or is something
            else by its content: a model of another format, a page, a pointer of git-LFS.
    """
    if suffix is not None:
        text(suffix, "the suffix")
        if format is not None:
            raise InvalidArgumentError(
                f"format is {format!r} and suffix is {suffix!r}, two names of one argument: "
                "expected one"
            )
    options = with_format(checked_options(parser_options), suffix if format is None else format)
    return _parse(source, options, folder)


def parse_folded(
    source: str | bytes, *, folder: str | None = None, parser_options: ParserOptions | None = None
) -> Network:
    """Parse a file or its content, perhaps to layers on stored values.

    See :data:`GROUP`. Other parsers do as in :func:`parse`, which also says what is raised.
    """
    return _parse(source, parser_options, folder, folded=True)


def _parse(source: object, options: object, folder: object, **for_core: object) -> Network:
    content = content_in(source)
    beside = checked_folder(folder, content)
    if beside is not None:
        for_core["folder"] = Path(beside)
    model = checked_file(source) if content is None else content
    network = _parser(model, _subject(model), options, **for_core)(model)
    if isinstance(model, Path):
        network.file = str(model)
    return network


def content_in(source: object) -> bytes | None:
    """Return the content that was given instead of a path; None for anything else.

    Raises:
        InvalidArgumentError: It cannot be read.
    """
    if isinstance(source, _BYTES):
        return bytes(source)
    if isinstance(source, (str, PathLike, type)):
        return None
    read = getattr(source, "read", None) or getattr(source, "SerializeToString", None)
    if not callable(read):
        return None
    try:
        content = read()
    except Exception as error:  # whatever a file of others, or Protocol Buffers, raises
        raise InvalidArgumentError(
            f"the model is {shown(source)}, which gives no bytes: {type(error).__name__}: {error}; "
            "expected one that does, or the path of the file"
        ) from error
    if not isinstance(content, _BYTES):
        raise refused(
            f"what {shown(source)} gives as the model", content, "bytes, as open(path, 'rb') does"
        )
    return bytes(content)


def checked_folder(folder: object, content: bytes | None) -> str | None:
    """Return the folder with the data of a model that has no path, if one is given.

    Raises:
        InvalidArgumentError: The model has a path, or the folder is none.
    """
    if folder is None:
        return None
    found = file_path(folder, "the folder")
    if content is None:
        raise refused("the folder", found, "none, as files beside the path of the model are found")
    if not os.path.isdir(found):
        raise refused("the folder", found, "one that exists, with the files of the model's data")
    return found


def survey(
    path: str | PathLike[str], parser_options: ParserOptions | None = None
) -> tuple[Network, Survey]:
    """Parse a file as far as possible; list its operators.

    Returns:
        The network, without what cannot be converted, and the operators of the file. A parser that
        does not list them leaves the survey empty, and raises as :func:`parse` does.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is a folder, no parser is installed for its format, or the parser cannot
            be imported.
        ParseError: The model is malformed, or something else by its content.
        InvalidArgumentError: The parser has no such option.
    """
    file = checked_file(path)
    from armnn.graph import Survey  # late: a prepared load does without

    found = Survey()
    return _parser(file, _subject(file), parser_options, survey=found)(file), found


def format_of(
    model: str | PathLike[str] | bytes, parser_options: ParserOptions | None = None
) -> str:
    """Return the suffix of the parser that a file or its content is for, without a dot.

    It is the option "format", else the file's own suffix if there is a parser of it, else what the
    content tells; where that tells nothing, the file's own suffix.
    """
    given = (parser_options or {}).get(_FORMAT)
    own = "" if isinstance(model, bytes) else os.path.splitext(model)[1]
    name = (str(given) if given is not None else own).removeprefix(".").lower()
    if given is None and not _is_known(name):
        content = _content_of(model if isinstance(model, bytes) else Path(model))
        if content is not None and content.suffix:
            return content.suffix
    return name


def with_format(options: dict[str, str | int | bool], given: object) -> dict[str, str | int | bool]:
    """Return the options of a parser with that of the format, if one is given.

    Raises:
        InvalidArgumentError: It is not a text, or the options say another one.
    """
    if given is None:
        return options
    name = text(given, "the format")
    if options.setdefault(_FORMAT, name) != name:
        raise InvalidArgumentError(
            f"the format is {name!r}, but the parser_options say {options[_FORMAT]!r}: expected one"
        )
    return options


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
        InvalidArgumentError: It is not a path.
        ModelFileNotFoundError: There is no such file.
        ModelFileError: It is a folder.
    """
    if not isinstance(path, (str, PathLike)):
        raise refused("the model", path, "the path of a model file, its content, or a Network")
    file = file_path(path, "the path of the model")
    if not os.path.exists(file):
        raise ModelFileNotFoundError(f"There is no model file {file!r}.")
    if os.path.isdir(file):
        raise ModelFileError(
            f"Cannot parse {file!r}: it is a folder, expected a model file; 'armnn generate' runs "
            "the folder of a language model."
        )
    return file


def checked_options(options: object) -> dict[str, str | int | bool]:
    """Return the options of a parser.

    Raises:
        InvalidArgumentError: They are not a mapping from names to texts or numbers.
    """
    expected = "a mapping from names to values, such as {'signature': 'serve'}"
    given = mapping({} if options is None else options, "the parser_options", expected)
    if _FORMAT in given:
        text(given[_FORMAT], f"the parser option {_FORMAT!r}")
    for name, value in given.items():
        what = f"the parser option {text(name, 'a name in the parser_options')!r}"
        if not isinstance(value, str | int):
            raise refused(what, value, "a text, a whole number, True or False")
    return dict(given)


def _parser(
    source: Path | bytes, subject: str, options: object, **for_core: object
) -> Callable[..., Network]:
    """Return the parser of a model, with its options.

    Args:
        source: The file, or its content.
        subject: Its name in errors.
        options: The options of the caller.
        for_core: Arguments for a parser that has these parameters.
    """
    given = checked_options(options)
    name, content = _chosen(source, subject, given.pop(_FORMAT, None))
    for entry_point in installed_parsers():
        if entry_point.name.lower() == name.lower():
            parser = _load(entry_point)
            parameters = signature(parser).parameters
            _check_names(entry_point, parser, given)
            if "folder" in for_core and "folder" not in parameters:
                raise InvalidArgumentError(
                    f"the parser of .{entry_point.name} files ({entry_point.distribution}) reads "
                    "no files beside a model: leave the folder out"
                )
            arguments = given | {key: of for key, of in for_core.items() if key in parameters}
            return partial(_parsed, entry_point, partial(parser, **arguments))
    if content is not None:
        subject += f", which is {content.what}"
    raise ModelFileError(_no_parser(subject, name))


def _chosen(source: Path | bytes, subject: str, given: object) -> tuple[str, Content | None]:
    """Return the name of a format, and the content if that had to be read for it.

    Raises:
        InvalidArgumentError: The source is bytes which tell nothing.
        ParseError: It is something that no parser reads.
    """
    if given is not None:
        return str(given).removeprefix("."), None
    own = "" if isinstance(source, bytes) else source.suffix.removeprefix(".")
    if _is_known(own):
        return own, None
    content = _content_of(source)
    if content is not None and content.suffix:
        return content.suffix, content
    if content is not None:
        raise ParseError(f"Cannot parse {subject}: it is {content.what}; {content.advice}.")
    if isinstance(source, bytes):
        raise InvalidArgumentError(
            f"the model is {len(source)} bytes without a name, whose format is not recognized: "
            'name it, for example format="onnx"'
        )
    return own, None


def _is_known(suffix: str) -> bool:
    """Return whether a suffix is that of models, here or elsewhere."""
    name = suffix.lower()
    return name in PARSERS or any(name == each.name.lower() for each in installed_parsers())


def _parsed(
    entry_point: metadata.EntryPoint, parser: Callable[..., Network], source: Path | bytes
) -> Network:
    """Return the network that a parser makes of a model.

    Raises:
        ParseError: The parser refuses it; the message says so if it is of another format.
    """
    try:
        return parser(source)
    except ParseError as error:
        content = _content_of(source)
        if content is None or _reads(entry_point, content.suffix):
            if isinstance(source, Path) and str(source) not in str(error):
                first, *more = str(error).split("\n")
                # The cause first: a path may be long.
                named = f"{first.removesuffix(':')} (in {str(source)!r})" + ":" * first.endswith(
                    ":"
                )
                error.args = ("\n".join([named, *more]), *error.args[1:])
            raise
        advice = content.advice or (
            f"give the file the suffix .{content.suffix}, or say format={content.suffix!r}"
        )
        said = f"as .{entry_point.name}: it is {content.what}; {advice}."
        raise ParseError(f"Cannot parse {_subject(source)} {said}") from error


def _subject(source: Path | bytes) -> str:
    """Return the name of a model in errors."""
    return "the bytes of a model" if isinstance(source, bytes) else repr(str(source))


def _reads(entry_point: metadata.EntryPoint, suffix: str) -> bool:
    """Return whether a parser is the one of a suffix."""
    return any(
        each.value == entry_point.value
        for each in installed_parsers()
        if each.name.lower() == suffix
    )


def _content_of(source: Path | bytes) -> Content | None:
    from armnn.parsing.content import content_of  # late: a load of usual names does without

    return content_of(source)


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
        return f"{message}; did you mean .{meant}? Rename the file, or say format={meant!r}."
    if meant is not None:
        suggestion = "" if meant == suffix.lower() else f"did you mean .{meant}? "
        advice = f"{PARSERS[meant]} reads .{meant}: {install_command(f'armnn-core[{meant}]')}"
        return f"{message}; {suggestion}{advice}."
    if installed:
        return f"{message}."
    return f"{message}. The usual ones: {install_command(CPU_EXTRA)}."


def is_below(location: str) -> bool:
    """Return whether a location is a path below its folder.

    Rules of Windows count everywhere, so that a file means the same, or nothing, on every platform.
    """
    parts = location.replace("\\", "/").split("/")
    has_drive = location[1:2] == ":"
    return bool(parts[0]) and not (has_drive or ".." in parts or "\0" in location)


def resolved_below(folder: str, location: str, model: str = "") -> str:
    """Return a location's path; empty if links lead out.

    Args:
        folder: The folder that the path is to be below.
        location: A path for which :func:`is_below` holds.
        model: The file of the model in the folder. A link beside it may lead out as the model
            itself does in the cache of Hugging Face, which keeps models as
            ``snapshots/REVISION/model.onnx``, links to files of the folder ``blobs`` beside
            ``snapshots``: a link in the model's own folder, to a file in the same ``blobs``.
    """
    folder = os.path.realpath(folder)
    link = os.path.join(folder, location)
    path = os.path.realpath(link)
    if os.path.commonpath([folder, path]) == folder:
        return path
    blobs = os.path.dirname(path)
    snapshots = os.path.join(os.path.dirname(blobs), "snapshots")
    is_cached = (
        bool(model)
        and os.path.basename(blobs) == "blobs"
        and os.path.dirname(link) == folder
        and os.path.islink(link)
        and os.path.islink(model)
        and os.path.realpath(os.path.dirname(model)) == folder
        and os.path.dirname(os.path.realpath(model)) == blobs
        and folder.startswith(snapshots + os.sep)
    )
    return path if is_cached else ""
