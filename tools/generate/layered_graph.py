# SPDX-License-Identifier: MIT
"""Layered drawing of an acyclic graph, nodes below their targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from graphlib import TopologicalSorter
from itertools import pairwise

from tools.generate.svg import Box, Drawing, size_of

_GAP = 14
_ROW = 86
_MARGIN = 10
_BEND = 24
_SWEEPS = 40

Row = list[str]


def draw_graph(
    title: str, edges: Mapping[str, Set[str]], labels: Mapping[str, Sequence[str]], core: Set[str]
) -> Drawing:
    """Return a drawing with an arrow for each direct edge.

    Edges that others imply are left out.

    Args:
        title: What the picture shows.
        edges: The targets of each node; the graph is acyclic.
        labels: The lines in each node's box.
        core: The nodes that are drawn in the colour of the core.
    """
    direct = reduced(edges)
    ranks = ranks_of(direct)
    rows, links = _with_bends(direct, ranks)
    sizes = {node: size_of(labels[node]) for node in edges}
    widths = {node: sizes[node][0] if node in sizes else _BEND for row in rows for node in row}
    rows = _ordered(rows, links)
    centres = _centres(rows, links, widths)
    left = min(centres[node] - widths[node] / 2 for node in centres) - _MARGIN
    heights = [max((sizes[node][1] for node in row if node in sizes), default=0) for row in rows]
    middles = [_MARGIN + heights[0] / 2 + _ROW * number for number in range(len(rows))]
    boxes = {
        node: Box(centres[node] - left, middles[number], *sizes.get(node, (0, heights[number])))
        for number, row in enumerate(rows)
        for node in row
    }
    drawing = Drawing(title)
    for node, targets in direct.items():
        for target in sorted(targets):
            crossed = _between(ranks, node, target)
            bends = [boxes[_bend(node, target, rank)] for rank in crossed]
            drawing.arrow(
                [
                    boxes[node].side(_share(node, target, links, boxes), -1),
                    *(bend.side(0, down) for bend in bends for down in (1, -1)),
                    boxes[target].side(0, 1),
                ]
            )
    for node, lines in labels.items():
        drawing.box(boxes[node], lines, "core" if node in core else "")
    return drawing


def reduced(edges: Mapping[str, Set[str]]) -> dict[str, set[str]]:
    """Return the edges that no longer path implies.

    Raises:
        graphlib.CycleError: The graph has a circle, which the error names.
    """
    beyond: dict[str, set[str]] = {}
    for node in TopologicalSorter(edges).static_order():
        beyond[node] = set(edges[node]).union(*(beyond[target] for target in edges[node]))
    return {
        node: {target for target in targets if not any(target in beyond[each] for each in targets)}
        for node, targets in edges.items()
    }


def ranks_of(edges: Mapping[str, Set[str]]) -> dict[str, int]:
    """Return each node's row: 0 without targets, else below them."""
    ranks: dict[str, int] = {}
    for node in TopologicalSorter(edges).static_order():
        ranks[node] = 1 + max((ranks[target] for target in edges[node]), default=-1)
    return ranks


def _between(ranks: Mapping[str, int], node: str, target: str) -> range:
    return range(ranks[node] - 1, ranks[target], -1)


def _bend(node: str, target: str, rank: int) -> str:
    return f"{node} > {target} at {rank}"


def _with_bends(
    edges: Mapping[str, Set[str]], ranks: Mapping[str, int]
) -> tuple[list[Row], dict[str, set[str]]]:
    """Return rows and links, with bends in crossed rows."""
    rows: list[Row] = [[] for _ in range(1 + max(ranks.values()))]
    links: dict[str, set[str]] = {}
    for node in sorted(edges):
        rows[ranks[node]].append(node)
        for target in sorted(edges[node]):
            chain = [
                node,
                *(_bend(node, target, at) for at in _between(ranks, node, target)),
                target,
            ]
            for at, bend in zip(_between(ranks, node, target), chain[1:-1], strict=True):
                rows[at].append(bend)
            for one, other in pairwise(chain):
                links.setdefault(one, set()).add(other)
                links.setdefault(other, set()).add(one)
    return rows, links


def _ordered(rows: Sequence[Row], links: Mapping[str, Set[str]]) -> list[Row]:
    """Return the rows with few crossings, ordered by barycentres."""
    rows = [list(row) for row in rows]
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for number in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            beside = rows[number - 1] if down else rows[number + 1]
            place = {node: index / len(beside) for index, node in enumerate(beside)}

            def mean(node: str, place: Mapping[str, float] = place) -> float:
                known = [place[link] for link in links.get(node, ()) if link in place]
                return sum(known) / len(known) if known else 0.5

            rows[number].sort(key=mean)
    return rows


def _centres(
    rows: Sequence[Row], links: Mapping[str, Set[str]], widths: Mapping[str, float]
) -> dict[str, float]:
    """Return each node's x: near its links, without overlaps."""
    centres = {node: 0.0 for row in rows for node in row}
    for _ in range(_SWEEPS):
        for row in rows:
            wanted = [
                sum(centres[link] for link in links[node]) / len(links[node])
                if node in links
                else centres[node]
                for node in row
            ]
            apart = [(widths[one] + widths[other]) / 2 + _GAP for one, other in pairwise(row)]
            pushed = _pushed(wanted, apart)
            pulled = [-x for x in reversed(_pushed([-x for x in reversed(wanted)], apart[::-1]))]
            centres |= {
                node: (right + left) / 2
                for node, right, left in zip(row, pushed, pulled, strict=True)
            }
    return centres


def _pushed(wanted: Sequence[float], apart: Sequence[float]) -> list[float]:
    """Return places at or right of wanted ones, sufficiently apart."""
    places = [wanted[0]]
    for want, distance in zip(wanted[1:], apart, strict=True):
        places.append(max(want, places[-1] + distance))
    return places


def _share(
    node: str, target: str, links: Mapping[str, Set[str]], boxes: Mapping[str, Box]
) -> float:
    """Return an edge's place on a box, -1 to 1."""
    ups = sorted(
        (link for link in links[node] if boxes[link].y < boxes[node].y),
        key=lambda link: boxes[link].x,
    )
    first = next(link for link in ups if link == target or link.startswith(f"{node} > {target} at"))
    return (ups.index(first) + 1) / (len(ups) + 1) * 1.6 - 0.8
