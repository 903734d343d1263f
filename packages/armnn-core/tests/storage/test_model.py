# SPDX-License-Identifier: MIT
from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn.parsing
import armnn.runtime.model_files
import armnn.runtime.runtime
from armnn import DataType, LoadedNetwork, Network, Runtime, TensorInfo
from armnn.errors import ModelFileError
from armnn.graph import DeferredOperator, Value
from armnn.layers.plumbing import StandInDescriptor
from armnn.storage.folder import pack, unpack

if TYPE_CHECKING:
    from armnn.backends.native import NativeLibrary

pytestmark = pytest.mark.usefixtures("counts")

X = np.array([[1.0, -2.0], [3.5, 0.0]], np.float32)
DIGEST = hashlib.sha256(b"weights").hexdigest()
THREE = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)


def model(rows: int | str = 2, *beside: Path) -> Network:
    """Return (x + x) * 3 + x; the mock has no product."""
    network = Network("model", {"author": "nobody"})
    x = network.add_input("x", TensorInfo((rows, 2)))
    double: Value = network.add_addition(x, x, name="double")
    triple = network.add_multiplication(double, np.full((1, 2), 3, np.float32), name="triple")
    network.add_output("y", network.add_addition(triple, x, name="sum"))
    network.external_files = {path.name: path.stat() for path in beside}
    return network


@pytest.fixture
def load(
    make_native_runtime: Callable[..., Runtime],
    make_backend: Callable[..., Any],
    mock: NativeLibrary,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., tuple[LoadedNetwork, list[Network]]]:
    """Return a function that loads in a new runtime.

    It returns the loaded network and the networks that were parsed for it.
    """

    def make(
        network: Network | None = None, **arguments: Any
    ) -> tuple[LoadedNetwork, list[Network]]:
        parsed: list[Network] = []

        def parse(_: Path, **_options: object) -> Network:
            parsed.append(model() if network is None else network.clone())
            return parsed[-1]

        monkeypatch.setattr(armnn.runtime.model_files, "parse", parse)
        for name in ("parse", "parse_folded"):
            monkeypatch.setattr(armnn.runtime.request, name, parse)
        path = tmp_path / "model.toy"
        if not path.exists():
            path.write_bytes(b"content")
        runtime = make_native_runtime(mock, make_backend("Slow", {"Addition": "not here"}))
        chosen: dict[str, Any] = {
            "backends": ["Mock", "Slow"],
            "cache_dir": tmp_path / "cache",
        } | arguments
        return runtime.load_model(path, **chosen), parsed

    return make


Load = Callable[..., tuple[LoadedNetwork, list[Network]]]


def test_the_second_time_nothing_is_parsed_and_all_is_as_before(load: Load) -> None:
    first, parsed = load()
    assert len(parsed) == 1
    np.testing.assert_array_equal(first.run({"x": X})["y"], 7 * X)
    second, parsed = load()
    np.testing.assert_array_equal(second.run({"x": X})["y"], 7 * X)
    assert parsed == []
    for name in ("name", "metadata", "inputs", "outputs", "report"):
        assert getattr(second, name) == getattr(first, name)
    assert [row.backend for row in second.report] == ["Mock", "Slow", "Mock"]


def test_open_shapes_are_stored_as_they_are_met(load: Load) -> None:
    first, _ = load(model("rows"))
    first.run({"x": X})
    second, parsed = load(model("rows"))
    assert second.inputs == {"x": TensorInfo(("rows", 2))}
    np.testing.assert_array_equal(second.run({"x": X})["y"], 7 * X)
    assert parsed == []
    np.testing.assert_array_equal(second.run({"x": THREE})["y"], 7 * THREE)
    assert len(parsed) == 1
    third, parsed = load(model("rows"))
    np.testing.assert_array_equal(third.run({"x": THREE})["y"], 7 * THREE)
    assert parsed == []


@pytest.mark.parametrize(
    "change",
    [
        {"backends": ["Slow", "Mock"]},
        {"backend_options": {"Mock": {"Tiles": 3}}},
        {"layer_backends": {"triple": "Slow"}},
        {"strict": False, "backends": ["Mock", "Slow", "Mock"]},
        {"parser_options": {"signature": "other"}},
    ],
)
def test_other_arguments_prepare_the_model_anew(load: Load, change: dict[str, Any]) -> None:
    load()
    loaded, parsed = load(**change)
    assert len(parsed) == 1
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)


def test_another_file_or_version_is_another_model(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load()
    (tmp_path / "model.toy").write_bytes(b"other content")
    assert len(load()[1]) == 1
    monkeypatch.setattr(armnn.runtime.model_files, "__version__", "99.0")
    assert len(load()[1]) == 1
    assert load()[1] == []


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """Return a file beside the model."""
    path = tmp_path / "w.bin"
    path.write_bytes(b"weights")
    return path


def replaced_by_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def moved_out_of_the_folder(path: Path) -> None:
    path.rename(path.parents[1] / path.name)
    path.symlink_to(path.parents[1] / path.name)


@pytest.mark.parametrize("rows", [2, "rows"])
def test_a_model_that_reads_other_files_is_parsed_once(
    load: Load, beside: Path, rows: int | str
) -> None:
    for parses in (1, 0):
        loaded, parsed = load(model(rows, beside))
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)
        assert len(parsed) == parses


