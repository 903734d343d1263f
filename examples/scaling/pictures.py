# SPDX-License-Identifier: MIT
"""Classifies a folder's pictures with several workers, on Ray Data.

python pictures.py page_orientation.onnx FOLDER --workers 2 --cache prepared -o classes.csv
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import ray
from PIL import Image

import armnn

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


def loaded(file: str, cache: str | None, batch: int = 8) -> armnn.LoadedNetwork:
    """Return a model, prepared for a batch on one CPU."""
    return armnn.load_model(
        file,
        ["CpuAcc", "CpuRef"],
        backend_options={"CpuAcc": {"NumberOfThreads": 1}},
        shapes=[{"x": (batch, 3, 224, 224)}],
        cache_dir=cache,
    )


def pixels_of(path: str | BinaryIO) -> np.ndarray:
    """Return a picture, normalized, in the layout CHW."""
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB").resize((224, 224)), np.float32)
    return ((pixels / 255 - MEAN) / STD).transpose(2, 0, 1)


class Classifier:
    """A worker, which Ray starts again if it is lost."""

    def __init__(self, model: armnn.LoadedNetwork) -> None:
        self.model = model
        (self.input,), (self.output,) = model.inputs, model.outputs

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return the class and the score of each picture."""
        pixels = np.stack([pixels_of(path) for path in batch["path"]])
        scores = self.model.run({self.input: pixels})[self.output]
        best = scores.argmax(axis=1)
        worker = np.full(len(pixels), os.getpid())
        return {**batch, "class": best, "score": scores.max(axis=1), "worker": worker}


def classified(
    model: armnn.LoadedNetwork, folder: Path, workers: int, batch: int = 8
) -> ray.data.Dataset:
    """Return the classes of a folder's pictures, not yet computed."""
    rows = [{"path": str(path)} for path in sorted(folder.glob("*.png"))]
    blocks = max(1, len(rows) // batch)  # what is computed again if a worker is lost
    return ray.data.from_items(rows, override_num_blocks=blocks).map_batches(
        Classifier,
        fn_constructor_args=(model,),  # its file and options go to the workers, not its weights
        batch_size=batch,
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
    )


def main() -> None:
    """Classify a folder, and write a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cache", help="the folder of prepared models, which all workers map")
    parser.add_argument("-o", "--output", default="classes.csv")
    given = parser.parse_args()
    ray.init(include_dashboard=False)
    model = loaded(given.model, given.cache)
    made = classified(model, given.folder, given.workers).to_pandas().sort_values("path")
    made.to_csv(given.output, index=False)
    print(f"{len(made)} pictures by {made['worker'].nunique()} workers")


if __name__ == "__main__":
    main()
