# SPDX-License-Identifier: MIT
"""The record of execution, and each item of it that changes."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

import armnn
from armnn import CreationOptions, Network, Record, Runtime, TensorInfo, metadata
from armnn.backends.native import NativeBackend, NativeLibrary, NativeLoadError
from armnn.errors import InvalidArgumentError, ModelFileError
from armnn.runtime import Difference, NetworkProperties, record
from armnn.types import ActivationFunction, DataType
from fakes import NullBackend
from fakes.plugins import Plugin, installed

# A .acme file is the number of rows of an activation, "?" for any; Acme runs it.
SOURCE = """\
import os
from armnn import ActivationFunction, DataType, Network, TensorInfo
from armnn.backends import Support
from fakes import NullBackend

def parse(path):
    rows = (path if isinstance(path, bytes) else path.read_bytes()).decode().strip()
    network = Network("line")
    shape = None if rows == "?" else int(rows), 2
    x = network.add_input("x", TensorInfo(shape, DataType.FLOAT32))
    made = network.add_activation(x, function=ActivationFunction.ABS, name="abs")
    network.add_output("y", network.add_softmax(made, name="softmax"))
    return network

class Acme(NullBackend):
    id = "Acme"

    def supports(self, layer, model):
        if os.environ.get("ACME_MOOD") == layer.name:
            return Support.no("not today")
        return super().supports(layer, model)

    @property
    def capabilities(self):
        return {"Speed": os.environ.get("ACME_SPEED", "high")}

class Spare(NullBackend):
    id = "Spare"
"""
ACME = Plugin(
    "armnn-acme",
    "0.1",
    requires=["acme-driver>=1"],
    entry_points={
        "armnn.parsers": {"acme": "armnn_acme:parse"},
        "armnn.backends": {"Acme": "armnn_acme:Acme", "Spare": "armnn_acme:Spare"},
    },
    modules={"armnn_acme": SOURCE},
)
DRIVER = Plugin("acme-driver", "2.5", requires=(), modules={"acme_driver.core": "version = 1\n"})
BACKENDS = ["Acme", "Spare"]
INSTALLED = metadata.installed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder of the only visible plug-ins, with a model beside it.

    The core seems to need nothing: NumPy has a thousand files.
    """
    monkeypatch.setattr(metadata, "installed", without_requirements)
    site = tmp_path / "site"
    (tmp_path / "model.acme").write_text("3")
    (tmp_path / "open.acme").write_text("?")
    with installed(site, ACME, DRIVER, alone=True):
        yield tmp_path


@pytest.fixture
def recorded(folder: Path) -> Record:
    """Return the record of a model after a run."""
    with Runtime() as runtime, runtime.load_model(folder / "model.acme", BACKENDS) as model:
        model.run({"x": np.zeros((3, 2), np.float32)})
        return model.record()


def without_requirements(name: str) -> metadata.InstalledDistribution | None:
    found = INSTALLED(name)
    return replace(found, requires=()) if found and name == "armnn-core" else found


def items(found: tuple[Difference, ...]) -> list[str]:
    return [each.item for each in found]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- what a record says -------------------------------------------------------------------------


def test_the_schema_is_one_and_the_record_has_it(recorded: Record) -> None:
    jsonschema.Draft202012Validator.check_schema(record.SCHEMA)
    jsonschema.Draft202012Validator(record.SCHEMA).validate(json.loads(recorded.to_json()))


def test_versions_and_files_are_those_that_are_installed(recorded: Record, folder: Path) -> None:
    document = recorded.document
    own, driver = folder / "site" / "armnn_acme.py", folder / "site" / "acme_driver"
    assert document["model"] == {
        "name": "line",
        "path": str(folder / "model.acme"),
        "format": "acme",
        "sha256": hashlib.sha256(b"3").hexdigest(),
        "files": {},
    }
    assert document["backends"]["Acme"]["files"] == {"armnn_acme.py": sha256(own)}
    assert document["backends"]["Acme"]["distribution"] == "armnn-acme"
    assert document["backends"]["Acme"]["capabilities"] == {"Speed": "high"}
    assert [document["backends"][name]["rank"] for name in BACKENDS] == [0, 1]
    # What sha256sum prints of the files of a distribution, hashed.
    lines = "".join(
        f"{sha256(driver / name)}  acme_driver/{name}\n" for name in ("__init__.py", "core.py")
    )
    assert document["distributions"]["acme-driver"] == {
        "version": "2.5",
        "sha256": hashlib.sha256(lines.encode()).hexdigest(),
        "altered": [],
    }
    assert [*document["distributions"]] == ["armnn-core", "armnn-acme", "acme-driver"]


