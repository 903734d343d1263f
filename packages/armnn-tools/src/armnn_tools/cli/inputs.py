# SPDX-License-Identifier: MIT
"""The inputs of a model: files, numbers, random values or zeros.

Files of arrays are untrusted: no pickles are read, and memory is bounded.
"""

from __future__ import annotations

import argparse
import math
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import closest
from armnn.errors import InvalidArgumentError, ShapeError
from armnn.graph import Aliased, Network, aliases_of
from armnn.installing import CPU_REF
from armnn.optimizer.shapes.assumed import assume_shapes
from armnn.quantization import quantize
from armnn.tensor import MAX_RANK, Shape, TensorInfo, format_shape
from armnn_tools.cli.options import (
    add_model_arguments,
    add_optimizer_arguments,
    add_quantize_argument,
    add_seed_argument,
    add_shape_argument,
    opened_runtime,
    positive_number,
    with_completed_ids,
)
from armnn_tools.cli.output import progress
from armnn_tools.cli.pictures import PICTURE_SUFFIXES, PictureOptions, read_picture
from armnn_tools.debugging.samples import random_array

_NUMBER = r"(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|true|false)"
_NUMBERS = re.compile(rf"{_NUMBER}(?:,{_NUMBER})*", re.IGNORECASE)

ARRAY_BYTES_LIMIT = 1 << 31
"""A small .npz can unpack to any size; no input of a network is larger than this."""

_GENERATED = ("random", "zeros")
_ARRAY_SUFFIXES = (".npy", ".npz")
_SUFFIXES = _ARRAY_SUFFIXES + PICTURE_SUFFIXES
"""The suffixes of files that hold the data of an input."""
_EXPECTED = f"{', '.join(_SUFFIXES[:6])} or that of another picture"


@dataclass(frozen=True, slots=True, eq=False)
class Feed:
    """The data of one input.

    Attributes:
        name: The name of the input.
        info: The type and shape that the network declares.
        array: The data that the network gets.
        source: "random", "zeros", "the command line" or the path of a file.
        notes: How the data was converted, and what was assumed, in words.
    """

    name: str
    info: TensorInfo
    array: NDArray[Any]
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InputOptions:
    """How the data of a network's inputs is made.

    Attributes:
        sources: The values of ``--input``: NAME=SOURCE, or SOURCE alone.
        shapes: The values of ``--shape``: NAME=1x3x224x224 or NAME=1,3,224,224, or the shape alone.
        seed: The seed of random values.
        pictures: How pictures become tensors.
        quantize: Whether real numbers are quantized for quantized inputs.
    """

    sources: Sequence[str] = ()
    shapes: Sequence[str] = ()
    seed: int = 0
    pictures: PictureOptions = field(default_factory=PictureOptions)
    quantize: bool = False


def make_feeds(
    inputs: Mapping[str, TensorInfo],
    options: InputOptions,
    metadata: Mapping[str, str] | None = None,
    check: Callable[[Mapping[str, NDArray[Any]]], object] | None = None,
) -> list[Feed]:
    """Return the data of a network's inputs, in order.

    Inputs that no option names get random values, and sizes that fit where none are known.

    Args:
        inputs: The types and shapes that the model declares, by name.
        options: How the data is made.
        metadata: The metadata of the model's file.
        check: A function that raises a ShapeError if the layers of the network do not agree with
            data that was made up; they are not asked if it is None.

    Raises:
        InvalidArgumentError: An option names no input, or its data does not fit.
    """
    infos = with_shapes(inputs, options.shapes)
    sources = _sources(options.sources, infos)
    feeds = {
        name: _given(name, source, infos[name], options)
        for name, source in sources.items()
        if source not in _GENERATED
    }
    known = {name: info.shape for name, info in infos.items()}
    known |= {name: feed.array.shape for name, feed in feeds.items()}
    missing = [name for name in infos if name not in feeds]
    made: dict[str, Feed] = {}

    def make(shapes: Mapping[str, Shape | None]) -> None:
        for name in missing:
            made[name] = _made(name, sources.get(name), infos[name], shapes[name], options)
        if check is not None and any(not infos[name].is_static for name in made):
            check({name: feed.array for name, feed in {**feeds, **made}.items()})

    assumed = assume_shapes(infos, metadata or {}, make, known)
    for name, feed in made.items():
        note = assumed.note(name, infos[name])
        feeds[name] = replace(feed, notes=(*feed.notes, note)) if note else feed
    return [feeds[name] for name in infos]


