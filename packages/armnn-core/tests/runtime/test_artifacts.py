# SPDX-License-Identifier: MIT
"""Prepared models as files: written, loaded, refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn.runtime.model_files
from armnn import CreationOptions, DataType, Network, Runtime, TensorInfo
from armnn.errors import InvalidArgumentError, ModelFileError
from armnn.storage.folder import pack, unpack

if TYPE_CHECKING:
    from armnn.backends.native import NativeLibrary

X = np.array([[1.0, -2.0]], np.float32)


def network(rows: int | None = 1) -> Network:
    """Return y = 2 * x + x."""
    net = Network("sum", {"author": "nobody"})
    x = net.add_input("x", TensorInfo((rows, 2)))
    double = net.add_addition(x, x, name="double")
    net.add_output("y", net.add_addition(double, x, name="sum"))
    return net


@pytest.fixture
def runtime(
    make_native_runtime: Callable[..., Runtime], mock: NativeLibrary, make_backend: Any
) -> Runtime:
    return make_native_runtime(mock, make_backend("Slow"))


@pytest.fixture
def file(runtime: Runtime, tmp_path: Path) -> Path:
    path = tmp_path / "sum.armnn-prepared"
    runtime.compile_network(network(), path, ["Mock"])
    return path


def test_a_prepared_model_computes_what_the_model_does(runtime: Runtime, file: Path) -> None:
    loaded = runtime.load_model(file)
    np.testing.assert_array_equal(loaded.run({"x": X})["y"], 3 * X)
    assert loaded.name == "sum"
    assert loaded.metadata == {"author": "nobody"}
    assert loaded.inputs == {"x": TensorInfo((1, 2))}
    assert {row.backend for row in loaded.report} == {"Mock"}


def test_no_parser_is_asked(runtime: Runtime, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(armnn.runtime.request, "parse", None)
    np.testing.assert_array_equal(runtime.load_model(file).run({"x": X})["y"], 3 * X)


def test_a_prepared_model_is_pickled_as_its_file(tmp_path: Path) -> None:
    path = tmp_path / "sum.armnn-prepared"
    with Runtime(CreationOptions(plan_limit=5)) as runtime:
        runtime.compile_network(network(), path, ["CpuRef"])
        data = pickle.dumps(runtime.load_model(path))
    assert len(data) < 2000
    again = pickle.loads(data)
    np.testing.assert_array_equal(again.run({"x": X})["y"], 3 * X)
    assert again.load_times["parse"] == 0
    again.runtime.close()


def test_backends_beside_those_of_the_file_are_allowed(runtime: Runtime, file: Path) -> None:
    runtime.load_model(file, ["Slow", "Mock"]).run({"x": X})
    with pytest.raises(ModelFileError, match="runs on Mock: expected Mock among the backends"):
        runtime.load_model(file, ["Slow"])


def test_the_network_stays_as_it_is(runtime: Runtime, tmp_path: Path) -> None:
    net = network()
    report = runtime.compile_network(net, tmp_path / "a.armnn-prepared", ["Mock"])
    assert [layer.name for layer in net.layers if layer.type == "Addition"] == ["double", "sum"]
    assert [row.layer for row in report] == ["double", "sum"]


def test_what_cannot_be_a_file_is_refused(runtime: Runtime, tmp_path: Path) -> None:
    file = tmp_path / "a.armnn-prepared"
    with pytest.raises(InvalidArgumentError, match=r"values \(x=\[\?,2\]\): give it shapes, as"):
        runtime.compile_network(network(None), file, ["Mock"])
    with pytest.raises(
        InvalidArgumentError, match=r"expected a name that ends in \.armnn-prepared"
    ):
        runtime.compile_network(network(), tmp_path / "a.onnx", ["Mock"])
    with pytest.raises(OSError, match="No such file"):
        runtime.compile_network(network(), tmp_path / "missing" / file.name, ["Mock"])
    assert not list(tmp_path.glob("*armnn-prepared*"))


def changed(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the header of a file and sign it again."""
    header, blocks = unpack(memoryview(file.read_bytes()))
    change(header)
    file.write_bytes(b"".join(pack(header, [[block] for block in blocks])))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda h: h.update(key=["model"]), "it is a file of a cache, which belongs to its folder"),
        (lambda h: h.pop("made_by"), "it is a file of a cache"),
        (lambda h: h["made_by"].update(core="0.9"), "armnn-core 0.9 made it, and this is"),
        (
            lambda h: h["made_by"].update(backends="Mock"),
            "its backends are 'Mock', expected a list",
        ),
        (lambda h: h.pop("facts"), "it holds no facts of a model"),
        (lambda h: h["facts"].pop("name"), "it is not a model"),
        (lambda h: h.pop("plans"), "it holds no prepared networks"),
        (lambda h: h["plans"][0].pop("shapes"), "it holds no prepared networks"),
        (lambda h: h["plans"][0].pop("network"), "it holds no prepared network"),
        (lambda h: h["plans"][0].update(constants=9), "it has 9 constants, and 1 blocks"),
        (lambda h: h["plans"][0].update(programs=[{"key": 5}]), "its programs cannot be read"),
        (lambda h: h["plans"][0].update(programs=[]), "the program is not there"),
        (
            lambda h: h["plans"][0]["programs"][0]["header"].update(backend_version="0"),
            "of its program .*, its backend_version is '0', expected",
        ),
        (lambda h: h["plans"][0]["network"]["layers"].pop(), "it takes|it makes no network"),
        (lambda h: h.pop("parts"), "the extents of its blocks cannot be read"),
        (lambda h: h.update(parts=[[[0, 0, 1 << 40]]]), "an extent of .* is not within its block"),
        (lambda h: h.update(parts=[[[-1, 0, 1]]]), "an extent is"),
        (lambda h: h.update(parts=[[[0, 0]]]), "the extents of its blocks cannot be read"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_reason(
    runtime: Runtime, file: Path, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    changed(file, change)
    with pytest.raises(ModelFileError, match=f"cannot be used here: .*{reason}") as caught:
        runtime.load_model(file)
    assert "'armnn compile' makes it again of the original model" in str(caught.value)


def test_other_options_are_refused_by_name(runtime: Runtime, file: Path) -> None:
    options = {"Mock": {"Speed": "high"}}
    had = "options of Mock none, expected Speed=high: load it with the same options"
    with pytest.raises(ModelFileError, match=had):
        runtime.load_model(file, backend_options=options)
    runtime.compile_network(network(), file, ["Mock"], backend_options=options)
    runtime.load_model(file, backend_options=options).run({"x": X})
    with pytest.raises(ModelFileError, match="options of Mock Speed=high, expected none"):
        runtime.load_model(file)


def test_every_cut_and_flipped_bit_is_refused(runtime: Runtime, file: Path) -> None:
    good = file.read_bytes()
    for at in range(0, len(good), 37):
        for bad in (good[:at], good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :]):
            file.write_bytes(bad)
            with pytest.raises(ModelFileError, match="cannot be used here"):
                runtime.load_model(file)


def test_a_model_without_layers_is_a_file_too(runtime: Runtime, tmp_path: Path) -> None:
    net = Network("bytes")
    x = net.add_input("x", TensorInfo((1, 2), DataType.SIGNED32))
    net.add_output("y", x)
    file = tmp_path / "bytes.armnn-prepared"
    runtime.compile_network(net, file, ["Mock"])
    made = runtime.load_model(file).run({"x": X.astype(np.int32)})["y"]
    np.testing.assert_array_equal(made, X.astype(np.int32))


def test_a_file_may_hold_several_sets_of_shapes(runtime: Runtime, tmp_path: Path) -> None:
    file = tmp_path / "sum.armnn-prepared"
    report = runtime.compile_network(
        network(None), file, ["Mock"], shapes=[{"x": (1, 2)}, {"x": (3, 2)}]
    )
    assert len(report) == 4
    loaded = runtime.load_model(file)
    assert loaded.inputs == {"x": TensorInfo((None, 2))}
    for rows in (3, 1):
        data = np.tile(X, (rows, 1))
        np.testing.assert_array_equal(loaded.run({"x": data})["y"], 3 * data)
    with pytest.raises(ModelFileError, match=r"holds 2 sets of shapes only.*compile it for these"):
        loaded.run({"x": np.tile(X, (2, 1))})
    for given, message in (
        ([{"y": (1, 2)}], "a shape was given for the input 'y', which"),
        ([{"x": (1, 2)}, {}], r"give it shapes"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            runtime.compile_network(network(None), file, ["Mock"], shapes=given)