def test_what_the_core_needs_takes_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "installed", INSTALLED)
    with Runtime() as runtime, runtime.load_model(folder / "model.acme", BACKENDS) as model:
        found = model.record().document["distributions"]
    assert {"armnn-core", "armnn-backend-api", "numpy", "ml-dtypes", "armnn-acme"} <= {*found}
    assert found["numpy"]["version"] == np.__version__
    assert found["numpy"]["altered"] == []


def test_the_plan_has_each_layer_with_backend_and_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_MOOD", "softmax")
    with Runtime() as runtime, runtime.load_model(folder / "model.acme", BACKENDS) as model:
        plan = model.record().document["plan"]
    assert [(row["layer"], row["backend"], row["reason"]) for row in plan] == [
        ("abs", "Acme", ""),
        ("softmax", "Spare", "Acme: not today"),
    ]


def test_a_record_is_read_as_it_was_written(recorded: Record, tmp_path: Path) -> None:
    recorded.write(tmp_path / "record.json")
    found = Record.read(tmp_path / "record.json")
    assert found.differences(recorded) == ()
    assert found.document == json.loads(recorded.to_json())


def test_a_backend_of_the_program_has_the_file_of_its_class(tmp_path: Path) -> None:
    network = Network()
    info = TensorInfo((1,), DataType.FLOAT32)
    x = network.add_input("x", info)
    network.add_output("y", network.add_activation(x, function=ActivationFunction.ABS))
    with armnn.register_backend("Null", NullBackend), Runtime() as runtime:
        document = runtime.load_model(network, ["Null"]).record().document
    (file,) = document["backends"]["Null"]["files"]
    assert file.endswith("fakes/backends.py")
    assert document["model"]["sha256"] is None
    (tmp_path / "model.acme").write_text("3")
    with pytest.raises(InvalidArgumentError, match="was built in Python, which no file holds"):
        armnn.verify(Record(document), tmp_path / "model.acme")


def test_a_model_that_was_loaded_as_bytes_is_the_file_with_these_bytes(folder: Path) -> None:
    with Runtime() as runtime, runtime.load_model(b"3", BACKENDS, format="acme") as model:
        found = model.record()
    assert found.document["model"]["path"] is None
    assert found.document["model"]["sha256"] == hashlib.sha256(b"3").hexdigest()
    assert armnn.verify(found, folder / "model.acme") == ()


def test_a_model_that_has_changed_since_it_was_loaded_has_no_record(folder: Path) -> None:
    with Runtime() as runtime, runtime.load_model(folder / "model.acme", BACKENDS) as model:
        (folder / "model.acme").write_text("33")
        with pytest.raises(ModelFileError, match="gone or has changed since it was loaded"):
            model.record()


# -- each item that changes is named ------------------------------------------------------------


def test_nothing_differs_without_a_change(recorded: Record, folder: Path) -> None:
    assert armnn.verify(recorded, folder / "model.acme") == ()


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from leaves(member, (*path, name))
    else:
        yield path


def test_every_item_of_a_document_is_compared(recorded: Record) -> None:
    document = json.loads(recorded.to_json())
    paths = [path for path in leaves(document) if path[0] != "plan"]
    notes = []
    for path in paths:
        changed = copy.deepcopy(document)
        inner = changed
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = "changed"
        found = recorded.differences(Record(changed))
        assert items(found) in ([".".join(path)], [])
        notes += [path] if not found else []
    assert notes == [("made",), ("model", "path"), ("choice",)]
    assert len(paths) > 60
    for key in ("type", "backend", "reason", "conversion", "compiled_into"):
        changed = copy.deepcopy(document)
        changed["plan"][1][key] = "changed"
        assert items(recorded.differences(Record(changed))) == ["plan.softmax"]


def plugin_again(folder: Path, plugin: Plugin, old: str, new: str) -> None:
    """Write a plug-in again with another text in its metadata."""
    info = folder / "site" / f"{plugin.distribution.replace('-', '_')}-{plugin.version}.dist-info"
    metadata = info / "METADATA"
    assert old in metadata.read_text()
    metadata.write_text(metadata.read_text().replace(old, new))
    armnn.backends.refresh()


