# SPDX-License-Identifier: MIT
"""The drawings of the pages: their graph and separate boxes."""

from __future__ import annotations

import re
from graphlib import CycleError
from itertools import combinations
from pathlib import Path

import pytest

from tools.generate.layered_graph import draw_graph, ranks_of, reduced

REPOSITORY = Path(__file__).resolve().parents[1]
DRAWINGS = [
    *(REPOSITORY / "docs" / name for name in ("imports.svg", "way.svg")),
    REPOSITORY / "packages/armnn-backend-neon/docs/way.svg",
]
DIAMOND = {"base": set(), "left": {"base"}, "right": {"base"}, "top": {"left", "right", "base"}}

Rectangle = tuple[float, float, float, float]


def rectangles(svg: str) -> list[Rectangle]:
    """Return the boxes' x, y, width and height, without frames."""
    found = re.findall(
        r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"(?! class="frame")', svg
    )
    return [(float(x), float(y), float(width), float(height)) for x, y, width, height in found]


def overlap(one: Rectangle, other: Rectangle) -> bool:
    apart = zip(one[:2], one[2:], other[:2], other[2:], strict=True)
    return all(a < b + long and b < a + high for a, high, b, long in apart)


def test_an_edge_that_a_path_implies_is_left_out() -> None:
    assert reduced(DIAMOND) == {**DIAMOND, "top": {"left", "right"}}


def test_a_circle_is_named() -> None:
    with pytest.raises(CycleError, match=r"one.*other.*one"):
        reduced({"one": {"other"}, "other": {"one"}})


def test_a_node_is_below_all_of_its_targets() -> None:
    assert ranks_of({**DIAMOND, "side": {"base"}, "last": {"top", "side"}}) == {
        **dict.fromkeys(("left", "right", "side"), 1),
        "base": 0,
        "top": 2,
        "last": 3,
    }


def test_a_graph_has_a_box_for_each_node_and_an_arrow_for_each_direct_edge() -> None:
    svg = str(draw_graph("a diamond", DIAMOND, {name: [name] for name in DIAMOND}, {"base"}))
    assert len(rectangles(svg)) == 4
    assert svg.count('class="core"') == 1
    assert svg.count('class="head"') == 4
    assert "<title>a diamond</title>" in svg


@pytest.mark.parametrize("path", DRAWINGS, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_boxes_do_not_overlap(path: Path) -> None:
    boxes = rectangles(path.read_text())
    assert len(boxes) > 5
    assert [pair for pair in combinations(boxes, 2) if overlap(*pair)] == []


def test_every_distribution_and_part_of_the_core_is_in_the_import_graph() -> None:
    svg = (REPOSITORY / "docs/imports.svg").read_text()
    core = REPOSITORY / "packages/armnn-core/src/armnn"
    parts = [path.parent.name for path in core.glob("*/__init__.py")]
    folders = [path.parent.name for path in REPOSITORY.glob("packages/*/pyproject.toml")]
    expected = [*parts, *(folder for folder in folders if folder != "armnn-core")]
    assert [name for name in expected if f">{name}</text>" not in svg] == []
