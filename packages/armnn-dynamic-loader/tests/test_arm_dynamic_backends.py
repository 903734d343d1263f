# SPDX-License-Identifier: MIT
"""Arm NN's DynamicBackendTests, by name, with the same assertions.

Where this loader decides otherwise, the test's docstring says so. Arm NN's handles and
DynamicBackend objects are NativeLibrary here, its registry the entries of BackendRegistry, its
fixtures switches of mock_backend.c.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from armnn import CreationOptions, DataLayout, Network, Runtime, TensorInfo
from armnn.backends import BackendEntry, BackendRegistry, ModelContext
from armnn.backends.native import NativeBackend, NativeLibrary, NativeLoadError
from armnn.errors import BackendUnavailableError
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion, is_compatible
from armnn_dynamic_loader.files import examine_folders
from armnn_dynamic_loader.folders import search_path

Build = Callable[..., Path]

NAMES = re.findall(
    r"\w+",
    """
    OpenCloseHandle CloseInvalidHandle OpenEmptyFileName OpenNotExistingFile OpenNotSharedObjectFile
    GetValidEntryPoint GetNameMangledEntryPoint GetNoExternEntryPoint GetNotExistingEntryPoint
    BackendVersioning CreateDynamicBackendObjectInvalidHandle
    CreateDynamicBackendObjectInvalidInterface1 CreateDynamicBackendObjectInvalidInterface2
    CreateDynamicBackendObjectInvalidInterface3 CreateDynamicBackendObjectInvalidInterface4
    CreateDynamicBackendObjectInvalidInterface5 CreateDynamicBackendObjectInvalidInterface6
    CreateDynamicBackendObjectInvalidInterface7 GetSharedObjects GetBackendPaths
    GetBackendPathsOverride CreateDynamicBackends CreateDynamicBackendsNoPaths
    CreateDynamicBackendsAllInvalid CreateDynamicBackendsMixedTypes
    RegisterMultipleInvalidDynamicBackends RuntimeEmpty RuntimeDynamicBackends
    RuntimeDuplicateDynamicBackends RuntimeInvalidDynamicBackends RuntimeInvalidOverridePath
    CreateReferenceDynamicBackend CreateValidDynamicBackendObject RegisterSingleDynamicBackend
    RegisterMultipleDynamicBackends RegisterMixedDynamicBackends CreateSampleDynamicBackend
    SampleDynamicBackendEndToEnd
""",
)

# The fixtures of Arm NN's TestDynamicBackend.cpp.
VALID = {n: (f'-DID="{id}"',) for n, id in {
    "1": "ValidTestDynamicBackend", "2": "TestValid2", "3": "TestValid3", "4": "TestValid2",
    "5": "TestValid5",
}.items()}  # fmt: skip
OTHER = '-DID="InvalidTestDynamicBackend"'
INVALID = {
    "1": (OTHER, "-DGetBackendId=_Z12GetBackendIdv", "-DGetVersion=_Z10GetVersionPjS_",
          "-DBackendFactory=_Z14BackendFactoryv"),
    "2": (OTHER, "-DNO_ID"),
    "3": (OTHER, "-DNO_VERSION"),
    "4": (OTHER, "-DNO_FACTORY"),
    "5": (OTHER, "-DNULL_ID"),
    "6": (OTHER, "-DNULL_FACTORY"),
    "7": (OTHER, "-DMAJOR=0", "-DMINOR=7"),
    "8": ("-DNULL_ID", "-DMAJOR=0", "-DMINOR=7"),
    "9": ('-DID="TestValid2"', f"-DMINOR={BACKEND_API_VERSION.minor + 1}"),
    "10": ('-DID=""',),
    "11": ('-DID="Unknown"',),
}  # fmt: skip
FOLDERS = {
    "5": ("Valid2", "Valid3", "Invalid8"),
    "6": ("Valid2", "Valid4", "Valid5", "Invalid9"),
    "9": ("Invalid10", "Invalid11"),
}


@pytest.fixture
def mock(build: Build) -> Callable[..., Path]:
    """Make the file of a fixture: mock("Valid2"), mock("Invalid8", folder="path5")."""

    def make(fixture: str, folder: str = "files") -> Path:
        kind, number = re.fullmatch(r"(Valid|Invalid)(\d+)", fixture).groups()  # type: ignore[union-attr]  # a name of ours
        switches = (VALID if kind == "Valid" else INVALID)[number]
        return build(f"Arm_Test{fixture}_backend.so", *switches, folder=folder)

    return make


@pytest.fixture
def paths(mock: Callable[..., Path], tmp_path: Path) -> dict[str, Path]:
    """Arm NN's backendsTestPath5 to 9."""
    for number, fixtures in FOLDERS.items():
        for fixture in fixtures:
            mock(fixture, folder=f"path{number}")
    (tmp_path / "path7").mkdir(mode=0o755)
    return {str(number): tmp_path / f"path{number}" for number in range(5, 10)}


