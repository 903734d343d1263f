# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import logging
import pickle
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from armnn import Network, Runtime, TensorInfo
from armnn.backends.cache import StaleEntryError
from armnn.backends.capi.programs import Envelope
from armnn.backends.native import NativeLibrary
from armnn.errors import InvalidArgumentError
from armnn.profiling import Recorder
from armnn.storage.folder import SUFFIX, CacheFolder, FileBlock, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

X = np.array([1.0, -2.0, 3.5, 0.0], np.float32)
INFO = TensorInfo((4,))
ENVELOPE = Envelope("Mock", "3.1", "1.0", "0", "mock-1", "ab" * 32, ("Tiles=4", "Fast=true"))


def double(constant: float | None = None) -> Network:
    network = Network("double")
    x = network.add_input("x", INFO)
    other = x if constant is None else np.full(4, constant, np.float32)
    network.add_output("y", network.add_addition(x, other, name="add"))
    return network


@pytest.fixture
def load(
    make_native_runtime: Callable[..., Runtime],
    mock: NativeLibrary,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> Callable[..., str]:
    """Return a function that runs a network with a cache.

    It uses a new runtime and returns the outcome.
    """
    caplog.set_level(logging.INFO, "armnn.backends.cache")

    def make(
        network: Network | None = None,
        library: NativeLibrary = mock,
        defaults: dict[str, Any] | None = None,
        **options: Any,
    ) -> str:
        caplog.clear()
        network = double() if network is None else network
        runtime = make_native_runtime(library, backend_options={library.id: defaults or {}})
        optimized = runtime.optimize(
            network, [library.id], backend_options={library.id: options}, cache_dir=folder(tmp_path)
        )
        result = runtime.load_network(optimized).run({"x": X})["y"]
        constants = [layer.data for layer in network.layers if layer.data is not None]
        np.testing.assert_array_equal(result, X + (constants[0] if constants else X))
        runtime.close()
        (record,) = caplog.records
        return record.message

    return make


def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def stored(tmp_path: Path) -> Path:
    (path,) = folder(tmp_path).glob(f"*{SUFFIX}")
    return path


def test_the_second_time_a_program_is_taken_from_the_cache(
    load: Callable[..., str], tmp_path: Path
) -> None:
    assert load() == "Mock: 'add': compiled and stored"
    first = stored(tmp_path).read_bytes()
    assert load() == "Mock: 'add': taken from the cache"
    assert stored(tmp_path).read_bytes() == first


def test_a_program_without_room_is_not_stored(
    load: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("there is no room")

    for place in (FileBlock, "append"), (CacheFolder, "block"):
        with monkeypatch.context() as patch:
            patch.setattr(*place, fail)
            assert load() == "Mock: 'add': compiled, not stored: there is no room"
    assert load() == "Mock: 'add': compiled and stored"


def test_another_graph_another_constant_or_option_is_another_program(
    load: Callable[..., str], tmp_path: Path
) -> None:
    load()
    assert load(None, Tiles=2) == "Mock: 'add': compiled and stored"
    assert len(list(folder(tmp_path).iterdir())) == 2
    assert load(double(2)) == "Mock: 'add': compiled, not stored: it has constants"


def test_another_option_of_the_runtime_is_another_program(load: Callable[..., str]) -> None:
    load(Tiles=2)
    assert load(defaults={"Tiles": 2}) == "Mock: 'add': compiled and stored"
    assert load(defaults={"Tiles": 3}) == "Mock: 'add': compiled and stored"
    assert load(defaults={"Tiles": 2}) == "Mock: 'add': taken from the cache"


def packed(header: dict[str, Any], *blocks: bytes) -> bytes:
    return b"".join(pack(header, [[block] for block in blocks]))


def old_envelope(payload: bytes) -> bytes:
    """Return a file as core 1.0 and 1.1 wrote it."""
    header = ENVELOPE.json().encode()
    body = struct.pack("<8sIIQ", b"\x89ARMNNP\n", 1, len(header), len(payload)) + header + payload
    return body + hashlib.sha256(body).digest()


def damage(header: dict[str, Any], payload: bytes) -> dict[str, bytes]:
    whole = packed(header, payload)
    return {
        "it has 0 bytes, expected more": b"",
        r"it is b'\x89ARMNNP\n' of version 1, expected": old_envelope(payload),
        "its sha256 is not that of its content": whole[:-40] + b"?" + whole[-39:],
        "its backend_version is '3.0', expected '3.1'": packed(
            {**header, "backend_version": "3.0"}, payload
        ),
        "its device_fingerprint is 'mock-2', expected 'mock-1'": packed(
            {**header, "device_fingerprint": "mock-2"}, payload
        ),
        "its header has []": packed({"key": header.get("key")}, payload),
        "it has 2 blocks, expected one": packed(header, payload, b""),
        "it has 0 blocks, expected one": packed(header),
        "not of this mock": packed(header, b"mick" + payload[4:]),
    }


@pytest.mark.parametrize("reason", damage(ENVELOPE.header(), b"mock"))
def test_a_file_that_does_not_fit_is_compiled_again_and_says_why(
    load: Callable[..., str], tmp_path: Path, reason: str
) -> None:
    load()
    good = stored(tmp_path).read_bytes()
    header, (payload,) = unpack(memoryview(good))
    stored(tmp_path).write_bytes(damage(header, bytes(payload))[reason])
    message = load()
    assert message.startswith("Mock: 'add': compiled again: ")
    assert reason in message
    assert stored(tmp_path).read_bytes() == good
    assert load() == "Mock: 'add': taken from the cache"


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        ("0", "taken from the cache"),
        ("1", "taken from the cache"),
        ("2", "compiled again: the backend wants to compile it again"),
        ("3", "compiled again: the backend cannot use it here"),
        ("7", "compiled again: check_blob answered 7, which is not a state of armnn/backend.h"),
    ],
)
def test_the_backend_judges_the_envelope_before_it_gets_the_bytes(
    load: Callable[..., str], monkeypatch: pytest.MonkeyPatch, verdict: str, outcome: str
) -> None:
    load()
    monkeypatch.setenv("MOCK_VERDICT", verdict)
    monkeypatch.setenv("MOCK_UNREADABLE", "1" if verdict > "1" else "")
    if verdict <= "1":
        monkeypatch.delenv("MOCK_UNREADABLE")
    assert load() == f"Mock: 'add': {outcome}"


