# SPDX-License-Identifier: MIT
"""What docs/writing-a-native-backend.md shows works as it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "writing-a-native-backend.md"


def blocks(*languages: str) -> list[tuple[str, str]]:
    pattern = rf"^```({'|'.join(languages)})\n(.*?)^```"
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(pattern, text, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_run_in_order_and_print_what_it_says(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    python = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{python}{os.pathsep}{os.environ['PATH']}"}
    environment["CMAKE_GENERATOR"] = "Ninja"  # this machine may have no make
    environment["ARMNN_BACKENDS"] = "-CpuRef"  # the page does not tell to install it
    printed = ""
    ran_any = 0
    for language, code in blocks("sh", "python", "text"):
        if language == "text":
            assert printed == code
            continue
        code = code.replace("/opt/acme", str(tmp_path))
        command = ["bash", "-ec", code] if language == "sh" else [sys.executable, "-c", code]
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, f"{code}\n{ran.stdout}\n{ran.stderr}"
        printed = ran.stdout
        ran_any += 1
    assert ran_any >= 6
    built = [tmp_path / "build" / name for name in ("host", "Acme_AcmeNpu_backend.so")]
    by_cmake = subprocess.run(built, capture_output=True, text=True, check=True)
    assert by_cmake.stdout == blocks("text")[0][1]
