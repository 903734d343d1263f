# SPDX-License-Identifier: MIT
"""Order of includes in cpp/, and families of cpp/layers."""

from __future__ import annotations

import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from armnn.layers import LAYERS

CPP = Path(__file__).resolve().parents[1] / "cpp"
SOURCES = [path for path in sorted(CPP.rglob("*.*")) if path.suffix in (".h", ".cpp")]

ORDER = ["abi", "layers", "passes", "operations", "graph", "kernels", "threads", "costs"]
"""A folder includes those behind it, never one before it."""
MADE = {"build.h", "levels_table.h"}
"""By the build, in its own folder."""
OPERATIONS = {
    *("attention", "convolution", "copy", "depthwise", "gemm", "pointwise", "quantised"),
    *("recurrent", "reduction", "storage", "winograd"),
}
FAMILIES = {spec.name: spec.family for spec in LAYERS.values()}
FAMILY_OF_MACRO = {name.casefold(): family for name, family in FAMILIES.items()}


def includes(text: str) -> list[str]:
    """Return the files of cpp/ that a source includes."""
    names = re.findall(r'^#include "([^"]+)"', text, re.MULTILINE)
    return [name for name in names if not name.startswith("armnn/") and name not in MADE]


def folder_of(source: str) -> str:
    """Return the folder of a path; kernels/ is one room."""
    folder = str(Path(source).parent)
    return "kernels" if folder.startswith("kernels/") else folder


def arrows(texts: dict[str, str]) -> dict[str, set[str]]:
    """Return the folders that each folder's sources include."""
    found: dict[str, set[str]] = defaultdict(set)
    for source, text in texts.items():
        folder = folder_of(source)
        found[folder] |= {folder_of(name) for name in includes(text)} - {folder}
    return found


def upward(folders: dict[str, set[str]]) -> list[str]:
    """Return the arrows that point against ORDER."""
    rank = {name: place for place, name in enumerate(ORDER)}
    return [
        f"{folder} includes {other}"
        for folder, others in folders.items()
        for other in sorted(others)
        if rank[other.partition("/")[0]] < rank[folder.partition("/")[0]]
    ]


def registered(text: str) -> list[str]:
    """Return the layer types that a family's list names."""
    return re.findall(r"^ *\{ARMNN_LAYER_(\w+),", text, re.MULTILINE)


def family_of(macro: str) -> str:
    """Return a layer type's family by its macro's name."""
    return FAMILY_OF_MACRO[macro.replace("_", "").casefold()]


TEXTS = {str(path.relative_to(CPP)): path.read_text() for path in SOURCES}
FOLDERS = arrows(TEXTS)


def test_every_folder_has_its_place() -> None:
    assert {path.name for path in CPP.iterdir() if path.is_dir()} == set(ORDER)
    assert {path.name for path in (CPP / "operations").iterdir() if path.is_dir()} == OPERATIONS


def test_includes_name_files_by_their_place() -> None:
    missing = [
        f"{path.relative_to(CPP)} includes {name}"
        for path in SOURCES
        for name in includes(path.read_text())
        if not (CPP / name).exists()
    ]
    assert missing == []


def test_arrows_between_folders_point_down() -> None:
    assert upward(FOLDERS) == []


def test_there_is_no_circle_between_files() -> None:
    order = [
        *TopologicalSorter({name: includes(text) for name, text in TEXTS.items()}).static_order()
    ]
    assert order.index("kernels/vector.h") < order.index("kernels/int8/gemm.cpp")


def test_there_is_no_circle_between_folders() -> None:
    order = [*TopologicalSorter(FOLDERS).static_order()]  # raises CycleError
    assert order.index("operations/gemm") < order.index("layers/lowering") < order.index("layers")


def test_only_abi_sees_the_structs_of_the_host() -> None:
    host = re.compile(r"\barmnn_(?:graph|node|value|attribute|host)\b")
    seen = {path.relative_to(CPP).parts[0] for path in SOURCES if host.search(path.read_text())}
    assert seen == {"abi"}


def test_an_arrow_that_points_up_and_a_circle_are_found() -> None:
    up = arrows({"graph/a.h": '#include "operations/gemm/gemm.h"\n#include "graph/b.h"\n'})
    assert upward(up) == ["graph includes operations/gemm"]
    circle = {"operations/x/a.h": '#include "operations/y/b.h"\n'}
    circle["operations/y/b.cpp"] = '#include "operations/x/a.h"\n'
    with pytest.raises(CycleError):
        [*TopologicalSorter(arrows(circle)).static_order()]


def test_the_files_of_layers_are_families_of_the_layer_table() -> None:
    names = {path.stem for path in (CPP / "layers").iterdir() if path.is_file()}
    assert names <= set(FAMILIES.values())
    assert len(names) > 10


def test_each_layer_type_is_registered_once_in_the_file_of_its_family() -> None:
    places = [
        (macro, path.stem)
        for path in sorted((CPP / "layers").glob("*.cpp"))
        for macro in registered(path.read_text())
    ]
    assert [(macro, file) for macro, file in places if family_of(macro) != file] == []
    assert len({macro for macro, _ in places}) == len(places) > 50
    elsewhere = [path for path in SOURCES if path.parent != CPP / "layers"]
    assert [path.name for path in elsewhere if registered(path.read_text())] == []


def test_a_registered_layer_is_found() -> None:
    assert registered("      {ARMNN_LAYER_TOP_K, lower_top_k},\n") == ["TOP_K"]
    assert registered("  if (layer.type == ARMNN_LAYER_CAST) {") == []
    assert family_of("DEPTHWISE_CONVOLUTION2D") == "convolution"
