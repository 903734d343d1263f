# SPDX-License-Identifier: MIT
"""Finds faces in a picture with a TensorFlow Lite model.

    model=$(python -m tools.models.fetch face_detection)
    python examples/detect_faces.py "$model" examples/two_faces.png faces.png

The model (BlazeFace) says for each of 896 anchors how far away a face is, and how sure it is.
"""

from __future__ import annotations

import sys

import numpy as np
from PIL import Image, ImageDraw

import armnn

INPUT = 128  # pixels, both ways
SURE = 0.5
SAME_FACE = 0.3  # the overlap of two boxes, as intersection over union
# Grids of anchors: cells in a row, and anchors in a cell.
GRIDS = ((16, 2), (8, 6))


def anchors() -> np.ndarray:
    """Return the anchors' centers, from 0 to 1, [896,2]."""
    centers = [
        ((column + 0.5) / cells, (row + 0.5) / cells)
        for cells, in_a_cell in GRIDS
        for row in range(cells)
        for column in range(cells)
        for _ in range(in_a_cell)
    ]
    return np.array(centers, np.float32)


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """Return the intersection over union of two boxes."""
    shared = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0).prod()
    return float(shared / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - shared))


def find_faces(model: armnn.LoadedNetwork, image: Image.Image) -> list[tuple[float, np.ndarray]]:
    """Return each face's score and box (left, top, right, bottom)."""
    side = max(image.size)
    square = Image.new("RGB", (side, side))
    square.paste(image)
    pixels = np.asarray(square.resize((INPUT, INPUT)), np.float32) / 127.5 - 1
    outputs = model.run({"input": pixels[np.newaxis]})
    scores = 1 / (1 + np.exp(-outputs["classificators"][0, :, 0].clip(-50, 50)))
    places = outputs["regressors"][0] / INPUT
    centers, halves = anchors() + places[:, :2], places[:, 2:4] / 2
    boxes = np.hstack([centers - halves, centers + halves]) * side
    found: list[tuple[float, np.ndarray]] = []
    for index in np.argsort(-scores):
        if scores[index] < SURE:
            break
        if all(overlap(boxes[index], box) < SAME_FACE for _, box in found):
            found.append((float(scores[index]), boxes[index]))
    return found


def main() -> None:
    """Print a picture's faces, and draw them into a copy."""
    with Image.open(sys.argv[2]) as file:
        image = file.convert("RGB")
    draw = ImageDraw.Draw(image)
    for score, box in find_faces(armnn.load_model(sys.argv[1]), image):
        print(f"face, score {score:.2f}, in {[round(each) for each in box.tolist()]}")
        draw.rectangle(box.tolist(), outline="red", width=3)
    if len(sys.argv) > 3:
        image.save(sys.argv[3])


if __name__ == "__main__":
    main()