def measured_inputs(network: Network, arguments: argparse.Namespace) -> dict[str, NDArray[Any]]:
    """Return the data that a network is measured with, by input.

    Raises:
        InvalidArgumentError: An option names no input, or its data does not fit.
    """
    infos = {layer.name: layer.output.info for layer in network.inputs}
    options = InputOptions(
        arguments.input, arguments.shape, arguments.seed, quantize=arguments.quantize_input
    )
    return {feed.name: feed.array for feed in make_feeds(infos, options, network.metadata)}


def with_shapes(inputs: Mapping[str, TensorInfo], shapes: Iterable[str]) -> dict[str, TensorInfo]:
    """Return the inputs with the shapes that ``--shape`` gives.

    Raises:
        InvalidArgumentError: A shape is malformed, or contradicts what the model says.
    """
    infos = Aliased(inputs, aliases_of(inputs))
    for name, text in split_named(shapes, infos, "--shape").items():
        if not re.fullmatch(r"\d{1,10}([x,]\d{1,10})*|scalar", text):
            raise InvalidArgumentError(
                f"--shape got {text!r} for the input {name!r}, expected numbers as in 1x3x224x224 "
                "(or the word scalar)"
            )
        shape = () if text == "scalar" else tuple(map(int, re.split("[x,]", text)))
        if not infos[name].accepts(shape):
            raise InvalidArgumentError(
                f"--shape got {format_shape(shape)} for the input {name!r}, expected "
                f"{format_shape(infos[name].shape)} as the model says"
            )
        infos[name] = infos[name].with_shape(shape)
    return infos


def split_named(texts: Iterable[str], names: Collection[str], option: str) -> dict[str, str]:
    """Return the values of options ``NAME=VALUE`` by name.

    Where there is only one name, it may be left out. Names may contain "=" themselves: the longest
    one that fits counts. An alias is returned as the name that it stands for.

    Raises:
        InvalidArgumentError: A name is not known, missing or given twice.
    """
    aliases = aliases_of(names)
    found: dict[str, str] = {}
    for text in texts:
        fitting = [name for name in (*names, *aliases) if text.startswith(f"{name}=")]
        if fitting:
            written = max(fitting, key=len)
            name, value = aliases.get(written, written), text[len(written) + 1 :]
        elif len(names) == 1 and _is_bare(text):
            (name,), value = names, text
        else:
            raise _unknown_name(text, [*names, *aliases], option)
        if name in found:
            raise InvalidArgumentError(f"{option} was given twice for {name!r}: expected once")
        found[name] = value
    return found


def _is_bare(text: str) -> bool:
    """Return whether a text is a value without a name: a path may contain "=", too."""
    return "=" not in text or Path(text).exists()


def _unknown_name(text: str, names: Collection[str], option: str) -> InvalidArgumentError:
    known = ", ".join(map(repr, names)) or "none"
    name, equals, _ = text.partition("=")
    if not equals:
        return InvalidArgumentError(
            f"{option} got {text!r} without a name, expected NAME=... with one of {known}"
        )
    meant = closest(name, names, 0.6)
    hint = f"; did you mean {meant!r}?" if meant else ""
    return InvalidArgumentError(f"{option} got the name {name!r}, expected one of {known}{hint}")


