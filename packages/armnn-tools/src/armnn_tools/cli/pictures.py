# SPDX-License-Identifier: MIT
"""Pictures as inputs of a network, with a note on everything that is assumed."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError
from armnn.quantization import quantize
from armnn.tensor import Dimension, TensorInfo, format_shape
from armnn.types import DataType

if TYPE_CHECKING:
    from PIL.Image import Image


PICTURE_SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".jp2", ".j2k",
    ".jpx", ".jfif", ".ppm", ".pgm", ".pbm", ".pnm", ".tga", ".ico", ".icns", ".psd", ".dds",
    ".pcx", ".qoi", ".sgi", ".xbm", ".xpm",
)  # fmt: skip
"""The suffixes of pictures; the format is found from the content."""

_USUAL = ("PNG", "JPEG")
"""The formats for which Pillow imports none of its other plug-ins."""

_REFUSED = frozenset({"EPS", "WMF", "BUFR", "GRIB", "HDF5", "MPEG"})
"""Formats that Pillow gives to other programs, such as Ghostscript, or knows by name only."""

PIXEL_LIMIT = 1 << 26
"""A small file can hold a picture that fills the memory; no network looks at 64 megapixels."""

_MODES = {"rgb": "RGB", "bgr": "RGB", "gray": "L"}
_EIGHT_BIT_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")


@dataclass(frozen=True, slots=True)
class Resize:
    """How a picture gets the size that a network wants.

    Attributes:
        width: The width of the stretched picture in pixels, 0 if ``shortest`` says it.
        height: Its height, in the same way.
        shortest: The length of the shorter side after scaling in proportion, 0 for none.
        crop: Whether the middle is cut out then, as large as the input.
    """

    width: int = 0
    height: int = 0
    shortest: int = 0
    crop: bool = False

    @classmethod
    def parse(cls, text: str) -> Resize:
        """Read ``WxH``, ``shortest:N`` or ``shortest:N+crop``.

        Raises:
            InvalidArgumentError: It is not one of these.
        """
        if match := re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text):
            return cls(width=int(match[1]), height=int(match[2]))
        if match := re.fullmatch(r"shortest:([1-9]\d{0,4})(\+crop)?", text):
            return cls(shortest=int(match[1]), crop=match[2] is not None)
        raise InvalidArgumentError(
            f"--resize got {text!r}, expected WIDTHxHEIGHT, shortest:N or shortest:N+crop"
        )


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """How pictures become tensors: ``(pixel * scale - mean) / std``.

    What is None is guessed from the input.

    Attributes:
        layout: "nchw" or "nhwc".
        resize: How the picture gets its size; stretched to the size of the input by default.
        mean: One number, or one per channel in the order of ``color``.
        std: The divisor of each channel.
        scale: The factor of the pixels, 0 to 255.
        color: "rgb", "bgr" or "gray".
    """

    layout: str | None = None
    resize: Resize | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    scale: float | None = None
    color: str | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    """The size that an input requires of a picture; None where any will do."""

    layout: str
    height: int | None
    width: int | None
    color: str


def read_picture(
    path: Path, info: TensorInfo, options: PictureOptions
) -> tuple[NDArray[Any], list[str]]:
    """Return a picture as an array, and notes on conversions and assumptions.

    Args:
        path: A file of a format that Pillow reads; of several frames the first counts.
        info: The type and shape of the input; its height and width may be unknown.
        options: The layout, size and normalization that the user asks for.

    Returns:
        The array in the layout and type of the input, and the notes.

    Raises:
        InvalidArgumentError: The file is not a picture, or it cannot become such an input.
    """
    notes: list[str] = []
    target = _target(path, info, options, notes)
    image = _converted(_opened(path, notes), target, notes)
    image = _resized(path, image, target.width, target.height, options.resize, notes)
    pixels = np.asarray(image, np.uint8)
    pixels = pixels[:, :, np.newaxis] if pixels.ndim == 2 else pixels
    if target.color == "bgr":
        pixels = pixels[:, :, ::-1]
    values = _normalized(path, pixels, info, options, notes)
    if target.layout == "nchw":
        values = values.transpose(2, 0, 1)
    values = values[np.newaxis] if info.rank == 4 else values
    if not info.accepts(values.shape):
        raise InvalidArgumentError(
            f"{str(path)!r} became {format_shape(values.shape)} (layout {target.layout}), expected "
            f"{format_shape(info.shape)}; --resize and --layout say otherwise"
        )
    return np.asarray(values, order="C"), notes


def _target(path: Path, info: TensorInfo, options: PictureOptions, notes: list[str]) -> _Target:
    if info.shape is None or len(info.shape) not in (3, 4):
        raise InvalidArgumentError(
            f"{str(path)!r} cannot become an input of shape {format_shape(info.shape)}: a picture "
            "needs three axes, or four with a batch of one"
        )
    if info.data_type is DataType.BOOLEAN or info.data_type.is_storage_only:
        raise InvalidArgumentError(
            f"{str(path)!r} cannot become an input of type {info.data_type.arm_name}; give the "
            "values as .npy"
        )
    shape = info.shape[-3:]
    layout = options.layout or _guessed_layout(path, info)
    if options.layout is None:
        notes.append(f"layout {layout} (guessed from {format_shape(info.shape)})")
    channels, height, width = shape if layout == "nchw" else (shape[2], *shape[:2])
    color = options.color
    if color is None:
        color = "gray" if channels == 1 else "rgb"
        notes.append(f"{color} (assumed)")
    return _Target(layout, _known(height), _known(width), color)


def _known(dimension: Dimension) -> int | None:
    return dimension if isinstance(dimension, int) else None


def _guessed_layout(path: Path, info: TensorInfo) -> str:
    """Return the layout that makes one or three channels of the shape, if only one does."""
    shape = info.shape or ()
    fitting = [
        layout for layout, channels in (("nchw", shape[-3]), ("nhwc", shape[-1]))
        if channels in (1, 3)
    ]  # fmt: skip
    if len(fitting) != 1:
        raise InvalidArgumentError(
            f"{str(path)!r}: the shape {format_shape(shape)} does not tell where the channels are; "
            "say --layout nchw or --layout nhwc"
        )
    return fitting[0]


def _opened(path: Path, notes: list[str]) -> Image:
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError  # late: an optional dependency
    except ImportError as error:
        raise InvalidArgumentError(
            f"reading the picture {str(path)!r} takes Pillow, which is not installed: "
            "pip install pillow"
        ) from error
    with _unreadable(path), path.open("rb") as file:
        with warnings.catch_warnings():
            # Pillow warns of large pictures; the limit here is stricter and raises.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            try:
                image = Image.open(file, formats=_USUAL)
            except UnidentifiedImageError:
                Image.init()
                image = Image.open(
                    file, formats=[each for each in Image.OPEN if each not in _REFUSED]
                )
        _check_size_and_mode(path, image)
        if getattr(image, "is_animated", False):
            notes.append("the first of its frames")
        return ImageOps.exif_transpose(image)


def _check_size_and_mode(path: Path, image: Image) -> None:
    """Refuse pictures by their header, before any pixel is unpacked."""
    if image.width * image.height > PIXEL_LIMIT:
        raise InvalidArgumentError(
            f"the picture {str(path)!r} has {image.width}x{image.height} pixels, expected at "
            f"most {PIXEL_LIMIT} in all"
        )
    if image.mode not in _EIGHT_BIT_MODES:
        raise InvalidArgumentError(
            f"the picture {str(path)!r} has pixels of mode {image.mode!r}, expected 8 bits a "
            "channel; convert it, or give the values as .npy"
        )


@contextmanager
def _unreadable(path: Path) -> Iterator[None]:
    """Name the picture that Pillow could not read."""
    try:
        yield
    except InvalidArgumentError:
        raise
    except FileNotFoundError:
        raise InvalidArgumentError(f"there is no picture {str(path)!r}") from None
    except Exception as error:  # each format's reader has errors of its own for a damaged file
        raise InvalidArgumentError(f"{str(path)!r} cannot be read as a picture: {error}") from error


def _converted(image: Image, target: _Target, notes: list[str]) -> Image:
    notes.insert(0, f"{image.width}x{image.height} {image.mode}")
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        from PIL.Image import alpha_composite, new  # late: as above

        notes.append("transparent parts made white")
        image = alpha_composite(new("RGBA", image.size, "white"), image.convert("RGBA"))
    return image.convert(_MODES[target.color])


def _normalized(
    path: Path,
    pixels: NDArray[np.uint8],
    info: TensorInfo,
    options: PictureOptions,
    notes: list[str],
) -> NDArray[Any]:
    """Return ``(pixel * scale - mean) / std`` in the input's type."""
    data_type = info.data_type
    if data_type.is_integer:
        given = [name for name in ("scale", "mean", "std") if getattr(options, name) is not None]
        if given:
            raise InvalidArgumentError(
                f"{str(path)!r}: --{given[0]} makes fractions, but the input is "
                f"{data_type.arm_name}; leave it out to get the pixels as they are"
            )
        notes.append("pixels as they are (assumed)")
        return _as_integers(path, pixels, info)
    scale, mean, std = options.scale, options.mean, options.std
    if scale is None:
        scale = 1 / 255
        notes.append("pixels divided by 255 (assumed)")
    values = pixels.astype(np.float32) * np.float32(scale)
    if mean is None and std is None:
        notes.append("no mean, no std (assumed)")
    values -= _per_channel("--mean", (0.0,) if mean is None else mean, pixels.shape[2])
    values /= _per_channel("--std", (1.0,) if std is None else std, pixels.shape[2])
    if info.is_quantized:
        notes.append(f"quantized to {data_type.arm_name}")
        return quantize(values, info)
    return values.astype(data_type.numpy_dtype)


