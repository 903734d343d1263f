# SPDX-License-Identifier: MIT
"""Giving a picture the size that a network wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from armnn.errors import InvalidArgumentError

if TYPE_CHECKING:
    from PIL.Image import Image

PIXEL_LIMIT = 1 << 26
"""A small file can hold a picture that fills the memory; no network looks at 64 megapixels."""


@dataclass(frozen=True, slots=True)
class Resize:
    """How a picture gets the size that a network wants.

    Attributes:
        width: Of the stretched picture in pixels, 0 if ``shortest`` says it.
        height: The same for the height.
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
            InvalidArgumentError: It is none of these.
        """
        if match := re.fullmatch(r"([1-9]\d{0,4})x([1-9]\d{0,4})", text):
            return cls(width=int(match[1]), height=int(match[2]))
        if match := re.fullmatch(r"shortest:([1-9]\d{0,4})(\+crop)?", text):
            return cls(shortest=int(match[1]), crop=match[2] is not None)
        raise InvalidArgumentError(
            f"--resize got {text!r}, expected WIDTHxHEIGHT, shortest:N or shortest:N+crop"
        )


def resized(
    path: Path,
    image: Image,
    width: int | None,
    height: int | None,
    resize: Resize | None,
    notes: list[str],
) -> Image:
    """Return a picture in another size, bilinear.

    All pixels that become one are counted.

    Args:
        path: Its file, for messages.
        image: The picture.
        width: What the input wants in pixels, None if it does not care.
        height: The same.
        resize: What the user wants; stretched to the input's size by default.
        notes: Gets what was assumed and what was cut off.

    Raises:
        InvalidArgumentError: The result would be too large, or too small to be cut.
    """
    from PIL.Image import Resampling

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
    """Return the middle, square where the input has no preference."""
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
