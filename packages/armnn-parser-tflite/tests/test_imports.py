# SPDX-License-Identifier: MIT
"""What parsing a model does not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

LOADED = """
import sys
from armnn_parser_tflite.parser import parse
parse(sys.argv[1])
print(*sorted(sys.modules))
"""


def test_parsing_a_model_imports_no_other_reader(lite: Any, tmp_path: Path) -> None:
    tensor = lite.Tensor(shape=(2, 3))
    path = tmp_path / "model.tflite"
    path.write_bytes(
        lite.build(
            [lite.Op("RELU", ["x"], ["r"]), lite.Op("ADD", ["r", "x"])],
            {"x": tensor, "r": tensor, "y": tensor},
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", LOADED, path], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    foreign = {"flatbuffers", "tflite", "ai_edge_litert", "onnx", "google"}
    assert not foreign & {name.partition(".")[0] for name in loaded}
