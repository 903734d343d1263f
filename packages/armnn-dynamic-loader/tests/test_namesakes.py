# SPDX-License-Identifier: MIT
"""Libraries of one name in two files: none of them computes with the other's.

The process of the tests keeps what it maps, so each test has names of its own.
"""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from compiling import gcc

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.errors import BackendUnavailableError

if TYPE_CHECKING:
    from armnn.backends import BackendEntry

Link = Callable[..., Path]
NOTE = '-DNOTE="{{\\"id\\":\\"{0}\\",\\"api\\":\\"1.0\\"}}"'


class Vendors:
    """A runtime on the folders of several backends."""

    def __init__(self, patch: pytest.MonkeyPatch, paths: Sequence[Path], **options: object) -> None:
        folders = ":".join(str(path.parent) for path in paths)
        patch.setenv("ARMNN_DYNAMIC_BACKENDS_PATH", folders)
        self.runtime = Runtime(CreationOptions(**options))  # type: ignore[arg-type] # any of them

    def entry(self, backend_id: str) -> BackendEntry:
        (found,) = (each for each in self.runtime.registry.entries() if each.id == backend_id)
        return found

    def isolated(self) -> list[str]:
        return [each.id for each in self.runtime.registry.entries() if each.isolation]

    def answer(self, backend_id: str) -> float:
        """Return the number that the helper of a backend answers."""
        network = Network("sum")
        x = network.add_input("x", TensorInfo((7,)))
        network.add_output("y", network.add_addition(x, x))
        model = self.runtime.load_model(network, [backend_id])
        (value,) = set(model.run({"x": np.zeros(7, np.float32)})["y"].tolist())
        return float(value)


@pytest.mark.parametrize(
    ("order", "tags"),
    [
        ("123", "--enable-new-dtags"),  # RUNPATH
        ("321", "--enable-new-dtags"),
        ("231", "--disable-new-dtags"),  # RPATH
    ],
)
def test_each_of_three_vendors_computes_with_its_own_library(
    link: Link, monkeypatch: pytest.MonkeyPatch, order: str, tags: str
) -> None:
    name = f"Own{order}"
    paths = [
        link(f"{name}N{n}", f"-Wl,{tags}", helper=f"lib{name}.so", number=int(n)) for n in "123"
    ]
    vendors = Vendors(monkeypatch, paths)
    assert vendors.isolated() == [f"{name}N2", f"{name}N3"]
    assert [vendors.answer(f"{name}N{n}") for n in order] == list(map(float, order))
    said = vendors.entry(f"{name}N2").isolation
    assert all(repr(str(path.parent / "lib" / f"lib{name}.so")) in said for path in paths[:2])


