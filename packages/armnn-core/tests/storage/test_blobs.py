# SPDX-License-Identifier: MIT
"""Blobs of backends in a cache folder: kept whole under their key, and ignored otherwise."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn import Network, Runtime, TensorInfo
from armnn.backends import BlobStore
from armnn.storage.blobs import Blobs
from armnn.storage.folder import MAGIC, VERSION
from armnn_backend_ref.backend import RefBackend

BLOB = bytes(range(256)) * 20


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.mark.parametrize("given", [True, False], ids=["cache_dir", "the user's"])
def test_a_blob_is_found_by_its_backend_under_its_key(
    tmp_path: Path, home: Path, given: bool
) -> None:
    cache_dir = tmp_path / "cache" if given else None
    Blobs("One", cache_dir).put("key", BLOB)
    assert Blobs("One", cache_dir)
    assert Blobs("One", cache_dir).get("key") == BLOB
    assert Blobs("One", cache_dir).get("other") is None
    assert Blobs("Other", cache_dir).get("key") is None
    Blobs("One", cache_dir).put("key", b"")
    assert Blobs("One", cache_dir).get("key") == b""
    (path,) = (tmp_path / "cache" if given else home / "armnn" / "blobs").glob("*.armnn-prepared")
    assert path.stat().st_mode & 0o777 == 0o600


def _cut(path: Path, content: bytes) -> None:
    path.write_bytes(content[:-40])


def _changed(path: Path, content: bytes) -> None:
    path.write_bytes(content.replace(BLOB[:64], bytes(64)))


def _of_another(path: Path, _content: bytes) -> None:
    other = Blobs("One", path.parent.parent / "other")
    other.put("another key", BLOB)
    (foreign,) = (path.parent.parent / "other").glob("*.armnn-prepared")
    path.write_bytes(foreign.read_bytes())


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (_cut, "its sha256 is not that of its content"),
        (_changed, "its sha256 is not that of its content"),
        (_of_another, "it is the entry of another key"),
    ],
)
def test_damaged_and_foreign_blobs_are_ignored_and_said(
    damage: Callable[[Path, bytes], None],
    why: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    blobs = Blobs("One", tmp_path / "cache")
    blobs.put("key", BLOB)
    (path,) = (tmp_path / "cache").glob("*.armnn-prepared")
    damage(path, path.read_bytes())
    with caplog.at_level(logging.WARNING):
        assert blobs.get("key") is None
    assert f"a blob of backend One in {tmp_path / 'cache'} is ignored: {why}" in caplog.text
    blobs.put("key", BLOB)
    assert blobs.get("key") == BLOB


def test_a_blob_of_an_older_core_is_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blobs = Blobs("One", tmp_path)
    blobs.put("key", BLOB)
    (path,) = tmp_path.glob("*.armnn-prepared")
    content = path.read_bytes()
    path.write_bytes(MAGIC + struct.pack("<I", VERSION - 1) + content[len(MAGIC) + 4 :])
    with caplog.at_level(logging.INFO):
        assert blobs.get("key") is None
    (said,) = caplog.records
    assert (said.levelname, "is ignored: it is" in said.message) == ("INFO", True)


def test_no_folder_of_this_user_keeps_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = home / "armnn" / "blobs"
    folder.mkdir(parents=True, mode=0o700)
    folder.chmod(0o777)
    blobs = Blobs("One")
    blobs.put("key", BLOB)
    assert blobs.get("key") is None
    assert list(folder.iterdir()) == []
    folder.chmod(0o700)
    folder.parent.chmod(0o777)  # others may replace the folder
    with caplog.at_level(logging.WARNING):
        assert Blobs("One").get("key") is None
    assert "is not used, as others may write to it" in caplog.text
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    assert Blobs("One").get("key") is None
    assert not Blobs("One")


class Keeping(RefBackend):
    """CpuRef as a backend that keeps a blob for each network."""

    id = "Keeping"
    found: list[BlobStore | None]

    def create_workload(self, layer, model):
        Keeping.found.append(model.blobs)
        return super().create_workload(layer, model)


def test_networks_get_the_blobs_of_their_cache_or_of_the_user(
    make_runtime: Callable[..., Runtime], tmp_path: Path, home: Path
) -> None:
    Keeping.found = []
    network = Network("sum")
    x = network.add_input("x", TensorInfo((2,)))
    network.add_output("y", network.add_addition(x, x))
    runtime = make_runtime(Keeping)
    runtime.load_model(network.clone(), ["Keeping"])
    assert not (home / "armnn" / "blobs").exists()  # nothing was asked for
    runtime.load_model(network.clone(), ["Keeping"], cache_dir=tmp_path / "cache")
    places = [str(each) for each in Keeping.found]
    assert places == [str(home / "armnn" / "blobs"), str(tmp_path / "cache")]