def edit(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\n")


CHANGES: dict[str, tuple[Callable[[Path, pytest.MonkeyPatch], object], list[str]]] = {
    "model": (lambda at, _: edit(at / "model.acme"), ["model.sha256"]),
    "backend's file": (
        lambda at, _: edit(at / "site" / "armnn_acme.py"),
        [
            "distributions.armnn-acme.sha256",
            "backends.Acme.files.armnn_acme.py",
            "backends.Spare.files.armnn_acme.py",
        ],
    ),
    "backend's version": (
        lambda at, _: plugin_again(at, ACME, "Version: 0.1", "Version: 0.2"),
        ["distributions.armnn-acme.version", "backends.Acme.version", "backends.Spare.version"],
    ),
    "driver's file": (
        lambda at, _: edit(at / "site" / "acme_driver" / "core.py"),
        ["distributions.acme-driver.sha256"],
    ),
    "driver's version": (
        lambda at, _: plugin_again(at, DRIVER, "Version: 2.5", "Version: 2.6"),
        ["distributions.acme-driver.version"],
    ),
    "core": (lambda _, patch: patch.setattr(record, "__version__", "9.9"), ["core.version"]),
    "Backend API": (
        lambda _, patch: patch.setattr(record, "BACKEND_API_VERSION", "9.9"),
        ["core.backend_api"],
    ),
    "Python": (
        lambda _, patch: patch.setattr(record.platform, "python_version", lambda: "9.9"),
        ["core.python"],
    ),
    "processor": (
        lambda _, patch: patch.setattr(record, "described_processor", lambda: "a slide rule"),
        ["device.processor"],
    ),
    "revision of the processor": (
        lambda _, patch: patch.setattr(record, "processor_revision", lambda: "stepping 9"),
        ["device.revision"],
    ),
    "system": (
        lambda _, patch: patch.setattr(record.platform, "platform", lambda: "TOS-1.0"),
        ["device.system"],
    ),
    "variable of armnn": (
        lambda _, patch: patch.setenv("ARMNN_BACKENDS", "Acme,Spare"),
        ["environment.ARMNN_BACKENDS"],
    ),
    "variable of a backend": (
        lambda _, patch: patch.setenv("ARMNN_ACME_LEVEL", "3"),
        ["environment.ARMNN_ACME_LEVEL"],
    ),
    "variable of a library": (
        lambda _, patch: patch.setenv("OPENBLAS_NUM_THREADS", "3"),
        ["environment.OPENBLAS_NUM_THREADS"],
    ),
    "libraries": (
        lambda _, patch: patch.setenv("LD_LIBRARY_PATH", "/opt/acme"),
        ["environment.LD_LIBRARY_PATH"],
    ),
    "capability": (
        lambda _, patch: patch.setenv("ACME_SPEED", "low"),
        ["backends.Acme.capabilities.Speed"],
    ),
    "plan": (lambda _, patch: patch.setenv("ACME_MOOD", "abs"), ["plan.abs"]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_named(
    change: str, recorded: Record, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, expected = CHANGES[change]
    make(folder, monkeypatch)
    assert items(armnn.verify(recorded, folder / "model.acme")) == expected


def test_a_device_and_its_driver_are_named(
    mock: NativeLibrary,
    make_native_runtime: Callable[..., Runtime],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1,), DataType.FLOAT32))
    network.add_output("y", network.add_addition(x, x))
    model = make_native_runtime(mock).load_model(network, [mock.id])
    before = model.record()
    assert before.document["backends"][mock.id]["files"] == {mock.path: sha256(Path(mock.path))}
    devices = before.document["backends"][mock.id]["devices"]
    assert [each["fingerprint"] for each in devices.values()] == ["mock-1"] * len(devices)
    found = NativeBackend.devices
    monkeypatch.setattr(
        NativeBackend,
        "devices",
        lambda self: tuple(replace(each, fingerprint="mock-2") for each in found(self)),
    )
    expected = [f"backends.{mock.id}.devices.{name}.fingerprint" for name in devices]
    assert items(before.differences(model.record())) == expected
    model.unload()


def test_a_library_that_is_another_by_now_has_no_record(
    build: Callable[..., Path], make_native_runtime: Callable[..., Runtime], tmp_path: Path
) -> None:
    library = tmp_path / "Acme_Mock_backend.so"
    shutil.copy(build(), library)
    opened = NativeLibrary.open(library)
    network = Network()
    x = network.add_input("x", TensorInfo((1,), DataType.FLOAT32))
    network.add_output("y", network.add_addition(x, x))
    with make_native_runtime(opened).load_model(network, [opened.id]) as model:
        shutil.copy(build(), tmp_path / "new.so")
        edit(tmp_path / "new.so")
        (tmp_path / "new.so").replace(library)
        with pytest.raises(NativeLoadError, match="has changed since this process opened it"):
            model.record()


@pytest.mark.parametrize(
    ("options", "item"),
    [
        ({"strict": True}, "options.optimizer.strict"),
        ({"quantize": True}, "options.quantize"),
        (
            {"properties": NetworkProperties(async_enabled=False)},
            "options.properties",
        ),
        ({"parser_options": {"format": "acme"}}, "options.parser.format"),
    ],
)
def test_an_option_is_named(
    options: dict[str, Any], item: str, recorded: Record, folder: Path
) -> None:
    with Runtime() as runtime:
        loaded = runtime.load_model(folder / "model.acme", BACKENDS, **options)
        other = loaded.record()
    assert items(recorded.differences(other)) == [item]
    # What was recorded is what it is loaded with again.
    assert armnn.verify(other, folder / "model.acme") == ()


def test_an_option_of_the_runtime_is_named(recorded: Record, folder: Path) -> None:
    with Runtime(CreationOptions(plan_limit=3)) as runtime:
        other = runtime.load_model(folder / "model.acme", BACKENDS).record()
    (found,) = recorded.differences(other)
    assert str(found) == "options.runtime.plan_limit: recorded 16, got 3"
    assert armnn.verify(other, folder / "model.acme") == ()


def test_a_skipped_backend_is_named(recorded: Record, folder: Path) -> None:
    with Runtime() as runtime:
        other = runtime.load_model(folder / "model.acme", ["Gpu?", *BACKENDS]).record()
    assert items(recorded.differences(other)) == ["skipped.Gpu", "options.backends"]


def test_other_shapes_have_plans_of_their_own(folder: Path) -> None:
    with Runtime() as runtime, runtime.load_model(folder / "open.acme", BACKENDS) as model:
        model.run({"x": np.zeros((3, 2), np.float32)})
        first = model.record()
        model.run({"x": np.zeros((5, 2), np.float32)})
        second = model.record()
    assert [row["specialisation"] for row in second.document["plan"]] == [
        "x=[3,2]", "x=[3,2]", "x=[5,2]", "x=[5,2]",
    ]  # fmt: skip
    assert items(first.differences(second)) == [
        "prepared", "plan.abs (x=[5,2])", "plan.softmax (x=[5,2])",
    ]  # fmt: skip
    assert armnn.verify(second, folder / "open.acme") == ()


# -- what is not loaded, and what a record may not say ------------------------------------------


def test_code_that_is_not_as_it_was_installed_is_not_run(folder: Path) -> None:
    site = folder / "site"
    path = site / "acme_driver" / "core.py"
    digest = urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
    lines = site / "acme_driver-2.5.dist-info" / "RECORD"
    row = "acme_driver/core.py,"
    lines.write_text(lines.read_text().replace(f"{row},", f"{row}sha256={digest},12"))
    with Runtime() as runtime, runtime.load_model(folder / "model.acme", BACKENDS) as model:
        recorded = model.record()
    assert recorded.document["distributions"]["acme-driver"]["altered"] == []
    edit(path)
    found = {each.item: each.got for each in armnn.verify(recorded, folder / "model.acme")}
    assert list(found) == [
        "distributions.acme-driver.sha256", "distributions.acme-driver.altered", "plan",
    ]  # fmt: skip
    assert found["distributions.acme-driver.altered"] == ["acme_driver/core.py"]
    assert found["plan"] == (
        "not known: acme_driver/core.py of acme-driver is not as it was installed, so nothing was "
        "loaded"
    )


def test_a_model_that_cannot_be_loaded_is_a_difference(
    recorded: Record, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_BACKENDS", "-Acme")
    found = armnn.verify(recorded, folder / "model.acme")
    assert items(found) == ["environment.ARMNN_BACKENDS", "plan"]
    assert found[1].recorded == "2 layers"
    assert "Backend 'Acme' (armnn-acme 0.1) is blocked" in found[1].got


def test_a_backend_that_is_gone_is_a_difference(recorded: Record, folder: Path) -> None:
    points = folder / "site" / "armnn_acme-0.1.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().replace("Spare = armnn_acme:Spare\n", ""))
    armnn.backends.refresh()
    found = {each.item: each.got for each in armnn.verify(recorded, folder / "model.acme")}
    assert found["backends.Spare.origin"] == ""
    assert "There is no backend 'Spare'" in found["plan"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"runtime": {"dynamic_backends_path": "/opt/acme"}},
            "has the dynamic_backends_path '/opt/acme': give it to verify",
        ),
        ({"runtime": {"lock_file": "/opt/lock"}}, "has the lock_file '/opt/lock': give it"),
        ({"backends": ["ssh://me@box/Acme"]}, "the backend 'ssh://me@box/Acme' of another machine"),
        ({"backends": ["board://box/Acme?"]}, "the backend 'board://box/Acme' of another machine"),
        (
            {"optimizer": {"debug": {"python": "a:b"}}},
            "a:b as debug, which only a program can give",
        ),
    ],
)
def test_what_runs_code_is_the_callers_to_give(
    changes: dict[str, Any], message: str, recorded: Record, folder: Path
) -> None:
    document = json.loads(recorded.to_json())
    for name, value in changes.items():
        options = document["options"]
        options[name] = {**options[name], **value} if isinstance(value, dict) else value
    with pytest.raises(InvalidArgumentError, match=message):
        armnn.verify(Record(document), folder / "model.acme")


