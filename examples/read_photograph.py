# SPDX-License-Identifier: MIT
"""Reads a photograph with rapidocr, on onnxruntime and on armnn.

    pip install rapidocr-onnxruntime
    python examples/read_photograph.py examples/receipt.jpg

rapidocr is a finished program for onnxruntime; its three networks are inside its package. Nothing
of it is changed: ``python -m armnn_compat.onnxruntime`` gives it armnn when it imports onnxruntime.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table

READINGS = 3  # that are measured, after one that is not


def read(picture: str) -> dict[str, Any]:
    """Return a picture's texts, their scores and a reading's time."""
    from rapidocr_onnxruntime import RapidOCR  # here: only the children need it

    reader = RapidOCR()
    found, _ = reader(picture)
    seconds = []
    for _ in range(READINGS):
        start = time.perf_counter()
        found, _ = reader(picture)
        seconds.append(time.perf_counter() - start)
    texts = [(text, float(score)) for _, text, score in found or ()]
    return {"texts": texts, "milliseconds": 1e3 * statistics.median(seconds)}


def read_by(*runner: str, picture: str) -> dict[str, Any]:
    """Return what another Python reads.

    Args:
        runner: Its arguments before this program.
        picture: The path of the picture.
    """
    command = [sys.executable, *runner, __file__, "--child", picture]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return found


def main() -> None:
    """Print what both read and how long it took them."""
    *child, picture = sys.argv[1:]
    if child:
        print(json.dumps(read(picture)))
        return
    theirs = read_by(picture=picture)
    ours = read_by("-m", "armnn_compat.onnxruntime", picture=picture)
    table = Table("text", "score on armnn", "on onnxruntime", box=None)
    for (text, score), (other, expected) in zip(ours["texts"], theirs["texts"], strict=False):
        shown = text if text == other else f"{text} (onnxruntime: {other})"
        table.add_row(shown, f"{score:.3f}", f"{expected:.3f}")
    Console().print(table)
    same = [text for text, _ in ours["texts"]] == [text for text, _ in theirs["texts"]]
    print(
        f"\nrapidocr read {picture} in {ours['milliseconds']:.0f} ms on armnn and in "
        f"{theirs['milliseconds']:.0f} ms on onnxruntime; the texts are "
        f"{'the same' if same else 'not the same'}."
    )


if __name__ == "__main__":
    main()
