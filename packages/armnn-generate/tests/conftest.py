# SPDX-License-Identifier: MIT
"""Folders of small language models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import armnn_generate
from fakes.decoders import write_genai_folder, write_hugging_face_folder


@pytest.fixture(scope="session")
def genai_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_genai_folder(tmp_path_factory.mktemp("genai") / "model")


@pytest.fixture(scope="session")
def hugging_face_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hugging_face_folder(tmp_path_factory.mktemp("hf") / "model")


@pytest.fixture(scope="session")
def generator(genai_folder: Path) -> Iterator[armnn_generate.Generator]:
    with armnn_generate.load(genai_folder, ["CpuRef"]) as loaded:
        yield loaded
