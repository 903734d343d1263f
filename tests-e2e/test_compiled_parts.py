# SPDX-License-Identifier: MIT
"""Parts that a backend in Python compiled are kept with the model, and used by later loads."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import armnn
from armnn import Network, Runtime, TensorInfo
from armnn.backends import BackendVersion, ModelContext, OptimizationViews, SubgraphView
from armnn.errors import IncompatibleBlobError, ModelFileError
from armnn_backend_custom.backend import CustomBackend
from armnn_backend_custom.pre_compiled import CustomPreCompiledObject
from armnn_conformance.checks.by_name import Checks, NotSupportedError
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject

X = np.float32([1, -2, 0.5])


class Keeping(CustomBackend):
    """Custom, whose compiled additions are kept as a version of its own."""

    id = "Keeping"
    api_version = BackendVersion(1, 3)
    version: ClassVar[bytes] = b"1"
    compiled: ClassVar[list[str]] = []
    restored: ClassVar[list[bytes]] = []

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        self.compiled.extend(layer.name for layer in view.layers)
        return super().optimize_subgraph(view, model)

    def serialize(self, compiled: object, model: ModelContext) -> bytes | None:
        assert isinstance(compiled, CustomPreCompiledObject)
        return self.version

    def deserialize(self, blob: bytes, model: ModelContext) -> object:
        self.restored.append(blob)
        if blob != self.version:
            raise IncompatibleBlobError(f"it is of version {blob.decode()}")
        return CustomPreCompiledObject()


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(Keeping, "compiled", [])
    monkeypatch.setattr(Keeping, "restored", [])
    with armnn.register_backend("Keeping", Keeping):
        yield


def sums() -> Network:
    """Return floor(x + x) + x."""
    network = Network("sums")
    x = network.add_input("x", TensorInfo((3,)))
    once = network.add_floor(network.add_addition(x, x, name="two"))
    network.add_output("y", network.add_addition(once, x, name="three"))
    return network


@pytest.fixture
def load(tmp_path: Path) -> Callable[[], None]:
    """Return a function that loads the network through a cache, and checks it."""
    armnn.save(sums(), tmp_path / "sums.armnn")

    def loaded() -> None:
        with Runtime() as runtime:
            model = runtime.load_model(
                tmp_path / "sums.armnn", ["Keeping", "CpuRef"], cache_dir=tmp_path / "cache"
            )
            np.testing.assert_array_equal(model.run({"x": X})["y"], np.floor(2 * X) + X)

    return loaded


def test_the_second_load_compiles_nothing(load: Callable[[], None]) -> None:
    load()
    assert sorted(Keeping.compiled) == ["three", "two"]
    load()
    assert len(Keeping.compiled) == 2
    assert Keeping.restored == [b"1", b"1"]


def test_what_the_backend_does_not_take_back_is_compiled_again(
    load: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    load()
    monkeypatch.setattr(Keeping, "version", b"2")
    load()
    assert (len(Keeping.compiled), Keeping.restored) == (4, [b"1"])
    load()
    assert (len(Keeping.compiled), Keeping.restored) == (4, [b"1", b"2", b"2"])


def test_what_cannot_be_kept_is_compiled_in_each_load(
    load: Callable[[], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Keeping, "serialize", CustomBackend.serialize)
    load()
    load()
    assert (len(Keeping.compiled), Keeping.restored) == (4, [])
    monkeypatch.setattr(Keeping, "serialize", lambda *_: "text")
    with caplog.at_level(logging.INFO, "armnn.backends.cache"):
        load()
    assert "not stored: backend 'Keeping' returned 'text' from serialize of layer" in caplog.text


def test_a_prepared_file_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sums.armnn-prepared"
    with Runtime() as runtime:
        runtime.compile_network(sums(), file, ["Keeping", "CpuRef"])
        assert len(Keeping.compiled) == 2
        model = runtime.load_model(file)
        np.testing.assert_array_equal(model.run({"x": X})["y"], np.floor(2 * X) + X)
        assert (len(Keeping.compiled), len(Keeping.restored)) == (2, 2)
        monkeypatch.setattr(Keeping, "version", b"2")
        with pytest.raises(ModelFileError, match="it is of version 1"):
            runtime.load_model(file)


def test_bytes_that_break_their_backend_are_refused(
    load: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deserialize(_: Keeping, blob: bytes, model: ModelContext) -> object:
        return struct.unpack("<Q", blob)

    file = tmp_path / "sums.armnn-prepared"
    load()
    monkeypatch.setattr(Keeping, "deserialize", deserialize)
    load()
    assert len(Keeping.compiled) == 4
    with Runtime() as runtime:
        runtime.compile_network(sums(), file, ["Keeping", "CpuRef"])
        with pytest.raises(ModelFileError, match="unpack requires a buffer of 8 bytes"):
            runtime.load_model(file)


class Subtracting(CustomPreCompiledObject):
    """A part that was restored as another one."""

    def add(self, first: object, second: object, total: object) -> None:
        np.subtract(first, second, out=total)


def test_the_kit_sees_a_part_that_is_restored_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    with Subject("Keeping") as subject:
        checks = Checks(subject)
        checks.prepared_file(["Addition"])
        assert Keeping.restored
        monkeypatch.setattr(Keeping, "deserialize", lambda *_: Subtracting())
        with pytest.raises(NonconformityError, match="loaded from a prepared file, the runtime's"):
            checks.prepared_file(["Addition"])
        monkeypatch.setattr(Keeping, "serialize", lambda *_: None)
        with pytest.raises(NotSupportedError, match="it is not kept in files"):
            checks.prepared_file(["Addition"])
