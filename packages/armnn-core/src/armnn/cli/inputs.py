# SPDX-License-Identifier: MIT
"""Input data for ``armnn run``: files, random values or zeros."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn._aliases import Aliased, aliases_of
from armnn._spelling import closest
from armnn.cli.arrays import ARRAY_BYTES_LIMIT, fitted, npz_names, read_npy, read_npz
from armnn.cli.pictures import PICTURE_SUFFIXES, PictureOptions, read_picture
from armnn.debugging.samples import random_array
from armnn.errors import InvalidArgumentError
from armnn.optimizer.shapes.assumed import assume_shapes
from armnn.quantization import quantize
from armnn.tensor import TensorInfo, format_shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import Shape

_NUMBER = r"(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|true|false)"
_NUMBERS = re.compile(rf"{_NUMBER}(?:,{_NUMBER})*", re.IGNORECASE)

GENERATED = ("random", "zeros")
ARRAY_SUFFIXES = (".npy", ".npz")


@dataclass(frozen=True, slots=True, eq=False)
class Feed:
    """The data of one input.

    Attributes:
        name: Of the input.
        info: What the network wants.
        array: What the network gets.
        source: "random", "zeros", "the command line" or the path of a file.
        notes: What was done to it and what was assumed.
    """

    name: str
    info: TensorInfo
    array: NDArray[Any]
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InputOptions:
    """How the data of inputs is made.

    Attributes:
        sources: The values of ``--input``: NAME=SOURCE, or SOURCE alone.
        shapes: The values of ``--shape``: NAME=1x3x224x224, or the shape alone.
        seed: Of the random values.
        pictures: How pictures become tensors.
        quantize: Whether real numbers are quantised for quantised inputs.
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
        inputs: What the model says of them.
        options: How the data is made.
        metadata: What the model's file says about itself.
        check: Raises a ShapeError if the layers of the network do not agree with data that was made
            up; they are not asked if left out.

    Raises:
        InvalidArgumentError: An option names no input, or its data does not fit.
    """
    infos = with_shapes(inputs, options.shapes)
    sources = _sources(options.sources, infos)
    feeds = {
        name: _given(name, source, infos[name], options)
        for name, source in sources.items()
        if source not in GENERATED
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


def with_shapes(inputs: Mapping[str, TensorInfo], shapes: Iterable[str]) -> dict[str, TensorInfo]:
    """Return the inputs' infos with the shapes of ``--shape``.

    Raises:
        InvalidArgumentError: A shape is malformed, or contradicts what the model says.
    """
    infos = Aliased(inputs, aliases_of(inputs))
    for name, text in split_named(shapes, infos, "--shape").items():
        if not re.fullmatch(r"\d{1,10}(x\d{1,10})*|scalar", text):
            raise InvalidArgumentError(
                f"--shape got {text!r} for the input {name!r}, expected numbers as in 1x3x224x224 "
                "(or the word scalar)"
            )
        shape = () if text == "scalar" else tuple(int(size) for size in text.split("x"))
        if not infos[name].accepts(shape):
            raise InvalidArgumentError(
                f"--shape got {format_shape(shape)} for the input {name!r}, expected "
                f"{format_shape(infos[name].shape)} as the model says"
            )
        infos[name] = infos[name].with_shape(shape)
    return infos


def split_named(texts: Iterable[str], names: Collection[str], option: str) -> dict[str, str]:
    """Split each ``NAME=VALUE``; a single name may be omitted.

    Names may contain "=" themselves: the longest one that fits counts. Second names are returned as
    the first ones.

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
    """Return whether an option without known name is a value.

    The path of a file may contain "=".
    """
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
    """Return each input's source; a bare .npz serves all."""
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
    """Return the data that an option has or names."""
    if _NUMBERS.fullmatch(source):
        numbers = _stored(_numbers(name, source, info), info, options)
        array, notes = fitted(numbers, info, f"the input {name!r}, {source}")
        return Feed(name, info, array, "the command line", tuple(notes))
    path = Path(source)
    suffix = path.suffix.lower()
    if suffix in PICTURE_SUFFIXES:
        array, notes = read_picture(path, info, options.pictures)
    elif suffix in ARRAY_SUFFIXES:
        data = read_npy(path) if suffix == ".npy" else read_npz(path, name)
        data = _stored(data, info, options)
        array, notes = fitted(data, info, f"the input {name!r} from {source!r}")
    else:
        raise InvalidArgumentError(
            f"--input got {source!r} for the input {name!r}, expected a file ending in "
            f"{', '.join(ARRAY_SUFFIXES + PICTURE_SUFFIXES)}, numbers as in 16000 or 1,2.5, or the "
            "word random, zeros, true or false"
        )
    return Feed(name, info, array, source, tuple(notes))


def _stored(data: NDArray[Any], info: TensorInfo, options: InputOptions) -> NDArray[Any]:
    """Return real numbers as a quantised input stores them, if that is wanted."""
    if options.quantize and info.is_quantized and data.dtype.kind == "f":
        return quantize(data, info)
    return data


def _numbers(name: str, text: str, info: TensorInfo) -> NDArray[Any]:
    """Return a text's numbers in an input's shape.

    They determine its unknown dimension.

    Raises:
        InvalidArgumentError: They are not as many as the input has elements.
    """
    numbers = np.array([_number(part) for part in text.lower().split(",")])
    shape = info.shape
    if shape is None:
        return numbers if numbers.size > 1 else numbers.reshape(())
    open_axes = sum(not isinstance(dim, int) for dim in shape)
    sizes = tuple(dim if isinstance(dim, int) else -1 for dim in shape)
    known = math.prod(size for size in sizes if size >= 0)
    if open_axes > 1 or (numbers.size % known if open_axes and known else numbers.size != known):
        raise InvalidArgumentError(
            f"--input got {numbers.size} numbers for the input {name!r}, expected as many as "
            f"{format_shape(shape)} has elements"
        )
    return numbers.reshape(sizes)


def _number(text: str) -> bool | int | float:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def _zeros(info: TensorInfo) -> NDArray[Any]:
    """Return stored zeros: the zero point where data is quantised."""
    stored = info.zero_points[0] if info.zero_points else 0
    return np.full(info.static_shape, stored, info.data_type.numpy_dtype)