@pytest.mark.parametrize("rows", [2, "rows"])
def test_a_model_is_parsed_each_time_where_its_parser_does_not_name_other_files(
    load: Load, rows: int | str
) -> None:
    """As those made for armnn-core 1.2.0 do not."""
    for _ in range(2):
        network = model(rows)
        assert network.is_self_contained
        network.is_self_contained &= True
        assert network.is_self_contained
        network.is_self_contained &= False
        assert not network.clone().is_self_contained
        loaded, parsed = load(network)
        assert len(parsed) == 1
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)


@pytest.mark.parametrize("rows", [2, "rows"])
def test_a_model_is_parsed_again_where_another_file_has_changed(
    load: Load, beside: Path, rows: int | str
) -> None:
    changes: list[Callable[[Path], object]] = [
        lambda path: path.write_bytes(b"WEIGHTS"),
        lambda path: path.write_bytes(b"weight"),
        Path.unlink,
        replaced_by_a_pipe,
        moved_out_of_the_folder,
    ]
    for number, change in enumerate(changes):
        cache = beside.parent / f"cache {number}"
        beside.unlink(missing_ok=True)
        beside.write_bytes(b"weights")
        load(model(rows, beside), cache_dir=cache)[0].run({"x": X})
        change(beside)
        loaded, parsed = load(model(rows), cache_dir=cache)
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)
        assert len(parsed) == 1


@pytest.mark.parametrize("is_read_anew", [False, True])
def test_further_shapes_need_the_files_that_were_loaded(
    load: Load, beside: Path, *, is_read_anew: bool
) -> None:
    load(model("rows", beside))[0].run({"x": X})
    network = model("rows", beside)
    loaded, _ = load(network)
    beside.write_bytes(b"WEIGHTS")
    if is_read_anew:
        network.external_files[beside.name] = beside.stat()
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)
    with pytest.raises(ModelFileError, match=r"since it was loaded: its file 'w\.bin' has changed"):
        loaded.run({"x": THREE})


def test_shapes_that_were_stored_with_other_files_are_not_taken(load: Load, beside: Path) -> None:
    load(model("rows", beside))[0].run({"x": X})
    network = model("rows", beside)
    loaded, _ = load(network)
    beside.write_bytes(b"WEIGHTS")
    load(model("rows", beside))[0].run({"x": X})
    with pytest.raises(ModelFileError, match=r"its file 'w\.bin' has changed; load it again"):
        loaded.run({"x": X})


def test_files_that_change_while_a_model_is_loaded_are_not_stored(load: Load, beside: Path) -> None:
    network, open_network = model(2, beside), model("rows", beside)
    beside.write_bytes(b"WEIGHTS")
    for _ in range(2):
        loaded, parsed = load(network.clone())
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)
        assert len(parsed) == 1
    with pytest.raises(ModelFileError, match=r"its file 'w\.bin' has changed; load it again"):
        load(open_network)


def test_an_entry_whose_files_make_no_sense_is_made_again(load: Load, beside: Path) -> None:
    load(model(2, beside))
    (entry,) = (beside.parent / "cache").glob("*.armnn-prepared")
    good = entry.read_bytes()
    (beside.parents[1] / "w.bin").write_bytes(b"weights")
    for files in ["w.bin"], {"../w.bin": DIGEST}, {"/dev/zero": DIGEST}, {"w.bin": 5}:
        header, blocks = unpack(memoryview(good))
        header["files"] = files
        entry.write_bytes(b"".join(pack(header, [[block] for block in blocks])))
        loaded, parsed = load(model(2, beside))
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)
        assert len(parsed) == 1
        assert entry.read_bytes() == good


class Doubles(DeferredOperator):
    """As many doublings as the second input says."""

    operator = "Doubles"
    awaits = (1,)

    def __init__(self, *beside: Path) -> None:
        self._beside = beside

    def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
        network.external_files.update({path.name: path.stat() for path in self._beside})
        value, times = inputs
        for _ in range(int(times.constant)):  # type: ignore[arg-type]  # it awaits the data
            value = network.add_addition(value, value)
        return [value]


def deferring(*beside: Path) -> Network:
    """Return y = x, doubled as often as an input says."""
    network = Network("deferring")
    x = network.add_input("x", TensorInfo((2, 2)))
    times = network.add_input("times", TensorInfo((), DataType.SIGNED32))
    made = StandInDescriptor(num_outputs=1)
    layer = network.add("StandIn", [x, times], made, outputs=[TensorInfo(None)])
    layer.compiled = Doubles(*beside)
    network.add_output("y", layer.output)
    return network


