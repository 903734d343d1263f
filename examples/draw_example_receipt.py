# SPDX-License-Identifier: MIT
"""Draws examples/receipt.jpg, a receipt as a camera sees it.

    python examples/draw_example_receipt.py examples/receipt.jpg

The words are this project's own and the font is the one inside Pillow, so the picture carries the
license of the repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

PAPER = (420, 560)  # pixels, width and height
TABLE = (720, 640)
CORNERS = ((165, 45), (585, 85), (640, 600), (85, 575))  # of the paper in the picture, clockwise
HEAD = "THE LAYER CAFE"
ROWS = {"Espresso": "2.40", "Cheesecake": "4.20", "Lemonade": "3.80", "Sandwich": "6.90"}
TOTAL = "TOTAL"
FOOT = ["2026-11-23", "Thank you!"]
SEED = 7


def spaced(line: str) -> str:
    """Return a line with gaps that the reader sees."""
    return line.replace(" ", "   ")


def draw_receipt() -> Image.Image:
    """Return the flat receipt, in 8-bit colors."""
    paper = Image.new("RGB", PAPER, "#f7f4ec")
    draw = ImageDraw.Draw(paper)
    middle, left, right, ink = PAPER[0] / 2, 30, PAPER[0] - 30, "#2b2b30"
    draw.text((middle, 50), spaced(HEAD), ink, ImageFont.load_default(36), anchor="mm")
    for number, (name, price) in enumerate([*ROWS.items(), (TOTAL, "17.30")]):
        height = 130 + 58 * number + (24 if name == TOTAL else 0)
        font = ImageFont.load_default(32 if name == TOTAL else 26)
        draw.text((left, height), spaced(name), ink, font, anchor="lm")
        draw.text((right, height), price, ink, font, anchor="rm")
    draw.line((left, 360, right, 360), ink, 2)
    for number, line in enumerate(FOOT):
        font = ImageFont.load_default(24)
        draw.text((middle, 465 + 45 * number), spaced(line), ink, font, anchor="mm")
    return paper


def photograph(paper: Image.Image) -> Image.Image:
    """Return the paper on a table, as cameras see it."""
    width, height = paper.size
    rows, wanted = [], []
    for (x, y), (u, v) in zip(CORNERS, ((0, 0), (1, 0), (1, 1), (0, 1)), strict=True):
        u, v = u * width, v * height
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
        wanted += [u, v]
    perspective = np.linalg.solve(np.array(rows, float), np.array(wanted, float)).tolist()
    how = (TABLE, Image.Transform.PERSPECTIVE, perspective, Image.Resampling.BICUBIC)
    picture = Image.new("RGB", TABLE, "#6e4a2f")
    picture.paste(paper.transform(*how), mask=Image.new("L", paper.size, 255).transform(*how))
    blurred = np.asarray(picture.filter(ImageFilter.GaussianBlur(0.8)), float)
    down, across = np.mgrid[0 : TABLE[1], 0 : TABLE[0]]
    light = 1.05 - 0.55 * np.hypot(down / TABLE[1] - 0.25, across / TABLE[0] - 0.3)
    noise = np.random.default_rng(SEED).normal(0, 6, blurred.shape)
    return Image.fromarray(np.clip(blurred * light[..., None] + noise, 0, 255).astype(np.uint8))


def main() -> None:
    """Write the photograph to the path given."""
    photograph(draw_receipt()).save(Path(sys.argv[1]), quality=80)


if __name__ == "__main__":
    main()
