# SPDX-License-Identifier: MIT
"""What the dynamic linker maps, each found beforehand.

The linker itself is the judge: a child process opens each file, and says what was mapped with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from armnn_backend_api.linker import LinkError
from armnn_dynamic_loader.files import needed_files

CHILD = """\
import ctypes, json, sys
def mapped():
    with open("/proc/self/maps") as maps:
        return {line.split(None, 5)[5].strip() for line in maps if "/" in line}
found = {}
for path in sys.argv[1:]:
    before = mapped()
    ctypes.CDLL(path)
    found[path] = sorted(mapped() - before - {path})
print(json.dumps(found))
"""


class Linker:
    """Links libraries without content, each in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        source, self._object = folder / "stub.c", folder / "stub.o"
        source.write_text("int stub;\n")
        subprocess.run(["gcc", "-c", "-fPIC", "-o", self._object, source], check=True)

    def link(self, place: str, *flags: str, needs: Sequence[Path] = ()) -> Path:
        """Link a library whose soname is its file name."""
        path = self.folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        named = ["ld", "-shared", "--no-as-needed", "--hash-style=both", f"-soname={path.name}"]
        read = map(str, (self._object, *needs))
        subprocess.run([*named, *flags, "-o", str(path), *read], check=True)
        return path


def by_runpath_not_by_the_rpath_of_its_user(linker: Linker) -> Path:
    for folder in ("one/a", "one/b"):
        deep = linker.link(f"{folder}/libdeep1.so")
    middle = linker.link("one/a/libmiddle1.so", "--enable-new-dtags", "-rpath=$ORIGIN/../b",
                         needs=[deep])  # fmt: skip
    return linker.link("one/Mock_A_backend.so", "--disable-new-dtags", "-rpath=$ORIGIN/a",
                       needs=[middle])  # fmt: skip


def by_the_rpath_of_its_user(linker: Linker) -> Path:
    deep = linker.link("two/a/libdeep2.so")
    middle = linker.link("two/a/libmiddle2.so", needs=[deep])
    return linker.link("two/Mock_A_backend.so", "--disable-new-dtags", "-rpath=${ORIGIN}/a",
                       needs=[middle])  # fmt: skip


def not_by_the_runpath_of_its_user(linker: Linker) -> Path:
    linker.link("three/a/libdeep3.so")
    deep = linker.link("given/libdeep3.so")
    middle = linker.link("three/a/libmiddle3.so", needs=[deep])
    return linker.link("three/Mock_A_backend.so", "--enable-new-dtags", "-rpath=$ORIGIN/a",
                       needs=[middle])  # fmt: skip


def by_a_relative_folder_of_the_variable(linker: Linker) -> Path:
    return linker.link("four/Mock_A_backend.so", needs=[linker.link("given/libhelp4.so")])


def in_the_working_directory(linker: Linker) -> Path:
    return linker.link("five/Mock_A_backend.so", needs=[linker.link("libhelp5.so")])


def as_a_filter_and_an_auxiliary(linker: Linker) -> Path:
    linker.link("six/libfiltered.so")
    linker.link("six/libauxiliary.so")
    help_ = linker.link("six/libhelp6.so", "-rpath=$ORIGIN", "-F", "libfiltered.so")
    return linker.link("six/Mock_A_backend.so", "-rpath=$ORIGIN", "-f", "libauxiliary.so",
                       needs=[help_])  # fmt: skip


def through_a_link(linker: Linker) -> Path:
    real = linker.link("seven/real/libhelp7.so.1.2", "-soname=libhelp7.so")
    (linker.folder / "seven/libhelp7.so").symlink_to(real)
    return linker.link("seven/Mock_A_backend.so", "-rpath=$ORIGIN", needs=[real])


def from_the_first_folder_of_this_machine(linker: Linker) -> Path:
    right = linker.link("eight/b/libhelp8.so")
    wrong = linker.folder / "eight/a/libhelp8.so"
    wrong.parent.mkdir()
    content = bytearray(right.read_bytes())
    content[18] = 0xF3  # e_machine: RISC-V
    wrong.write_bytes(content)
    return linker.link("eight/Mock_A_backend.so", "-rpath=$ORIGIN/a:$ORIGIN/b", needs=[right])