def test_operators_that_wait_for_data_are_stored_as_what_they_became(load: Load) -> None:
    for known, times in ([], 1), ([1], 1), ([1], 3), ([1, 3], 3):
        loaded, parsed = load(deferring())
        made = loaded.run({"x": X, "times": np.int32(times)})["y"]
        np.testing.assert_array_equal(made, 2**times * X)
        assert len(parsed) == (times not in known)


def test_operators_that_read_other_files_late_are_stored_with_these(
    load: Load, beside: Path
) -> None:
    for content, parses in (b"1", 1), (b"1", 0), (b"2", 1), (b"2", 0):
        if beside.read_bytes() != content:
            beside.write_bytes(content)
        loaded, parsed = load(deferring(beside))
        made = loaded.run({"x": X, "times": np.int32(2)})["y"]
        np.testing.assert_array_equal(made, 4 * X)
        assert len(parsed) == parses


def test_operators_that_do_not_name_what_they_read_late_are_parsed_each_time(load: Load) -> None:
    class Former(Doubles):
        def resolve(self, network: Network, inputs: Sequence[Value]) -> Sequence[Value]:
            network.is_self_contained &= False
            return super().resolve(network, inputs)

    for _ in range(2):
        network = deferring()
        (layer,) = (each for each in network.layers if each.type == "StandIn")
        layer.compiled = Former()
        loaded, parsed = load(network)
        made = loaded.run({"x": X, "times": np.int32(2)})["y"]
        np.testing.assert_array_equal(made, 4 * X)
        assert len(parsed) == 1


def test_what_is_compiled_to_nothing_that_can_be_stored_is_parsed_each_time(load: Load) -> None:
    for _ in range(2):
        loaded, parsed = load(model(1))  # the mock takes the product, and stores no constants
        assert len(parsed) == 1
        np.testing.assert_array_equal(loaded.run({"x": X[:1]})["y"], 7 * X[:1])


def test_a_file_that_changed_is_not_parsed_for_other_shapes(load: Load, tmp_path: Path) -> None:
    load(model("rows"))[0].run({"x": X})
    loaded, _ = load(model("rows"))
    (tmp_path / "model.toy").write_bytes(b"other content")
    loaded.run({"x": X})
    with pytest.raises(ModelFileError, match="has changed since it was loaded: load it again"):
        loaded.run({"x": THREE})


def test_whatever_is_damaged_is_made_again(load: Load, tmp_path: Path) -> None:
    load()
    for file in sorted((tmp_path / "cache").glob("*.armnn-prepared")):
        good = file.read_bytes()
        for bad in (b"", good[:-1], good[:40] + b"?" + good[41:]):
            file.write_bytes(bad)
            loaded, _ = load()
            np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)
            assert file.read_bytes() == good


def test_a_missing_program_is_compiled_again(load: Load, tmp_path: Path) -> None:
    load()
    for file in sorted((tmp_path / "cache").glob("*.armnn-prepared")):
        good = file.read_bytes()
        file.unlink()
        loaded, _ = load()
        np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)
        assert file.read_bytes() == good


def signed(change: Callable[[dict[str, Any]], None]) -> Callable[[bytes], bytes]:
    """Return a function that changes a header and signs again."""

    def damage(good: bytes) -> bytes:
        header, blocks = unpack(memoryview(good))
        change(header["network"])
        return b"".join(pack(header, [[block] for block in blocks]))

    return damage


def reported(change: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """Return a function that changes the report in a header."""

    def damage(header: dict[str, Any]) -> None:
        report = json.loads(header["report"])
        change(report)
        header["report"] = json.dumps(report)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda header: header["layers"].pop(),
        lambda header: header["layers"].pop(0),
        lambda header: header["layers"][0].update(type="Nothing"),
        lambda header: header["layers"][0].update(outputs=[[[2, 2], 99, [], [], None]]),
        lambda header: header["layers"][-1].update(inputs=[[77, 0]]),
        lambda header: header["layers"][-2].update(parameters={"size": 5}),
        lambda header: header.update(report=[]),
        lambda header: header.update(report="{"),
        reported(lambda report: report.update(rows=[{}])),
        reported(lambda report: report.pop("specialisation")),
        reported(lambda report: report["rows"][0].update(refusals=[{"backend": "Mock"}])),
        reported(lambda report: report["rows"][0].update(footprint={"arena_bytes": 1})),
        reported(lambda report: report["parts"][0].update(layers_of=2)),
        reported(lambda report: report["parts"][0].update(borders=[{"tensor": "x"}])),
        lambda header: header.update(layers=None),
    ],
)
def test_a_network_that_makes_no_sense_is_prepared_again(
    load: Load, tmp_path: Path, damage: Callable[[dict[str, Any]], None]
) -> None:
    load()
    (file,) = (tmp_path / "cache").glob("*.armnn-prepared")
    good = file.read_bytes()
    file.write_bytes(signed(damage)(good))
    loaded, parsed = load()
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], 7 * X)
    assert len(parsed) == 1
    assert file.read_bytes() == good