def _sources(texts: Iterable[str], infos: Mapping[str, TensorInfo]) -> dict[str, str]:
    """Return the source of each input; a .npz file without a name serves all inputs in it."""
    named: list[str] = []
    for text in texts:
        names = (*infos, *aliases_of(infos))
        is_named = any(text.startswith(f"{name}=") for name in names)
        if len(infos) > 1 and not is_named and text.endswith(".npz"):
            named += [f"{name}={text}" for name in npz_names(Path(text))]
        else:
            named.append(text)
    return split_named(named, infos, "--input")


def _made(
    name: str, source: str | None, info: TensorInfo, shape: Shape | None, options: InputOptions
) -> Feed:
    """Return random values or zeros of a shape."""
    if shape is None:
        raise InvalidArgumentError(
            f"the model does not say the shape of the input {name!r}; say it with --shape"
        )
    known = info.with_shape(shape)
    if known.size_bytes > ARRAY_BYTES_LIMIT:
        raise InvalidArgumentError(
            f"the input {name!r} of shape {format_shape(shape)} is too large: expected at most "
            f"{ARRAY_BYTES_LIMIT} bytes"
        )
    if source == "zeros":
        return Feed(name, info, _zeros(known), source)
    array = random_array(name, known, options.seed)
    reason = ["not given"] if source is None else []
    return Feed(name, info, array, "random", (*reason, f"seed {options.seed}"))


def _given(name: str, source: str, info: TensorInfo, options: InputOptions) -> Feed:
    """Return the data that a value of ``--input`` spells out, or that its file holds."""
    if _NUMBERS.fullmatch(source):
        numbers, assumed = _numbers(name, source, info)
        numbers = _quantized(numbers, info, options)
        array, notes = fitted(numbers, info, f"the input {name!r}, {source}")
        return Feed(name, info, array, "the command line", (*notes, *assumed))
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix in PICTURE_SUFFIXES:
        with _for_input(name):
            array, notes = read_picture(path, info, options.pictures)
    elif suffix in _ARRAY_SUFFIXES:
        with _for_input(name):
            data = read_npy(path) if suffix == ".npy" else read_npz(path, name)
        data = _quantized(data, info, options)
        array, notes = fitted(data, info, f"the input {name!r} from {source!r}")
        if array.dtype.kind == "f" and (count := np.count_nonzero(np.isnan(array))):
            notes.append(f"{count} of its {array.size} numbers are NaN")
    else:
        raise InvalidArgumentError(
            f"--input got {source!r} for the input {name!r}, expected a file ending in "
            f"{_EXPECTED}, numbers as in 16000 or 1,2.5, or the word random, zeros, true or false"
        )
    return Feed(name, info, array, source, tuple(notes))


@contextmanager
def _for_input(name: str) -> Iterator[None]:
    """Name the input whose file cannot be read."""
    try:
        yield
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"the input {name!r}: {error}") from error


def _quantized(data: NDArray[Any], info: TensorInfo, options: InputOptions) -> NDArray[Any]:
    """Return real numbers as a quantized input stores them, if that is wanted."""
    if options.quantize and info.is_quantized and data.dtype.kind == "f":
        return quantize(data, info)
    return data