def _as_integers(path: Path, pixels: NDArray[np.uint8], info: TensorInfo) -> NDArray[Any]:
    highest = np.iinfo(info.data_type.numpy_dtype).max
    if pixels.max(initial=0) > highest:
        raise InvalidArgumentError(
            f"{str(path)!r} has pixels up to {pixels.max()}, expected at most {highest} as the "
            f"input is {info.data_type.arm_name}; give the values as .npy"
        )
    return pixels.astype(info.data_type.numpy_dtype)


def _per_channel(option: str, values: tuple[float, ...], channels: int) -> NDArray[np.float32]:
    if len(values) not in (1, channels):
        raise InvalidArgumentError(
            f"{option} got {len(values)} numbers, expected one, or {channels} as the picture has "
            "that many channels"
        )
    return np.array(values, np.float32)


def _resized(
    path: Path,
    image: Image,
    width: int | None,
    height: int | None,
    resize: Resize | None,
    notes: list[str],
) -> Image:
    """Return a picture in another size, by bilinear interpolation.

    Where it becomes smaller, every pixel that becomes part of one counts.

    Args:
        path: The file, for messages.
        image: The picture.
        width: The width that the input requires in pixels, None for any.
        height: The height that the input requires in pixels, None for any.
        resize: The size that the user asks for; by default that of the input.
        notes: The list to which notes on what was assumed and cut off are added.

    Raises:
        InvalidArgumentError: The result would be too large, or too small to be cut.
    """
    from PIL.Image import Resampling  # late: as above

    if resize is None:
        wanted = (
            image.width if width is None else width,
            image.height if height is None else height,
        )
        if wanted == image.size:
            return image
        _check_size(path, wanted)
        notes.append(f"stretched to {wanted[0]}x{wanted[1]} (assumed)")
        return image.resize(wanted, Resampling.BILINEAR)
    if resize.shortest:
        factor = resize.shortest / min(image.size)
        size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    else:
        size = (resize.width, resize.height)
    _check_size(path, size)
    image = image.resize(size, Resampling.BILINEAR)
    return _cropped(path, image, width, height, notes) if resize.crop else image


def _check_size(path: Path, size: tuple[int, int]) -> None:
    width, height = size
    if not 0 < width * height <= PIXEL_LIMIT:
        raise InvalidArgumentError(
            f"{str(path)!r} would be resized to {width}x{height} pixels, expected 1 to "
            f"{PIXEL_LIMIT} in all"
        )


def _cropped(
    path: Path, image: Image, width: int | None, height: int | None, notes: list[str]
) -> Image:
    """Return the middle of a picture; it is a square where the input takes any size."""
    width = min(image.size) if width is None else width
    height = min(image.size) if height is None else height
    if width > image.width or height > image.height:
        raise InvalidArgumentError(
            f"--resize leaves {image.width}x{image.height} pixels of {str(path)!r}, expected at "
            f"least the {width}x{height} that are cut out"
        )
    left, top = (image.width - width) // 2, (image.height - height) // 2
    notes.append(f"the middle {width}x{height} cut out")
    return image.crop((left, top, left + width, top + height))
