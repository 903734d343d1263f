# SPDX-License-Identifier: MIT
"""Classifies a picture: which way was a scanned page turned?

    model=$(python -m tools.models.fetch page_orientation)
    python examples/classify_picture.py "$model" examples/page_turned_90.png

The first command fetches the model and prints its path.
"""

from __future__ import annotations

import sys

import numpy as np
from PIL import Image

import armnn

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


def pixels_of(path: str, size: tuple[int, int]) -> np.ndarray:
    """Return a picture as a normalized NCHW batch of one."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB").resize(size), np.float32)
    return np.asarray((pixels / 255 - MEAN) / STD).transpose(2, 0, 1)[np.newaxis]


def main() -> None:
    """Print the classes, the most likely one first."""
    model = armnn.load_model(sys.argv[1])
    (name,), (made,) = model.inputs, model.outputs
    scores = model.run({name: pixels_of(sys.argv[2], (224, 224))})[made][0]
    labels = model.metadata["character"].splitlines()
    for index in np.argsort(-scores):
        print(f"turned by {labels[index]} degrees: {scores[index]:.3f}")
    print(f"layers by backend: {dict(model.report.layers_by_backend)}")


if __name__ == "__main__":
    main()
