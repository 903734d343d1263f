# SPDX-License-Identifier: MIT
"""Networks of files are pickled, and loaded by functions."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import armnn
from armnn import CreationOptions, Runtime
from armnn.errors import ClosedError, InvalidArgumentError, ModelFileError

X = np.arange(4, dtype=np.float32)

PARSER = """
from armnn import Network, TensorInfo

def parse(path, *, folder=None):
    is_content = isinstance(path, bytes)
    network = Network("content" if is_content else path.name)
    if not is_content:
        folder = path.parent
    beside = folder and folder / "three.data"
    if beside and beside.exists():
        network.external_files[beside.name] = beside.stat()
    value = network.add_input("x", TensorInfo((4,)))
    for _ in range(int(path if is_content else path.read_text())):
        value = network.add_addition(value, value)
    network.add_output("y", value)
    return network
"""


@pytest.fixture
def model_file(tmp_path, make_backend, make_runtime):
    from fakes.plugins import Plugin, installed

    make_runtime(make_backend("Fake"))
    plugin = Plugin(
        "armnn-parser-count",
        "1.0",
        (),
        {"armnn.parsers": {"count": "armnn_parser_count:parse"}},
        {"armnn_parser_count": PARSER},
    )
    path = tmp_path / "three.count"
    path.write_text("3")
    with installed(tmp_path / "plugins", plugin):
        yield path


def test_a_model_is_pickled_as_its_file_and_options(model_file) -> None:
    with Runtime(CreationOptions(plan_limit=3)) as runtime:
        model = runtime.load_model(model_file, ["Fake"])
        data = pickle.dumps(model)
    assert len(data) < 2000
    again = pickle.loads(data)
    assert again.runtime.options == CreationOptions(plan_limit=3)
    np.testing.assert_array_equal(again.run({"x": X})["y"], 8 * X)
    again.runtime.close()


def test_errors_name_the_file_in_place_of_the_graph(model_file, tmp_path) -> None:
    title = re.escape(f"the model {str(model_file)!r}")
    for cache in (None, tmp_path / "cache", tmp_path / "cache"):  # the last reads what it kept
        with Runtime() as runtime:
            model = runtime.load_model(model_file, ["Fake"], cache_dir=cache)
            with pytest.raises(
                InvalidArgumentError, match=rf"^there is no input 'z': {title} takes"
            ):
                model.run({"z": X})
            with pytest.raises(
                InvalidArgumentError, match=rf"there is no output 'z': {title} makes"
            ):
                model.run({"x": X}, names=["z"])
        with pytest.raises(ClosedError, match=f"{title} was closed"):
            model.run({"x": X})
    with pytest.raises(InvalidArgumentError, match=rf"layer 'z', which {title} does not have"):
        armnn.load_model(model_file, layer_backends={"z": "Fake"})
    with pytest.raises(InvalidArgumentError, match=r"'z': the network 'content' takes"):
        armnn.load_model(b"3", ["Fake"], format="count").run({"z": X})


def test_content_is_pickled_with_its_options(model_file) -> None:
    with Runtime(CreationOptions(plan_limit=3)) as runtime:
        with model_file.open("rb") as file:
            model = runtime.load_model(file, ["Fake"], format="count")
        data = pickle.dumps(model)
    model_file.unlink()
    again = pickle.loads(data)
    assert again.runtime.options == CreationOptions(plan_limit=3)
    np.testing.assert_array_equal(again.run({"x": X})["y"], 8 * X)
    assert pickle.dumps(again) == data
    again.runtime.close()


def test_files_in_the_folder_of_content_are_pickled_with_it(
    model_file, tmp_path, monkeypatch
) -> None:
    beside = model_file.with_suffix(".data")
    beside.write_bytes(b"weights")
    monkeypatch.chdir(tmp_path)
    with Runtime() as runtime:
        data = pickle.dumps(runtime.load_model(b"3", ["Fake"], format="count", folder="."))
    monkeypatch.chdir("/")
    pickle.loads(data).runtime.close()
    beside.write_bytes(b"WEIGHTS")
    with pytest.raises(ModelFileError, match=r"given as bytes has changed since it was pick"):
        pickle.loads(data)


def test_measured_backends_of_a_file_are_those_of_its_content(model_file, tmp_path) -> None:
    from armnn.runtime.verdicts import Trial, Verdict, identity_of_file, this_machine, write_verdict

    verdicts = tmp_path / "verdicts.json"
    with Runtime() as runtime:
        builds = {"Fake": next(e.owner for e in runtime.registry.entries() if e.id == "Fake")}
        names = (identity_of_file(model_file),)
        chosen = (Trial(("Fake",), microseconds=1.0),)
        write_verdict(verdicts, Verdict(names, this_machine(), builds, "2026-01-01", chosen))
        content, options = model_file.read_bytes(), {"backends": "auto", "verdicts": str(verdicts)}
        model = runtime.load_model(content, format="count", **options)
        assert "chosen by measurement on 2026-01-01" in model.report.choice


def test_a_model_whose_file_changed_is_not_unpickled(model_file) -> None:
    with Runtime() as runtime:
        data = pickle.dumps(runtime.load_model(model_file, ["Fake"]))
    model_file.write_text("4")
    with pytest.raises(ModelFileError, match=r"three.count' is gone or has changed"):
        pickle.loads(data)


def test_a_model_whose_file_changed_is_not_pickled(model_file) -> None:
    with Runtime() as runtime:
        model = runtime.load_model(model_file, ["Fake"])
        model_file.write_text("3 ")
        with pytest.raises(ModelFileError, match="gone or has changed since it was loaded"):
            pickle.dumps(model)
        model_file.unlink()
        with pytest.raises(ModelFileError, match="gone or has changed since it was loaded"):
            pickle.dumps(model)


@pytest.mark.parametrize("has_cache", [False, True])
def test_files_beside_a_model_are_pickled_with_it(model_file, tmp_path, *, has_cache) -> None:
    beside = model_file.with_suffix(".data")
    beside.write_bytes(b"weights")
    cache = tmp_path / "cache" if has_cache else None
    for _ in range(2):  # from the file, then from the cache
        with Runtime() as runtime:
            data = pickle.dumps(runtime.load_model(model_file, ["Fake"], cache_dir=cache))
        again = pickle.loads(data)
        np.testing.assert_array_equal(again.run({"x": X})["y"], 8 * X)
        data = pickle.dumps(again)
        again.runtime.close()
    beside.write_bytes(b"weights")  # another file of the same content
    pickle.loads(data).runtime.close()
    beside.write_bytes(b"WEIGHTS")
    wanted = r"three\.count' has changed since it was pickled: its file 'three\.data' has changed"
    with pytest.raises(ModelFileError, match=wanted):
        pickle.loads(data)
    beside.unlink()
    with pytest.raises(ModelFileError, match=r"its file 'three\.data' cannot be read"):
        pickle.loads(data)


@pytest.mark.parametrize("has_cache", [False, True])
def test_a_model_whose_file_beside_changed_is_not_pickled(
    model_file, tmp_path, *, has_cache
) -> None:
    beside = model_file.with_suffix(".data")
    beside.write_bytes(b"weights")
    cache = tmp_path / "cache" if has_cache else None
    for content in (b"WEIGHTS", b"Weights"):
        with Runtime() as runtime:
            model = runtime.load_model(model_file, ["Fake"], cache_dir=cache)
            beside.write_bytes(content)
            wanted = r"has changed since it was loaded: its file 'three\.data' has changed"
            with pytest.raises(ModelFileError, match=wanted):
                pickle.dumps(model)


def test_the_module_level_functions_share_a_runtime(model_file) -> None:
    model = armnn.load_model(str(model_file), backends=["Fake"])
    np.testing.assert_array_equal(model.run({"x": X})["y"], 8 * X)
    other = armnn.load_model(armnn.parse(model_file), backends=["Fake"])
    assert other.runtime is model.runtime
    report = armnn.optimize(armnn.parse(model_file), backends=["Fake"]).report
    assert report.layers_by_backend == {"Fake": 3}
    model.runtime.close()
    assert model.runtime.is_closed
    again = armnn.load_model(str(model_file), backends=["Fake"])
    np.testing.assert_array_equal(again.run({"x": X})["y"], 8 * X)
    again.runtime.close()
