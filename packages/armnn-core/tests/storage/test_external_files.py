# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest

import armnn.storage.folder
from armnn.backends.cache import StaleEntryError
from armnn.storage.folder import KnownDigests, stamp_of
from armnn.storage.model import ExternalFiles

CONTENT = b"weights"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a model's folder with data, and a file outside."""
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    for path in (inside / "w.bin", inside / "sub" / "w.bin", tmp_path / "w.bin"):
        path.write_bytes(CONTENT)
    return inside


@pytest.fixture
def files(folder: Path, tmp_path: Path) -> ExternalFiles:
    return ExternalFiles(str(folder / "model.onnx"), KnownDigests(tmp_path).of)


def test_files_are_known_by_their_digests(files: ExternalFiles, folder: Path) -> None:
    (folder / "link").symlink_to("sub/w.bin")
    names = ["w.bin", "sub/w.bin", "link"]
    made = files.digests_of({name: (folder / name).stat() for name in names})
    assert made == dict.fromkeys(names, DIGEST)
    files.check(made)


def test_a_file_that_changed_since_it_was_read_has_no_digest(
    files: ExternalFiles, folder: Path
) -> None:
    status = (folder / "w.bin").stat()
    (folder / "new").write_bytes(CONTENT)
    (folder / "new").rename(folder / "w.bin")
    with pytest.raises(StaleEntryError, match=r"its file 'w\.bin' has changed"):
        files.digests_of({"w.bin": status})


def test_a_model_in_the_working_folder_has_files_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    ExternalFiles("model.onnx", KnownDigests(folder).of).check({"w.bin": DIGEST})


@pytest.mark.parametrize("name", ["../w.bin", "{}/w.bin", "sub/../w.bin", "", "a\0b", "C:w.bin"])
def test_names_that_may_lead_out_are_refused(files: ExternalFiles, folder: Path, name: str) -> None:
    name = name.format(folder)
    wanted = re.escape(f"its file {name!r} is not below the model's folder")
    with pytest.raises(StaleEntryError, match=wanted):
        files.check({name: DIGEST})


def test_links_that_lead_out_are_refused(files: ExternalFiles, folder: Path) -> None:
    (folder / "link").symlink_to("../w.bin")
    (folder / "out").symlink_to("..")
    for name in ("link", "out/w.bin"):
        with pytest.raises(StaleEntryError, match="is not below the model's folder"):
            files.check({name: DIGEST})


def test_what_is_no_file_is_refused_and_not_waited_for(files: ExternalFiles, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for name in ("pipe", "sub", "."):
        with pytest.raises(StaleEntryError, match="is not a regular one"):
            files.check({name: DIGEST})
    with pytest.raises(StaleEntryError, match="'none' cannot be read: No such file or directory"):
        files.check({"none": DIGEST})


def test_a_file_that_did_not_change_is_not_read_again(
    files: ExternalFiles, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "w.bin"
    stamp = stamp_of(path)
    KnownDigests(tmp_path).keep(path, stamp, DIGEST, max(stamp[-2:]) + 10_000_000_000)
    monkeypatch.setattr(armnn.storage.folder, "file_sha256", None)
    files.check({"w.bin": DIGEST})
    with pytest.raises(StaleEntryError, match=r"its file 'w\.bin' has changed"):
        files.check({"w.bin": hashlib.sha256(b"other").hexdigest()})