def test_one_library_reached_by_a_link_or_as_a_copy_is_shared(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [link(f"Shared{n}", helper="libshared.so") for n in "ABC"]
    first, second, third = (path.parent / "lib" / "libshared.so" for path in paths)
    second.unlink()
    second.symlink_to(first)
    shutil.copyfile(first, third)
    vendors = Vendors(monkeypatch, paths)
    assert vendors.isolated() == []
    assert [vendors.answer(f"Shared{n}") for n in "ABC"] == [1, 1, 1]


def test_the_name_of_a_backend_file_counts_as_well(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = link("NamedA", "-Wl,-soname,libnamed.so", helper="libinner.so", number=1)
    second = link("NamedB", helper="libnamed.so", number=2)
    vendors = Vendors(monkeypatch, [first, second])
    assert vendors.isolated() == ["NamedB"]
    assert [vendors.answer("NamedA"), vendors.answer("NamedB")] == [1, 2]


def test_two_backend_files_of_one_name_that_nobody_is_linked_with_stay_here(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [
        link(f"Same{n}", "-Wl,-soname,libsame.so", helper=f"libsame{n}.so", number=n)
        for n in (1, 2)
    ]
    vendors = Vendors(monkeypatch, paths)
    assert vendors.isolated() == []
    assert [vendors.answer("Same1"), vendors.answer("Same2")] == [1, 2]


def test_a_library_of_the_process_isolates_a_file_that_brings_another(
    link: Link, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = link("PackageA", helper="libpackage.so", number=1)
    ctypes.CDLL(str(package.parent / "lib" / "libpackage.so"))
    second = link("PackageB", helper="libpackage.so", number=2)
    vendors = Vendors(monkeypatch, [second], probe="twice")
    assert "this process has" in vendors.entry("PackageB").isolation
    assert vendors.answer("PackageB") == 2


def test_a_library_that_is_mapped_after_the_scan_refuses_the_file(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, second = (link(f"Later{n}", helper="liblater.so") for n in "AB")
    (package.parent / "lib" / "liblater.so").unlink()
    gcc("-o", package.parent / "lib" / "liblater.so", "-Wl,-soname,liblater.so", "-x", "c",
        "/dev/null")  # fmt: skip
    vendors = Vendors(monkeypatch, [second])
    assert vendors.isolated() == []
    ctypes.CDLL(str(package.parent / "lib" / "liblater.so"))
    with pytest.raises(BackendUnavailableError) as caught:
        vendors.answer("LaterB")
    for path in (package, second):
        assert repr(str(path.parent / "lib" / "liblater.so")) in str(caught.value)
    assert vendors.entry("LaterB").stage == "linked"
    assert Vendors(monkeypatch, [second]).answer("LaterB") == 1  # as it says: isolated


def test_a_library_of_the_system_is_not_replaced_by_a_bundled_one(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = link("SystemA", helper="libanl.so.1", number=1)
    second = link("SystemB", "-Wl,--no-as-needed", "-l:libanl.so.1", helper="libsystem.so",
                  number=2)  # fmt: skip
    vendors = Vendors(monkeypatch, [first, second])
    assert vendors.isolated() == ["SystemB"]
    assert [vendors.answer("SystemA"), vendors.answer("SystemB")] == [1, 2]


def test_a_bundled_copy_of_a_library_of_the_system_gives_way_to_the_mapped_one(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = link("Bundle", "-Wl,--no-as-needed", "-l:libgcc_s.so.1", helper="libbundle.so", number=3)
    with open("/proc/self/maps") as maps:  # NumPy is linked with it
        (mapped, *_) = (line.split()[5] for line in maps if "/libgcc_s.so.1" in line)
    copy = path.parent / "lib" / "libgcc_s.so.1"
    copy.write_bytes(Path(mapped).read_bytes() + b"another build")
    vendors = Vendors(monkeypatch, [path])
    assert vendors.isolated() == []
    assert vendors.answer("Bundle") == 3


@pytest.mark.parametrize("has_note", [True, False])
def test_without_a_probe_the_second_is_isolated_or_refused(
    link: Link, monkeypatch: pytest.MonkeyPatch, has_note: bool
) -> None:
    prefix = "Noted" if has_note else "Bare"
    paths = [
        link(
            f"{prefix}{n}",
            *([NOTE.format(f"{prefix}{n}")] if has_note else ()),
            helper=f"lib{prefix}.so",
            number=n,
        )
        for n in (1, 2)
    ]
    vendors = Vendors(monkeypatch, paths, probe="off")
    assert vendors.answer(f"{prefix}1") == 1
    if has_note:
        assert vendors.answer(f"{prefix}2") == 2
        return
    (refused,) = (e for e in vendors.runtime.registry.entries() if e.origin == str(paths[1]))
    assert refused.stage == "linked"
    assert all(str(path.parent / "lib" / "libBare.so") in refused.reason for path in paths)


def test_a_file_that_the_user_isolates_is_in_nobodys_way(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [link(f"Wish{n}", helper="libwish.so", number=n) for n in (1, 2)]
    vendors = Vendors(monkeypatch, paths, isolate=["Wish1"])
    assert vendors.isolated() == []
    assert [vendors.answer("Wish1"), vendors.answer("Wish2")] == [1, 2]
