# SPDX-License-Identifier: MIT
"""What parsing a model does not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import armnn_parser_tflite.operators
from armnn_parser_tflite._modules import MODULES

LOADED = """
import sys
from armnn_parser_tflite.parser import parse
parse(sys.argv[1])
print(*sorted(sys.modules))
"""
OPERATORS = "armnn_parser_tflite.operators."


def test_only_the_modules_that_a_model_needs_are_imported(lite: Any, tmp_path: Path) -> None:
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
    assert {name for name in loaded if name.startswith(OPERATORS)} == {
        f"{OPERATORS}activation",
        f"{OPERATORS}elementwise",
    }
    for unused in ("refusals", "shapes", "sparsity"):
        assert f"armnn_parser_tflite.{unused}" not in loaded
    foreign = {"flatbuffers", "tflite", "ai_edge_litert", "onnx", "google"}
    assert not foreign & {name.partition(".")[0] for name in loaded}


def test_every_module_of_converters_is_in_the_table() -> None:
    folder = Path(armnn_parser_tflite.operators.__path__[0])
    stems = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    named = {module for operators in MODULES.values() for module in operators.values()}
    assert named == {f"operators.{stem}" for stem in stems}
