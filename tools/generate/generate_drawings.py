# SPDX-License-Identifier: MIT
"""Write the drawings of the pages; ``--check`` fails if stale.

docs/imports.svg is the import graph of the sources, docs/way.svg the way of a model through the
distributions by their entry points, and CpuAcc's page has the way of the data through ``cpp/``.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

from tools import ROOT
from tools.generate.layered_graph import draw_graph
from tools.generate.svg import Box, Drawing

PACKAGES = ROOT / "packages"
CORE = PACKAGES / "armnn-core" / "src" / "armnn"
CPUACC = PACKAGES / "armnn-backend-neon"
VALUES = "armnn values"


def main() -> int:
    """Write or check the drawings; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a file is stale")
    check = parser.parse_args().check
    stale = [path for path, text in drawings().items() if _read(path) != text]
    for path in stale:
        if check:
            print(
                f"{path} is stale: run python -m tools.generate.generate_drawings", file=sys.stderr
            )
        else:
            path.write_text(drawings()[path], encoding="utf-8")
            print(f"wrote {path}")
    return 1 if check and stale else 0


def drawings() -> dict[Path, str]:
    """Return the text of each drawing."""
    return {
        ROOT / "docs" / "imports.svg": str(import_graph()),
        ROOT / "docs" / "way.svg": str(way_of_a_model()),
        CPUACC / "docs" / "way.svg": str(way_of_the_data()),
    }


def import_graph() -> Drawing:
    """Return the parts of the core and the other distributions."""
    edges: dict[str, set[str]] = {}
    for package in sorted(PACKAGES.glob("*/src/*/__init__.py")):
        for path in package.parent.rglob("*.py"):
            module = ".".join(path.relative_to(package.parents[1]).with_suffix("").parts)
            if (part := _part_of(module.removesuffix(".__init__"))) is not None:
                targets = {_part_of(name) for name in _imported(path)} - {part, None}
                edges.setdefault(part, set()).update(target for target in targets if target)
    labels = {part: _label(part) for part in edges}
    core = {part for part in edges if part.startswith("armnn.") or part == VALUES}
    return draw_graph("Which part imports which", edges, labels, core)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _part_of(module: str) -> str | None:
    """Return a module's node, None for armnn itself and strangers."""
    package, _, rest = module.partition(".")
    if package != CORE.name:
        return package if (PACKAGES / package.replace("_", "-")).is_dir() else None
    name = rest.partition(".")[0]
    if name in _values():
        return VALUES
    is_part = (CORE / name / "__init__.py").exists() or (CORE / f"{name}.py").exists()
    return f"{package}.{name}" if is_part and name not in ("", "__init__", "__main__") else None


@cache
def _values() -> frozenset[str]:
    """Return the modules beside the folders that import no folder."""
    folders = {path.parent.name for path in CORE.glob("*/__init__.py")}
    imports = {
        path.stem: {name.split(".")[1] for name in _imported(path) if name.startswith("armnn.")}
        for path in CORE.glob("*.py")
    }
    return frozenset(name for name, used in imports.items() if not used & folders)


def _label(part: str) -> list[str]:
    if part == VALUES:
        return ["values", " ".join(name for name in sorted(_values()) if name.isalpha())]
    if part.startswith("armnn."):
        return [part.removeprefix("armnn.")]
    distribution = part.replace("_", "-")
    return [distribution, *_entry_points(distribution).values()]


def _entry_points(distribution: str) -> dict[str, str]:
    """Return the names that a distribution enters, by group."""
    text = (PACKAGES / distribution / "pyproject.toml").read_text(encoding="utf-8")
    groups = tomllib.loads(text)["project"].get("entry-points", {})
    return {group: " ".join(names) for group, names in groups.items() if group.startswith("armnn.")}


def _entered(group: str) -> list[tuple[str, str]]:
    """Return the distributions with a group's entry points, with names."""
    folders = sorted(path.parent.name for path in PACKAGES.glob("*/pyproject.toml"))
    found = ((folder, _entry_points(folder).get(group, "")) for folder in folders)
    return [(folder, names) for folder, names in found if names]