def test_the_command_of_a_board_in_a_record_is_not_run(recorded: Record, folder: Path) -> None:
    document = json.loads(recorded.to_json())
    trace = folder / "trace"
    document["options"]["runtime"]["boards"] = {"box": ["touch", str(trace)]}
    document["options"]["backends"] = ["board://box/Acme"]
    options = CreationOptions(backends=["board://box/Acme?", "Acme"])
    found = armnn.verify(Record(document), folder / "model.acme", options)
    assert "There is no board 'box' for the backend 'board://box/Acme'" in found[-1].got
    assert not trace.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.pop("device"), "the document lacks 'device'"),
        (lambda d: d.update(more=1), "more is not known, expected one of version, made, model"),
        (lambda d: d["model"].update(sha256="abc"), "model.sha256 is 'abc', expected"),
        (lambda d: d["options"]["optimizer"].pop("strict"), "options.optimizer lacks 'strict'"),
        (lambda d: d["plan"][0].update(backend=3), r"plan\[0\].backend is 3, expected string"),
        (lambda d: d.update(version=2), "its version is 2, and armnn-core .* reads version 1"),
    ],
)
def test_a_file_that_is_no_record_is_refused(
    change: Callable[[dict[str, Any]], object], message: str, recorded: Record, tmp_path: Path
) -> None:
    document = json.loads(recorded.to_json())
    change(document)
    (tmp_path / "record.json").write_text(json.dumps(document))
    for given in (tmp_path / "record.json", json.dumps(document).encode(), document):
        with pytest.raises(InvalidArgumentError, match=message):
            Record.read(given)
    validator = jsonschema.Draft202012Validator(record.SCHEMA)
    assert not validator.is_valid(document)  # the published schema says the same


