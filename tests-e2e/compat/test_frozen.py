# SPDX-License-Identifier: MIT
"""Released wheels, libraries, layouts and contracts stay unchanged."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from abi_model import breaks
from fixtures import BACKENDS_FROZEN, FROZEN, REPOSITORY, write_wheel
from matrix import DESCRIPTION

DIGESTS: dict[str, str] = DESCRIPTION["frozen"]
PROMISES = (
    "packages/armnn-backend-api/src/armnn_backend_api/layouts",
    "packages/armnn-core/contract",
)


@pytest.mark.parametrize("path", DIGESTS)
def test_a_frozen_file_never_changes(path: str) -> None:
    assert hashlib.sha256((REPOSITORY / path).read_bytes()).hexdigest() == DIGESTS[path]


def test_every_frozen_file_is_listed() -> None:
    files = [str(path.relative_to(REPOSITORY)) for path in sorted(FROZEN.iterdir())]
    assert [path for path in files if path not in DIGESTS] == []


def test_every_released_layout_and_contract_is_listed() -> None:
    for folder in PROMISES:
        paths = sorted((REPOSITORY / folder).glob("*.json"))
        released = [path for path in paths if json.loads(path.read_text())["released"]]
        assert released
        assert [p for p in released if str(p.relative_to(REPOSITORY)) not in DIGESTS] == []


@pytest.mark.parametrize("name", ["armnn_backend_api", "armnn_core", "armnn_backend_ref"])
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0", "1.2.0", "1.3.0"])
def test_a_frozen_wheel_says_the_version_of_its_name(name: str, version: str) -> None:
    with zipfile.ZipFile(FROZEN / f"{name}-{version}-py3-none-any.whl") as wheel:
        metadata = wheel.read(f"{name}-{version}.dist-info/METADATA").decode()
    assert f"\nVersion: {version}\n" in metadata


@pytest.mark.parametrize("minor", range(4))
def test_the_newest_layout_has_everything_of_a_released_one(minor: int) -> None:
    with zipfile.ZipFile(FROZEN / f"armnn_backend_api-1.{minor}.0-py3-none-any.whl") as wheel:
        released = json.loads(wheel.read(f"armnn_backend_api/layouts/1.{minor}.json"))
    *_, newest = sorted((REPOSITORY / PROMISES[0]).glob("*.json"))
    assert released["released"]
    assert breaks(released["layout"], json.loads(newest.read_text())["layout"], minor) == []


@pytest.mark.parametrize("made", BACKENDS_FROZEN, ids=lambda made: made.version)
def test_the_wheel_of_a_frozen_backend_can_be_made_again_byte_by_byte(tmp_path: Path, made) -> None:
    assert write_wheel(made, tmp_path).read_bytes() == (FROZEN / made.wheel).read_bytes()
