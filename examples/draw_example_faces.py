# SPDX-License-Identifier: MIT
"""Draws examples/two_faces.png.

    python examples/draw_example_faces.py examples/two_faces.png

The faces are invented, so the picture carries the license of the repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter

SIZE = (512, 384)
# The center and the height of each face, in pixels.
FACES = ((150, 190, 220), (380, 210, 180))
HAIR, SKIN, SHADE, WHITE, LIPS = "#462d1e", "#e0b296", "#cd9b82", "#fafafa", "#b44646"


def draw_face(draw: ImageDraw.ImageDraw, x: int, y: int, height: int) -> None:
    """Draw a face; its unit is 1/320 of the height."""

    def ellipse(left: int, top: int, right: int, bottom: int, color: str) -> None:
        unit = height / 320
        box = (x + left * unit, y + top * unit, x + right * unit, y + bottom * unit)
        draw.ellipse(box, fill=color)

    ellipse(-140, -190, 140, 190, HAIR)
    ellipse(-70, 100, 70, 290, SHADE)
    ellipse(-115, -150, 115, 170, SKIN)
    for side in (-48, 48):
        ellipse(side - 36, -76, side + 36, -62, HAIR)
        ellipse(side - 26, -48, side + 26, -18, WHITE)
        ellipse(side - 13, -47, side + 13, -20, HAIR)
    ellipse(-20, -20, 20, 46, SHADE)
    for side in (-18, 18):
        ellipse(side - 8, 38, side + 8, 50, HAIR)
    ellipse(-50, 78, 50, 112, LIPS)
    ellipse(-46, 92, 46, 97, HAIR)


def main() -> None:
    """Write the picture to the path given."""
    image = Image.new("RGB", SIZE, "#7896aa")
    for face in FACES:
        draw_face(ImageDraw.Draw(image), *face)
    image.filter(ImageFilter.GaussianBlur(2)).save(Path(sys.argv[1]), optimize=True)


if __name__ == "__main__":
    main()