@pytest.mark.parametrize("text", ["", "[]", "3", "[" * 100_000, '{"version": 1}'])
def test_damaged_files_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(InvalidArgumentError, match=r"cannot be read: .*'armnn run --record FILE'"):
        Record.read(tmp_path / "record.json")


def test_content_and_documents_are_verified_as_files_are(recorded: Record, folder: Path) -> None:
    text = recorded.to_json()
    for given in (text.encode(), json.loads(text)):
        assert armnn.verify(given, folder / "model.acme") == ()
        assert Record.read(given) == recorded


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_LARGEST_FILE", 10)
    (tmp_path / "record.json").write_text(" " * 11)
    with pytest.raises(InvalidArgumentError, match="it has more than 10 bytes"):
        Record.read(tmp_path / "record.json")


def test_layers_that_wait_for_data_of_a_run_are_one_difference(
    recorded: Record, folder: Path
) -> None:
    document = json.loads(recorded.to_json())
    document["waits_for_data"] = True
    document["plan"].append({**document["plan"][0], "layer": "later"})
    found = [
        each
        for each in armnn.verify(Record(document), folder / "model.acme")
        if each.item != "waits_for_data"
    ]
    assert items(tuple(found)) == ["plan"]
    assert found[0].recorded == "1 layer"
    assert "data of a run decides about them" in found[0].got