def _numbers(name: str, text: str, info: TensorInfo) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the numbers in a text, in the shape of an input, and notes.

    Their count determines the last unknown dimension; those before it are 1, such as the batch.

    Raises:
        InvalidArgumentError: They are not as many as the input has elements.
    """
    numbers = np.array([_number(part) for part in text.lower().split(",")])
    shape = info.shape
    if shape is None:
        return numbers if numbers.size > 1 else numbers.reshape(()), ()
    open_axes = [axis for axis, dim in enumerate(shape) if not isinstance(dim, int)]
    sizes = [dim if isinstance(dim, int) else 1 for dim in shape]
    known = math.prod(sizes)
    if open_axes and known:
        sizes[open_axes[-1]] = numbers.size // known
    if numbers.size != math.prod(sizes):
        raise InvalidArgumentError(
            f"--input got {numbers.size} numbers for the input {name!r}, expected as many as "
            f"{format_shape(shape)} has elements"
        )
    made = numbers.reshape(sizes)
    notes = (f"taken as {format_shape(made.shape)} (assumed)",) if len(open_axes) > 1 else ()
    return made, notes


def _number(text: str) -> bool | int | float:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def _zeros(info: TensorInfo) -> NDArray[Any]:
    """Return zeros as an input stores them: the zero point where it is quantized."""
    stored = info.zero_points[0] if info.zero_points else 0
    return np.full(info.static_shape, stored, info.data_type.numpy_dtype)


def input_sets(options: InputOptions) -> list[InputOptions]:
    """Return the options of each set of inputs.

    Where a source is a folder, the first set has its first file by name, and so on; other sources
    are the same in all sets.

    Raises:
        InvalidArgumentError: A folder has no file to read, or two folders differ in their number.
    """
    folders = {
        text: found for text in options.sources if (found := _folder_and_files(text, "--input"))
    }
    count = _common_count(folders, "--input")
    return [
        replace(options, sources=[_text_of_set(text, folders, at) for text in options.sources])
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
    folders = {text: found for text in texts if (found := _folder_and_files(text, option))}
    given = _common_count(folders, option)
    if texts and (given or 1) != count:
        raise InvalidArgumentError(
            f"{option} got {given or 1} file{'s' * ((given or 1) > 1)} for an output, expected "
            f"{count}: one for each set of inputs, in a folder"
        )
    return [[_text_of_set(text, folders, at) for text in texts] for at in range(count)]


def _folder_and_files(text: str, option: str) -> tuple[str, list[Path]] | None:
    """Return the ``NAME=`` before a folder and the files in it; None for other sources."""
    for start in [0, *(at + 1 for at, char in enumerate(text) if char == "=")]:
        folder = Path(text[start:])
        if text[start:] and folder.is_dir():
            return text[:start], _files_in(folder, option)
    return None


def _common_count(folders: dict[str, tuple[str, list[Path]]], option: str) -> int:
    """Return the number of files that all folders have, 0 without folders."""
    counts = {text: len(files) for text, (_, files) in folders.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{text!r} with {count}" for text, count in counts.items())
        raise InvalidArgumentError(
            f"{option} got folders of different numbers of files: {listed}; expected one file for "
            "each set of inputs"
        )
    return max(counts.values(), default=0)


def _text_of_set(text: str, folders: dict[str, tuple[str, list[Path]]], at: int) -> str:
    if text not in folders:
        return text
    name, files = folders[text]
    return f"{name}{files[at]}"


def add_sample_arguments(parser: argparse.ArgumentParser, title: str) -> argparse._ArgumentGroup:
    """Add the options for a model, its preparation, the reference and the samples.

    Returns:
        The group with that title, for further options of the command.
    """
    add_model_arguments(parser)
    add_optimizer_arguments(parser)
    group = parser.add_argument_group(title)
    with_completed_ids(
        group.add_argument(
            "--reference",
            metavar="ID",
            default=CPU_REF,
            help="the backend that defines what is right (default: %(default)s)",
        )
    )
    group.add_argument(
        "--inputs",
        metavar="DIR",
        default="random",
        help="a folder with a file for each sample, .npz with an array per input or, for one "
        "input, .npy or a picture; or the word random (default: %(default)s)",
    )
    group.add_argument(
        "--samples",
        type=positive_number,
        default=1,
        metavar="N",
        help="how many random samples (default: %(default)s)",
    )
    add_quantize_argument(group)
    add_seed_argument(group)
    add_shape_argument(group)
    return group


def samples_for(network: Network, arguments: argparse.Namespace) -> list[dict[str, NDArray[Any]]]:
    """Return the input data of each sample that a model is compared with, by input.

    Raises:
        InvalidArgumentError: There is no such folder, or it has no file of a known kind.
        ArmnnError: A file does not fit the network.
    """
    base = InputOptions(
        shapes=arguments.shape, seed=arguments.seed, quantize=arguments.quantize_input
    )
    if arguments.inputs == "random":
        wanted = [replace(base, seed=arguments.seed + at) for at in range(arguments.samples)]
    elif (folder := Path(arguments.inputs)).is_dir():
        files = _files_in(folder, "--inputs")
        wanted = [replace(base, sources=[str(file)]) for file in files]
    else:
        raise InvalidArgumentError(
            f"--inputs got {arguments.inputs!r}, expected a folder with a file per sample, or "
            "random"
        )
    infos = {layer.name: layer.output.info for layer in network.inputs}
    with opened_runtime(arguments) as runtime, progress("Preparing inputs"):
        loaded = None
        if not all(info.is_static for info in infos.values()):
            loaded = runtime.load_model(network, [arguments.reference])
        check = None if loaded is None else loaded.prepare
        return [
            {feed.name: feed.array for feed in make_feeds(infos, options, network.metadata, check)}
            for options in wanted
        ]


def _files_in(folder: Path, option: str) -> list[Path]:
    """Return the files of arrays and pictures in a folder, by name."""
    found = sorted(each for each in folder.iterdir() if each.suffix.lower() in _SUFFIXES)
    if not found:
        raise InvalidArgumentError(
            f"{option} got the folder {str(folder)!r}, which has no file ending in {_EXPECTED}"
        )
    return found


@contextmanager
def explaining_open_shapes(feeds: Iterable[Feed]) -> Iterator[None]:
    """Add the inputs whose shapes the model leaves open to the message of a ShapeError.

    The message says which option gives them another shape.
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
    if feed.source in _GENERATED:
        return f"the input {feed.name!r} was assumed to be {shape}: --shape sets its shape"
    note = f"the input {feed.name!r} has the shape {shape} of {feed.source!r}"
    if feed.source.lower().endswith(PICTURE_SUFFIXES):
        return f"{note}: --resize WIDTHxHEIGHT gives the picture another size"
    return f"{note}: the model leaves {format_shape(feed.info.shape)} open, but not for any size"


