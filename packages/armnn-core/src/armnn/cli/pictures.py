# SPDX-License-Identifier: MIT
"""Pictures as network inputs, with a note of all assumptions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.cli.resizing import PIXEL_LIMIT, Resize, resized
from armnn.errors import InvalidArgumentError
from armnn.quantization import quantize
from armnn.tensor import Dimension, TensorInfo, format_shape
from armnn.types import DataType

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg")

_MODES = {"rgb": "RGB", "bgr": "RGB", "gray": "L"}
_EIGHT_BIT_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")


@dataclass(frozen=True, slots=True)
class PictureOptions:
    """How pictures become tensors: ``(pixel * scale - mean) / std``.

    None where it is guessed.

    Attributes:
        layout: "nchw" or "nhwc".
        resize: How the picture gets its size; stretched to the size of the input by default.
        mean: One number, or one per channel in the order of ``color``.
        std: The same.
        scale: What the pixels, 0 to 255, are multiplied with.
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
    """An input's requirements on a picture; None means left open."""

    layout: str
    height: int | None
    width: int | None
    color: str


def read_picture(
    path: Path, info: TensorInfo, options: PictureOptions
) -> tuple[NDArray[Any], list[str]]:
    """Return a picture as an array, with notes.

    The notes say in words what was done and assumed.

    Args:
        path: A PNG or JPEG file.
        info: The input; its height and width may be unknown.
        options: The user's options.

    Raises:
        InvalidArgumentError: The file is no picture, or it cannot become such an input.
    """
    notes: list[str] = []
    target = _target(path, info, options, notes)
    image = _converted(_opened(path), target, notes)
    image = resized(path, image, target.width, target.height, options.resize, notes)
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
    """Return the only layout with one or three channels."""
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


def _opened(path: Path) -> Image:
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise InvalidArgumentError(
            f"reading the picture {str(path)!r} takes Pillow, which is not installed: "
            "pip install pillow"
        ) from error
    with _unreadable(path), path.open("rb") as file:
        with warnings.catch_warnings():
            # Pillow warns of large pictures; the limit here is stricter and raises.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(file, formats=("PNG", "JPEG"))
        _check_size_and_mode(path, image)
        return ImageOps.exif_transpose(image)


def _check_size_and_mode(path: Path, image: Image) -> None:
    """Look at the header, before any pixel is unpacked."""
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
    """Name the picture that Pillow could not read.

    Damaged files make it raise any of these.
    """
    from PIL.Image import DecompressionBombError

    try:
        yield
    except InvalidArgumentError:
        raise
    except FileNotFoundError:
        raise InvalidArgumentError(f"there is no picture {str(path)!r}") from None
    except (OSError, SyntaxError, ValueError, DecompressionBombError) as error:
        raise InvalidArgumentError(f"{str(path)!r} cannot be read as a picture: {error}") from error


def _converted(image: Image, target: _Target, notes: list[str]) -> Image:
    notes.insert(0, f"{image.width}x{image.height} {image.mode}")
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        from PIL.Image import alpha_composite, new

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
        notes.append(f"quantised to {data_type.arm_name}")
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