def by_an_absolute_path(linker: Linker) -> Path:
    path = linker.folder / "nine/libhelp9.so"
    return linker.link("nine/Mock_A_backend.so",
                       needs=[linker.link("nine/libhelp9.so", f"-soname={path}")])  # fmt: skip


def twice_under_one_name(linker: Linker) -> Path:
    linker.link("ten/b/libhelp10.so")
    first = linker.link("ten/a/libhelp10.so")
    middle = linker.link("ten/a/libmiddle10.so", "-rpath=$ORIGIN/../b", needs=[first])
    return linker.link("ten/Mock_A_backend.so", "-rpath=$ORIGIN/a", needs=[first, middle])


def as_a_variant_for_the_processor(linker: Linker) -> Path:
    plain = linker.link("eleven/libhelp11.so")
    for level in ("v2", "v3", "v4"):
        linker.link(f"eleven/glibc-hwcaps/x86-64-{level}/libhelp11.so")
    return linker.link("eleven/Mock_A_backend.so", "-rpath=$ORIGIN", needs=[plain])


def as_an_old_variant(linker: Linker) -> Path:
    plain = linker.link("twelve/libhelp12.so")
    linker.link("twelve/haswell/x86_64/libhelp12.so")
    return linker.link("twelve/Mock_A_backend.so", "-rpath=$ORIGIN", needs=[plain])


FOUND: list[Callable[[Linker], Path]] = [
    by_runpath_not_by_the_rpath_of_its_user,
    by_the_rpath_of_its_user,
    not_by_the_runpath_of_its_user,
    by_a_relative_folder_of_the_variable,
    in_the_working_directory,
    as_a_filter_and_an_auxiliary,
    through_a_link,
    from_the_first_folder_of_this_machine,
    by_an_absolute_path,
    twice_under_one_name,
]
VARIANTS = [as_a_variant_for_the_processor, as_an_old_variant]
"""Where all that may be mapped are found, as the processor decides."""

Mapped = tuple[dict[str, set[str]], dict[str, set[str]]]


@pytest.fixture(scope="module")
def linker(tmp_path_factory: pytest.TempPathFactory) -> Linker:
    folder = tmp_path_factory.mktemp("mapped")
    folder.chmod(0o755)
    return Linker(folder)


@pytest.fixture(scope="module")
def both(linker: Linker) -> Mapped:
    """Return mapped and found libraries, by file."""
    paths = {build.__name__: str(build(linker)) for build in (*FOUND, *VARIANTS)}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(linker.folder)
        patch.setenv("LD_LIBRARY_PATH", "given:")
        ran = subprocess.run(
            [sys.executable, "-S", "-c", CHILD, *paths.values()],
            capture_output=True, text=True, check=True, env=os.environ,
        )  # fmt: skip
        found = {name: {each.path for each in needed_files(path)} for name, path in paths.items()}
    mapped = json.loads(ran.stdout)
    return {name: set(mapped[path]) for name, path in paths.items()}, found


@pytest.mark.parametrize("name", [build.__name__ for build in FOUND])
def test_each_library_that_the_linker_maps_is_found(both: Mapped, name: str) -> None:
    mapped, found = both
    assert mapped[name]
    assert found[name] == mapped[name]


@pytest.mark.parametrize("name", [build.__name__ for build in VARIANTS])
def test_each_variant_that_the_linker_may_map_is_found(both: Mapped, name: str) -> None:
    mapped, found = both
    assert mapped[name] <= found[name]
    assert len(found[name]) > 1


@pytest.mark.parametrize("folder", ["$ORIGIN/$LIB", "/opt/${PLATFORM}/lib"])
def test_a_folder_that_depends_on_the_machine_is_refused(linker: Linker, folder: str) -> None:
    help_ = linker.link("token/libhelp.so")
    path = linker.link("token/Mock_A_backend.so", f"-rpath={folder}", needs=[help_])
    with pytest.raises(LinkError, match=r"depends on the machine: only \$ORIGIN is known"):
        needed_files(str(path))


def test_more_libraries_than_are_examined_are_refused(
    linker: Linker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armnn_backend_api.linker._MOST", 2)
    needs = [linker.link(f"many/libhelp{number}.so") for number in range(3)]
    path = linker.link("many/Mock_A_backend.so", "-rpath=$ORIGIN", needs=needs)
    with pytest.raises(LinkError, match="is linked with more than 2 libraries"):
        needed_files(str(path))