def read_npy(path: Path) -> NDArray[Any]:
    """Return the array in a .npy file.

    Raises:
        InvalidArgumentError: The file cannot be read, or is not a whole array of numbers.
    """
    try:
        with path.open("rb") as file:
            return _read_array(file, path.stat().st_size, str(path))
    except OSError as error:
        raise _cannot_read(path, error) from error


def read_npz(path: Path, name: str) -> NDArray[Any]:
    """Return the array of that name in a .npz file, or the only one there.

    Raises:
        InvalidArgumentError: The file cannot be read, or has several arrays but not that one.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = _array_names(archive)
            if name not in names and len(names) != 1:
                raise InvalidArgumentError(
                    f"{str(path)!r} has no array {name!r}: got {', '.join(names) or 'none at all'}"
                )
            entry = archive.getinfo(names[name if name in names else next(iter(names))])
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise InvalidArgumentError(f"{str(path)!r} is not packed as numpy.savez does it")
            with archive.open(entry) as file:
                return _read_array(file, entry.file_size, str(path))
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise _cannot_read(path, error) from error


def npz_names(path: Path) -> list[str]:
    """Return the names of the arrays in a .npz file.

    Raises:
        InvalidArgumentError: The file cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return list(_array_names(archive))
    except (OSError, zipfile.BadZipFile) as error:
        raise _cannot_read(path, error) from error