def test_a_backend_that_cannot_serialize_is_not_cached(
    build: Callable[..., Path],
    make_native_runtime: Callable[..., Runtime],
    tmp_path: Path,
) -> None:
    library = NativeLibrary.open(build("mock.c", "-DMOCK_MINIMAL"))
    runtime = make_native_runtime(library)
    runtime.load_model(double(), ["Mock"], cache_dir=folder(tmp_path)).run({"x": X})
    assert list(folder(tmp_path).iterdir()) == []


def test_the_profile_has_an_event_per_program(
    make_native_runtime: Callable[..., Runtime], mock: NativeLibrary, tmp_path: Path
) -> None:
    recorder, runtime = Recorder(), make_native_runtime(mock)
    runtime.load_model(double(), ["Mock"], cache_dir=folder(tmp_path), profiler=recorder)
    (event,) = (event for event in recorder.events if event.name == "cache")
    assert event.details == {
        "category": "cache",
        "backend": "Mock",
        "outcome": "compiled and stored",
    }


def test_a_folder_that_others_may_write_to_is_refused(
    make_native_runtime: Callable[..., Runtime], mock: NativeLibrary, tmp_path: Path
) -> None:
    runtime = make_native_runtime(mock)
    folder(tmp_path).mkdir()
    folder(tmp_path).chmod(0o777)
    with pytest.raises(InvalidArgumentError, match=r"others may write to it \(mode 777\)"):
        runtime.optimize(double(), ["Mock"], cache_dir=folder(tmp_path))
    with pytest.raises(InvalidArgumentError, match="cannot be a cache folder: Not a directory"):
        runtime.optimize(double(), ["Mock"], cache_dir=Path("/etc/passwd/cache"))


def test_an_envelope_is_read_back_as_it_was() -> None:
    header = json.loads(json.dumps(ENVELOPE.header()))
    assert Envelope.from_header(header) == ENVELOPE
    assert ENVELOPE.difference(ENVELOPE) == ""
    assert pickle.loads(pickle.dumps(ENVELOPE)) == ENVELOPE


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"backend": 3}, "its header has"),
        ({"more": "text"}, "its header has"),
        ({"options": "text"}, "its options are 'text', expected a list of texts"),
        ({"options": [3]}, r"its options are \[3\], expected a list of texts"),
    ],
)
def test_a_header_that_is_not_one_is_refused(change: dict[str, Any], reason: str) -> None:
    header = json.loads(json.dumps(ENVELOPE.header()))
    with pytest.raises(StaleEntryError, match=reason):
        Envelope.from_header(header | change)
