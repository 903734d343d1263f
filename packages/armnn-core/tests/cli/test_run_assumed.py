# SPDX-License-Identifier: MIT
"""``armnn run`` without data for open shapes: assumptions fit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from armnn.cli.main import main
from fakes import Plugin, backend_plugin, installed

# The number in the file is what height and width must be multiples of, in both inputs alike.
SOURCE = """\
from armnn import Network, TensorInfo
from armnn.layers.reshaping import SpaceToDepthDescriptor

def parse(path):
    size, *imgsz = path.read_text().split()
    network = Network("blocks", {"imgsz": imgsz[0]} if imgsz else {})
    blocks = SpaceToDepthDescriptor(block_size=int(size))
    for name in ("x", "mask"):
        value = network.add_input(name, TensorInfo(("n", "height", "width", 1)))
        value = network.add("SpaceToDepth", [value], blocks, name=f"fold {name}").output
        network.add_output(f"y {name}", value)
    return network
"""
PARSER = Plugin(
    "armnn-blocks",
    "0.1",
    entry_points={"armnn.parsers": {"blocks": "armnn_blocks:parse"}},
    modules={"armnn_blocks": SOURCE},
)
OPEN = "unknown dimensions of [n,height,width,1] taken as"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """Enter a folder with a parser and a backend.

    They are all that is installed.
    """
    with (
        installed(tmp_path, PARSER, backend_plugin("Null"), alone=True),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.chdir(tmp_path)
        yield tmp_path


def fed(
    capsys: pytest.CaptureFixture[str], model: str, *arguments: str
) -> dict[str, tuple[list[int], str]]:
    """Shape and last note of each input of a run."""
    Path("model.blocks").write_text(model)
    assert main(["run", "model.blocks", "--json", "--no-print-output", *arguments]) == 0
    rows = json.loads(capsys.readouterr().out)["inputs"]
    return {row["name"]: (row["shape"], "".join(row["notes"][-1:])) for row in rows}


def test_made_up_data_has_a_shape_that_the_layers_agree_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    why = "the first of 1, 8, 16, 32, 64, 224, 256, 320, 640 that fits"
    both = ([1, 16, 16, 1], f"{OPEN} [1,16,16,1], {why}")
    assert fed(capsys, "16") == {"x": both, "mask": both}
    assert fed(capsys, "1")["x"] == ([1, 1, 1, 1], f"{OPEN} 1")
    both = ([1, 32, 48, 1], f"{OPEN} [1,32,48,1], imgsz in the model's metadata")
    assert fed(capsys, "16 [32,48]") == {"x": both, "mask": both}


def test_made_up_data_goes_with_data_that_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    np.save("x.npy", np.zeros((2, 32, 64, 1), np.float32))
    found = fed(capsys, "16", "--input", "x=x.npy")
    why = "as the other inputs have them"
    assert found["mask"] == ([2, 32, 64, 1], f"{OPEN} [2,32,64,1], {why}")


def test_a_made_up_shape_that_does_not_fit_is_said_to_be_made_up(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("model.blocks").write_text("1000")
    assert main(["run", "model.blocks"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("armnn: error: layer 'fold x' (SpaceToDepth): ")
    taken = "taken as [1,640,640,1]"
    assert message.endswith(
        f"; the input 'x' was {taken}: --shape says otherwise; the input 'mask' was {taken}: "
        "--shape says otherwise\n"
    )
    # What the user said is not called made up.
    said = ["--shape", "x=1x1x1x1", "--shape", "mask=1x1x1x1"]
    assert main(["run", "model.blocks", *said]) == 1
    assert "--shape says otherwise" not in capsys.readouterr().err