def options(path: object) -> CreationOptions:
    return CreationOptions(dynamic_backends_path=str(path), enable_static_backends=False)


def entries(path: object) -> list[BackendEntry]:
    return [entry for entry in BackendRegistry(options(path)).entries() if not entry.is_static]


def registered(path: object) -> list[str]:
    return [entry.id for entry in entries(path) if entry.state.value == "known"]


def created(found: list[BackendEntry]) -> list[str]:
    """Return the ids that Arm NN's CreateDynamicBackends would make."""
    return [entry.id for entry in found if entry.state.value in ("known", "shadowed")]


def all_entries(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> list[BackendEntry]:
    monkeypatch.setenv("ARMNN_DYNAMIC_BACKENDS_PATH", ":".join(map(str, folders)))
    found = BackendRegistry(CreationOptions(enable_static_backends=False)).entries()
    return [entry for entry in found if not entry.is_static]


def opened(path: Path) -> NativeLibrary:
    return NativeLibrary.open(path)


# -- opening ---------------------------------------------------------------------------------------


def test_open_close_handle(mock: Callable[..., Path]) -> None:
    """Mappings are never closed here, so both tests are one.

    Code of a mapping may still be referred to.
    """
    library = opened(mock("Valid1"))
    assert library.id == "ValidTestDynamicBackend"
    assert opened(Path(library.path)) is library


def test_close_invalid_handle(mock: Callable[..., Path]) -> None:
    """Closing a runtime twice, or without backends, does nothing."""
    runtime = Runtime(options(mock("Invalid5").parent))
    runtime.close()
    runtime.close()


def test_open_empty_file_name() -> None:
    with pytest.raises(NativeLoadError, match=r"\(dlopen\)"):
        NativeLibrary.open("")


def test_open_not_existing_file() -> None:
    with pytest.raises(NativeLoadError, match=r"\(dlopen\): No such file or directory"):
        NativeLibrary.open("NotExistingFileName")


def test_open_not_shared_object_file(tmp_path: Path) -> None:
    path = tmp_path / "libNoSharedObject.txt"
    path.write_text("no shared object\n")
    with pytest.raises(NativeLoadError, match=r"\(dlopen\): .*invalid ELF header|file too short"):
        opened(path)


# -- the three exports -----------------------------------------------------------------------------


def test_get_valid_entry_point(mock: Callable[..., Path]) -> None:
    assert opened(mock("Valid1")).api_version == BackendVersion(BACKEND_API_VERSION.major, 0)


def test_get_name_mangled_entry_point(mock: Callable[..., Path]) -> None:
    with pytest.raises(NativeLoadError, match=r"\(exports\): it does not export GetBackendId, Get"):
        opened(mock("Invalid1"))


def test_get_no_extern_entry_point(build: Build) -> None:
    path = build("Arm_Static_backend.so", "-DGetVersion=get_version")
    with pytest.raises(NativeLoadError, match=r"\(exports\): it does not export GetVersion"):
        opened(path)


def test_get_not_existing_entry_point(mock: Callable[..., Path]) -> None:
    with pytest.raises(NativeLoadError, match=r"\(exports\): it does not export BackendFactory"):
        opened(mock("Invalid4"))


def test_backend_versioning() -> None:
    """The shipped rule; the older design note compared majors only."""
    api = BackendVersion(2, 4)
    works = {(2, 4): True, (3, 4): False, (1, 4): False, (2, 5): False, (2, 3): True}
    assert {pair: is_compatible(BackendVersion(*pair), api) for pair in works} == works
    assert is_compatible(BACKEND_API_VERSION, BACKEND_API_VERSION)


# -- one backend from one file ---------------------------------------------------------------------


def test_create_valid_dynamic_backend_object(mock: Callable[..., Path]) -> None:
    library = opened(mock("Valid1"))
    assert library.id == "ValidTestDynamicBackend"
    assert library.api_version >= BackendVersion(1, 0)
    first, second = NativeBackend(library), NativeBackend(library)
    assert first is not second
    assert {first.id, second.id} == {"ValidTestDynamicBackend"}


def test_create_dynamic_backend_object_invalid_handle() -> None:
    """No handle is null here; a folder is the nearest."""
    with pytest.raises(NativeLoadError, match=r"\(dlopen\)"):
        NativeLibrary.open("/")


@pytest.mark.parametrize(
    ("number", "stage", "reason"),
    [
        ("1", "exports", "does not export GetBackendId, GetVersion, BackendFactory"),
        ("2", "exports", "does not export GetBackendId"),
        ("3", "exports", "does not export GetVersion"),
        ("4", "exports", "does not export BackendFactory"),
        ("5", "id", "GetBackendId answers NULL"),
        ("6", "factory", "BackendFactory returned NULL"),
        ("7", "version", "needs Backend API 0.7"),
    ],
)
def test_create_dynamic_backend_object_invalid_interface(
    mock: Callable[..., Path], number: str, stage: str, reason: str
) -> None:
    """Arm NN finds 6's null factory later, making the backend."""
    path = mock(f"Invalid{number}")
    (entry,) = entries(path.parent)
    assert (entry.stage, reason in entry.reason) == (stage, True), entry.reason
    with pytest.raises(NativeLoadError, match=re.escape(reason)) as caught:
        opened(path)
    assert caught.value.stage == stage


# -- files and folders -----------------------------------------------------------------------------


def test_get_shared_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arm NN's text fixtures fail here at the ELF header."""
    valid = [
        "Arm123_GpuAcc_backend.so", "Arm_GpuAcc456_backend.so", "Arm_GpuAcc_backend.so",
        "Arm_GpuAcc_backend.so.1", "Arm_GpuAcc_backend.so.1.2", "Arm_GpuAcc_backend.so.1.2.3",
        "Arm_GpuAcc_backend.so.10.1.27",
    ]  # fmt: skip
    invalid = [
        "Arm_GpuAcc_backend.so.10.1.33.", "Arm_GpuAcc_backend.so.3.4..5", "Arm_Gpu.Acc_backend.so",
        "Arm_GpuAcc_backend.so.1,1.1", "Arm%Co_GpuAcc_backend.so", "GpuAcc_backend.so", "__.so",
        "_GpuAcc_backend.so", "Arm__backend.so", "Arm_GpuAcc.so", "__backend.so",
        "Arm_GpuAcc_backend", "Arm_GpuAcc_backend_v1.2.so",
    ]  # fmt: skip
    folders = [tmp_path / f"path{number}" for number in range(1, 5)]
    for folder in folders[:3]:
        folder.mkdir(mode=0o755)
    for name in (*valid, *invalid):
        (folders[0] / name).write_text("text")
    for name in ("Arm_CpuAcc_backend.so", "Arm_GpuAcc_backend.so"):
        (folders[1] / name).write_text("text")
    for version, target in ((".1", ""), (".1.2", ".1"), (".1.2.3", ".1.2")):
        link = folders[1] / f"Arm_CpuAcc_backend.so{version}"
        link.symlink_to(f"Arm_CpuAcc_backend.so{target}")
    (folders[1] / "Arm_no_backend.so").symlink_to("nothing")
    monkeypatch.setenv("ARMNN_DYNAMIC_BACKENDS_PATH", ":".join(map(str, folders)))
    records = examine_folders(search_path(CreationOptions()))
    found = [record.path for record in records if record.stage == "elf"]
    assert found == [
        *(str(folders[0] / name) for name in valid),
        str(folders[1] / "Arm_CpuAcc_backend.so"),
        str(folders[1] / "Arm_GpuAcc_backend.so"),
    ]


def test_get_backend_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    d1, d2, d3 = (str(tmp_path / name) for name in ("d1", "d2", "d3"))
    d4 = str(tmp_path / "missing")
    for path in (d1, d2, d3):
        os.mkdir(path, 0o755)
    expected = {
        "": [],
        "dir1/dir1": [],
        d1: [d1],
        f"{d1}:{d1}": [d1],
        ":::": [],
        f"{d1}:{d2}:{d3}": [d1, d2, d3],
        f"::{d1}:": [d1],
        f":{d4}::": [],
        f"{d1}:{d4}:": [d1],
        f"{d1}:{d4}:{d1}:{d2}:{d2}": [d1, d2],
    }
    for variable, folders in expected.items():
        monkeypatch.setenv("ARMNN_DYNAMIC_BACKENDS_PATH", variable)
        found = search_path(CreationOptions())
        assert [folder.path for folder in found if not folder.problem] == folders, variable


def test_get_backend_paths_override(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    valid = tmp_path / "valid"
    valid.mkdir(mode=0o755)
    monkeypatch.setenv("ARMNN_DYNAMIC_BACKENDS_PATH", str(valid))
    for given, expected in ((str(valid), [str(valid)]), (str(tmp_path / "none"), [])):
        found = search_path(CreationOptions(dynamic_backends_path=given))
        assert [folder.path for folder in found if not folder.problem] == expected


# -- many files ------------------------------------------------------------------------------------


def test_create_dynamic_backends(paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    found = all_entries(monkeypatch, *paths.values())
    expected = ["TestValid2", "TestValid3", "TestValid2", "TestValid2", "TestValid5"]
    assert created(found) == expected
    assert [entry.id for entry in found if entry.state.value == "known"] == [
        "TestValid2", "TestValid3", "TestValid5",
    ]  # fmt: skip


def test_create_dynamic_backends_no_paths() -> None:
    options_without = CreationOptions(enable_static_backends=False)
    assert not [e for e in BackendRegistry(options_without).entries() if not e.is_static]


def test_create_dynamic_backends_all_invalid(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name in ("Arm_A_backend.so", "Arm_B_backend.so", "Arm_C_backend.so"):
        (tmp_path / name).symlink_to("InvalidPath")
    assert created(entries(tmp_path)) == []


def test_create_dynamic_backends_mixed_types(mock: Callable[..., Path]) -> None:
    folder = mock("Valid2").parent
    mock("Invalid8")
    mock("Invalid9")
    (folder / "Arm_Missing_backend.so").symlink_to("InvalidPath")
    assert created(entries(folder)) == ["TestValid2"]


def test_register_single_dynamic_backend(mock: Callable[..., Path]) -> None:
    registry = BackendRegistry(options(mock("Valid2").parent))
    assert registry.get("TestValid2").id == "TestValid2"
    assert [entry.id for entry in registry.entries() if not entry.is_static] == ["TestValid2"]


def test_register_multiple_dynamic_backends(mock: Callable[..., Path]) -> None:
    folder = mock("Valid2").parent
    mock("Valid3")
    mock("Valid5")
    registry = BackendRegistry(options(folder))
    backends = [registry.get(name) for name in ("TestValid2", "TestValid3", "TestValid5")]
    assert all(is_compatible(each.api_version, BACKEND_API_VERSION) for each in backends)


def test_register_mixed_dynamic_backends(mock: Callable[..., Path]) -> None:
    """The empty id and "Unknown" are refused before registration."""
    folder = mock("Valid2").parent
    for number in (3, 4, 5):
        mock(f"Valid{number}")
    for number in (8, 9, 10, 11):
        mock(f"Invalid{number}")
    (folder / "Arm_Missing_backend.so").symlink_to("InvalidPath")
    assert registered(folder) == ["TestValid2", "TestValid3", "TestValid5"]


def test_register_multiple_invalid_dynamic_backends(paths: dict[str, Path]) -> None:
    found = entries(paths["9"])
    assert created(found) == []
    assert [(entry.id, entry.stage) for entry in found] == [("", "id"), ("Unknown", "id")]


# -- runtimes --------------------------------------------------------------------------------------


def test_runtime_empty() -> None:
    """As shipped, a runtime starts empty; preparing a network raises."""
    net = addition()
    with Runtime(CreationOptions(enable_static_backends=False)) as runtime:
        assert not [e for e in runtime.registry.entries() if e.state.value != "blocked"]
        with pytest.raises(BackendUnavailableError, match="No backend can be used"):
            runtime.optimize(net)


def test_runtime_dynamic_backends(paths: dict[str, Path]) -> None:
    assert registered(paths["5"]) == ["TestValid2", "TestValid3"]


def test_runtime_duplicate_dynamic_backends(paths: dict[str, Path]) -> None:
    assert registered(paths["6"]) == ["TestValid2", "TestValid5"]
    assert [entry.id for entry in entries(paths["6"]) if entry.shadowed_by] == ["TestValid2"]


def test_runtime_invalid_dynamic_backends(paths: dict[str, Path]) -> None:
    with Runtime(options(paths["9"])):
        assert registered(paths["9"]) == []


def test_runtime_invalid_override_path() -> None:
    with Runtime(options("InvalidPath")):
        assert entries("InvalidPath") == []


# -- the reference and the sample ------------------------------------------------------------------


def convolution() -> Network:
    net = Network("convolution")
    x = net.add_input("x", TensorInfo((1, 16, 16, 16)))
    weights = np.linspace(-1, 1, 16 * 3 * 3 * 16, dtype=np.float32).reshape(16, 3, 3, 16)
    net.add_output("y", net.add_convolution2d(x, weights, data_layout=DataLayout.NHWC))
    return net


def addition() -> Network:
    net = Network("addition")
    a, b = (net.add_input(name, TensorInfo((2,))) for name in "ab")
    net.add_output("sum", net.add_addition(a, b))
    return net


def test_create_reference_dynamic_backend(reference: Path) -> None:
    with Runtime(options(reference.parent)) as runtime:
        assert registered(reference.parent) == ["CpuRef"]
        backend = runtime.registry.get("CpuRef")
        assert isinstance(backend, NativeBackend)
        net = convolution()
        (layer,) = (each for each in net.layers if each.type == "Convolution2d")
        model = ModelContext({})
        assert backend.supports(layer, model)
        assert backend.create_workload(layer, backend.create_model_context({})) is not None


@pytest.fixture
def sample(build: Build) -> Iterator[Runtime]:
    path = build("Arm_SampleDynamic_backend.so", '-DID="SampleDynamic"')
    with Runtime(options(path.parent)) as runtime:
        yield runtime


def test_create_sample_dynamic_backend(sample: Runtime) -> None:
    backend = sample.registry.get("SampleDynamic")
    layers = {layer.type: layer for net in (convolution(), addition()) for layer in net.layers}
    model = backend.create_model_context({})
    assert not backend.supports(layers["Convolution2d"], model)
    assert backend.create_workload(layers["Addition"], model) is not None


def test_sample_dynamic_backend_end_to_end(sample: Runtime) -> None:
    model = sample.load_model(addition(), backends=["SampleDynamic"])
    feeds = {"a": np.array([5, 3], np.float32), "b": np.array([10, 8], np.float32)}
    np.testing.assert_array_equal(model.run(feeds)["sum"], [15, 11])


def test_every_test_of_arm_nn_is_here() -> None:
    assert len(NAMES) == 38
    snake = [re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() for name in NAMES]
    here = [re.sub(r"_interface\d$", "_interface", name) for name in snake]
    assert not [name for name in here if f"test_{name}" not in globals()]