def way_of_a_model() -> Drawing:
    """Return a model's way: parser, network, optimizer, backends, results."""
    drawing = Drawing("The way of a model: parse, optimise, run")
    parsers = _entered("armnn.parsers")
    backends = [(name, [ids, name]) for name, ids in _entered("armnn.backends")]
    backends += [(name, ["files *.so", name]) for name, _ in _entered("armnn.backend_sources")]
    middle = 30 + 31 * len(backends)
    steps = {
        name: Box(440, middle + offset, 200, 46)
        for name, offset in (("network", -95), ("optimizer", 0), ("runtime", 95))
    }
    drawing.frame(Box(440, middle, 240, 290), "armnn-core")
    texts = {
        "network": ["Network", "layers and values"],
        "optimizer": ["optimize", "passes, then a backend per layer"],
        "runtime": ["run", "plan, memory, steps"],
    }
    for name, lines in texts.items():
        drawing.box(steps[name], lines, "core")
    drawing.arrow([steps["network"].side(0, 1), steps["optimizer"].side(0, -1)])
    drawing.arrow([steps["optimizer"].side(0, 1), steps["runtime"].side(0, -1)])
    for number, (name, suffixes) in enumerate(parsers):
        file = Box(60, middle - 125 + 50 * number, 100, 30)
        parser = Box(220, file.y, 150, 30)
        every = suffixes.split()
        usual = name.rpartition("-")[2]  # armnn-parser-onnx reads text formats, too
        drawing.box(file, [f"model.{usual if usual in every else every[0]}"])
        drawing.box(parser, [name])
        drawing.arrow([file.side(1, 0), parser.side(-1, 0)], sideways=True)
        drawing.arrow([parser.side(1, 0), steps["network"].side(-1, 0)], sideways=True)
    built = Box(220, middle - 120 + 50 * len(parsers), 150, 46)
    drawing.box(built, ["Network.add_...", "built layer by layer"])
    drawing.arrow([built.side(1, 0), steps["network"].side(-1, 0)], sideways=True)
    result = Box(220, steps["runtime"].y, 150, 46)
    drawing.box(result, ["outputs", "and the report"])
    drawing.arrow([steps["runtime"].side(-1, 0), result.side(1, 0)], sideways=True)
    for number, (_, lines) in enumerate(backends):
        box = Box(720, 30 + 62 * number, 190, 46)
        drawing.box(box, lines)
        for name in ("optimizer", "runtime"):
            drawing.arrow([steps[name].side(1, 0), box.side(-1, 0)], sideways=True)
    return drawing


def way_of_the_data() -> Drawing:
    """Return CpuAcc's two ways: compile once, execute per call."""
    compiling = [
        ("abi", "the host's graph as", "values and layers"),
        ("layers", "operations of a layer,", "or a refusal"),
        ("passes", "fusion, chains,", "storage types"),
        ("operations", "prepare: choose a", "kernel, pack weights"),
        ("graph", "places in the arena:", "the program"),
    ]
    executing = [
        ("abi", "pointers of inputs", "and outputs"),
        ("graph", "the program's steps", "in order"),
        ("operations", "run: tiles and", "rows of a step"),
        ("threads", "shares of a step", "for each thread"),
        ("kernels", "loops of one level", "over plain memory"),
    ]
    drawing = Drawing("The way of the data through CpuAcc")
    for y, title, steps in (
        (85, "compile, once", compiling),
        (235, "execute, each call", executing),
    ):
        drawing.frame(Box(425, y, 840, 124), title)
        boxes = [Box(90 + 167 * number, y + 14, 142, 62) for number in range(len(steps))]
        for box, (room, *lines) in zip(boxes, steps, strict=True):
            if not (CPUACC / "cpp" / room).is_dir():
                raise FileNotFoundError(f"cpp/{room} does not exist: draw the way as it is now")
            drawing.box(box, [room, *lines], "core")
        for one, other in pairwise(boxes):
            drawing.arrow([one.side(1, 0), other.side(-1, 0)], sideways=True)
    program, steps_of_it = Box(90 + 167 * 4, 99, 142, 62), Box(90 + 167, 249, 142, 62)
    drawing.arrow([program.side(0, 1), steps_of_it.side(0, -1)])
    return drawing


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
