# SPDX-License-Identifier: MIT
"""The layers header: clean C and C++, usable by backends."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from armnn_backend_api import get_include

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{get_include()}"]
COMPILERS = {"c": ["gcc", "-std=c11"], "cpp": ["g++", "-std=c++17"]}
BOTH = pytest.mark.parametrize("kind", ["c", "cpp"])
NAMES = """
static int64_t number(const char *name, int64_t otherwise) {{
  return name[0] == 'k' ? 7 : otherwise;
}}
static double real(const char *name, double otherwise) {{
  return name[0] == 'b' ? otherwise : 0;
}}
int main({arguments}) {{
  const int64_t pads[] = ARMNN_SPACE_TO_BATCH_ND_PAD_LIST_DEFAULT;
  const double a[] = ARMNN_GRU_ACTIVATION_A_DEFAULT;
  switch (number(ARMNN_PARAMETER(ARMNN_POOLING2D_POOL_TYPE))) {{
    case ARMNN_POOLING_ALGORITHM_MAX: break;
    default: return 1;
  }}
  if (number(ARMNN_PARAMETER(ARMNN_TOP_K_K)) != 7) return 2;
  if (real(ARMNN_PARAMETER(ARMNN_SOFTMAX_BETA)) != 1.0) return 3;
  if (sizeof(ARMNN_LAYER_SOFTMAX) != 8) return 4;
  return pads[3] == 0 && a[1] == 1.0 && number(ARMNN_PARAMETER(ARMNN_TOP_K_AXIS)) == -1 ? 0 : 5;
}}
"""


def build(folder: Path, source: str, *flags: str, kind: str) -> Path:
    path, output = folder / f"source.{kind}", folder / "output"
    path.write_text(source, encoding="utf-8")
    command = [*COMPILERS[kind], *STRICT, *flags, "-o", str(output), str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return output


@BOTH
@pytest.mark.parametrize("flags", [["-c"], ["-m32", "-ffreestanding", "-fsyntax-only"]])
def test_the_header_compiles_without_a_warning(tmp_path: Path, kind: str, flags: list[str]) -> None:
    twice = "#include <armnn/layers.h>\n#include <armnn/backend.h>\n#include <armnn/layers.h>\n"
    build(tmp_path, twice, *flags, kind=kind)


@BOTH
def test_a_program_reads_parameters_by_name_and_default(tmp_path: Path, kind: str) -> None:
    source = NAMES.format(arguments="void" if kind == "c" else "")
    program = build(tmp_path, f"#include <armnn/layers.h>\n{source}", kind=kind)
    assert subprocess.run([program], check=False).returncode == 0
