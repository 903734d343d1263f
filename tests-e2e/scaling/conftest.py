# SPDX-License-Identifier: MIT
"""Pictures, and the programs of examples/scaling/ in processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from scaling.programs import ENVIRONMENT

PICTURES = 32

# Runs a program with its arguments, and returns what it printed.
Run = Callable[..., str]


@pytest.fixture(scope="session")
def run() -> Run:
    def finished(program: Path, *arguments: str | Path) -> str:
        done = subprocess.run(
            [sys.executable, program, *map(str, arguments)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    return finished


@pytest.fixture(scope="session")
def turned(model: Callable[[str], Path]) -> Path:
    return model("page_orientation")


@pytest.fixture(scope="session")
def folder(page: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a page in all rotations."""
    made = tmp_path_factory.mktemp("pages")
    with Image.open(page) as image:
        for index in range(PICTURES):
            picture = image.rotate(90 * (index % 4), expand=True)
            picture.resize((320, 320 + index)).save(made / f"{index:02}.png")
    return made
