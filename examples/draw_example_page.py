# SPDX-License-Identifier: MIT
"""Draws examples/page_turned_90.png, a page turned clockwise.

    python examples/draw_example_page.py examples/page_turned_90.png

The words are this project's own and the font is the one inside Pillow, so the picture carries the
license of the repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

SIZE = 448  # pixels, both ways: the classifier sees the page at half of it
MARGIN = 36
TITLE = "Which way is up?"
TEXT = """\
A page that went through the scanner on its
side looks fine to the scanner. To a reader it
is a nuisance, and to a program that expects
lines of text from left to right it is noise.

So before anything else is done with it, the
page is shown to a small network that knows
four answers: it lies as it should, or it was
turned by a quarter, a half or three quarters.

Turning it back is then a matter of moving
pixels, and the rest of the pipeline never
learns that there was a problem."""


def draw_page() -> Image.Image:
    """Return the upright page, in 8-bit gray."""
    page = Image.new("L", (SIZE, SIZE), color=250)
    draw = ImageDraw.Draw(page)
    draw.text((MARGIN, MARGIN), TITLE, font=ImageFont.load_default(30), fill=20)
    draw.multiline_text(
        (MARGIN, MARGIN + 56), TEXT, font=ImageFont.load_default(18), fill=40, spacing=7
    )
    return page


def main() -> None:
    """Write the page, turned clockwise, to the path given."""
    draw_page().transpose(Image.Transpose.ROTATE_270).save(Path(sys.argv[1]), optimize=True)


if __name__ == "__main__":
    main()