def fitted(array: NDArray[Any], info: TensorInfo, what: str) -> tuple[NDArray[Any], list[str]]:
    """Return an array in the type of an input, and notes on how it was converted.

    A conversion must keep every value; only float64, in which Python's numbers are saved, may be
    rounded to float32. Real numbers for a quantized input are not what it stores, even if they are
    whole.

    Args:
        array: The data.
        info: The type and shape of the input.
        what: The origin of the data, for the message.

    Raises:
        InvalidArgumentError: The shape or the type does not fit.
    """
    if not info.accepts(array.shape):
        raise InvalidArgumentError(
            f"{what}: got shape {format_shape(array.shape)}, expected {format_shape(info.shape)}"
        )
    wanted = info.data_type.numpy_dtype
    if array.dtype == wanted:
        return np.asarray(array, order="C"), []
    if info.is_quantized and array.dtype.kind == "f":
        raise InvalidArgumentError(
            f"{what}: got {array.dtype}, expected the numbers that {info} stores; "
            "--quantize-input takes real numbers"
        )
    if array.dtype.kind not in "biuf":
        raise InvalidArgumentError(f"{what}: got {array.dtype}, expected {wanted}")
    with np.errstate(all="ignore"):
        converted = array.astype(wanted, order="C")
        back = converted.astype(array.dtype)
    exact = np.array_equal(back, array, equal_nan=array.dtype.kind == "f") and np.array_equal(
        converted < 0, array < 0
    )
    rounds = array.dtype.newbyteorder("=") == np.float64 and wanted == np.float32
    overflows = rounds and not np.array_equal(np.isfinite(converted), np.isfinite(array))
    if not exact and (not rounds or overflows):
        raise InvalidArgumentError(
            f"{what}: got {array.dtype}, expected {wanted}, which cannot hold all of its values; "
            "convert it first"
        )
    return converted, [f"{array.dtype} {'converted' if exact else 'rounded'} to {wanted}"]


def _array_names(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the member of the archive that holds each array, by the name of the array."""
    members = (member for member in archive.namelist() if member.endswith(".npy"))
    return {member.removesuffix(".npy"): member for member in members}


def _read_array(file: IO[bytes], size_bytes: int, what: str) -> NDArray[Any]:
    """Return the array in an open .npy file of ``size_bytes`` bytes, header included."""
    shape, is_fortran, dtype, header_bytes = _header(file, what)
    expected = math.prod(shape) * dtype.itemsize
    if expected > ARRAY_BYTES_LIMIT:
        raise InvalidArgumentError(
            f"{what!r} holds {expected} bytes, expected at most {ARRAY_BYTES_LIMIT}"
        )
    data = file.read(expected) if size_bytes - header_bytes >= expected else b""
    if len(data) != expected:
        raise InvalidArgumentError(
            f"{what!r} is truncated: got {size_bytes - header_bytes} bytes of data, expected "
            f"{expected}"
        )
    array = np.frombuffer(data, dtype)
    return array.reshape(shape, order="F" if is_fortran else "C")


def _header(file: IO[bytes], what: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        # Version 3 differs in the names of structured types only, which are not tensors.
        reader = readers[np.lib.format.read_magic(file)]
        shape, is_fortran, dtype = reader(file)
    except (ValueError, KeyError) as error:
        raise InvalidArgumentError(
            f"{what!r} is not an array as numpy.save writes it: {error}"
        ) from error
    if dtype.kind not in "biufc":
        raise InvalidArgumentError(f"{what!r} holds {dtype}, expected plain numbers")
    if len(shape) > MAX_RANK or any(not 0 <= size <= ARRAY_BYTES_LIMIT for size in shape):
        raise InvalidArgumentError(
            f"{what!r} holds an array of shape {format_shape(shape)}, expected at most {MAX_RANK} "
            f"axes of at most {ARRAY_BYTES_LIMIT}"
        )
    return shape, is_fortran, dtype, file.tell()


def _cannot_read(path: Path, error: Exception) -> InvalidArgumentError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return InvalidArgumentError(f"cannot read {str(path)!r}: {reason}")
