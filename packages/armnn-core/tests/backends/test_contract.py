# SPDX-License-Identifier: MIT
"""The golden file of the Backend API, script and page."""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
import re
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import generate_contract as tool
import pytest

import armnn.backends

if TYPE_CHECKING:
    from collections.abc import Mapping

REPOSITORY = Path(__file__).resolve().parents[4]
PAGE = (REPOSITORY / "docs" / "backend-api.md").read_text(encoding="utf-8")
# The methods of the interface in Arm NN 26.07, 23.08 and 20.08, from their headers.
BACKEND_METHODS = """
    GetId CreateMemoryManager CreateWorkloadFactory CreateBackendContext
    CreateBackendSpecificModelContext CreateBackendProfilingContext GetLayerSupport
    OptimizeSubgraphView SupportsTensorAllocatorAPI GetBackwardCompatibleFavoriteHandleFactory
    GetHandleFactoryPreferences RegisterTensorHandleFactories GetApiVersion GetCapabilities
    UseCustomMemoryAllocator GetDefaultAllocator GetNumberOfCacheFiles CreateExecutionData
    UpdateExecutionData CreateSubGraphConverter GetOptimizations OptimizeSubGraph
"""


def test_the_golden_file_is_the_contract_as_it_is() -> None:
    path = tool.FOLDER / f"python-{armnn.backends.BACKEND_API_VERSION}.json"
    assert tool.update(path, tool.contract(), check=True) == ""


def test_every_public_name_is_in_the_golden_file() -> None:
    rows = tool.contract()
    assert set(armnn.backends.__all__) <= set(rows)
    assert rows["Backend"]["methods"]["supports"] == (
        "abstract (self, layer: Layer, model: ModelContext) -> Support"
    )
    assert rows["DataType"]["members"]["QASYMM_S8"] == 7
    assert "plan_limit: int = 16" in rows["CreationOptions"]["fields"]


def names_of(minor: int) -> set[str]:
    """Return the names in the golden file of a version."""
    rows = json.loads((tool.FOLDER / f"python-1.{minor}.json").read_text())["contract"]
    names = set(rows)
    for owner, row in rows.items():
        for listed in ("fields", "methods", "attributes", "members"):
            names |= {
                f"{owner}.{re.match(r'_*[A-Za-z0-9_]+', each)[0]}" for each in row.get(listed, ())
            }
    return names


@pytest.mark.parametrize("minor", range(1, armnn.backends.BACKEND_API_VERSION.minor + 1))
def test_the_page_lists_what_a_version_added(minor: int) -> None:
    (row,) = re.findall(rf"^\| 1\.{minor} \| (.*) \|$", PAGE, re.MULTILINE)
    written = set(re.findall(r"`(?:armnn\.types\.)?([^`]+)`", row))
    added = names_of(minor) - names_of(minor - 1)
    missing = []
    for name in sorted(added):
        owner, _, member = name.partition(".")
        if not (name in written or {owner, member} <= written or (member and owner in added)):
            missing.append(name)
    assert missing == [], f"docs/backend-api.md does not list them in the row {minor}"


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: int = 2
    _hidden: int = 3
    tags: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def norm(self) -> float: ...
    def _private(self) -> None: ...


class Shape(ABC):
    sides: ClassVar[int] = 3
    name: str

    @abstractmethod
    def area(self, *, scale: float = 1.0) -> float: ...
    @classmethod
    def unit(cls) -> Shape:
        return cls()

    @property
    def center(self) -> Point:
        return Point(0)

    def __len__(self) -> int:
        return self.sides

    def __hash__(self) -> int:
        return self.sides


@pytest.mark.parametrize(
    ("found", "row"),
    [
        (Color, {"kind": "enumeration", "bases": ["Enum"], "members": {"RED": "red"}}),
        (Point, {
            "kind": "dataclass", "bases": ["object"], "frozen": True,
            "fields": ["x: int", "y: int = 2", "_hidden: int = 3", "tags: Mapping[str, int] = {}"],
            "methods": {"norm": "(self) -> float"},
        }),
        (Shape, {
            "kind": "class", "bases": ["ABC"],
            "attributes": {"sides": "ClassVar[int] = 3", "name": "str"},
            "methods": {
                "area": "abstract (self, *, scale: float = 1.0) -> float",
                "unit": "classmethod (cls) -> Shape",
                "center": "property -> Point",
                "__len__": "(self) -> int",
            },
        }),
        (test_the_golden_file_is_the_contract_as_it_is,
         {"kind": "function", "signature": "() -> None"}),
        (64, {"kind": "value", "is": "64"}),
    ],
)  # fmt: skip
def test_a_row_holds_what_a_caller_relies_on(found: Any, row: object) -> None:
    assert tool.describe(found) == row


def test_a_change_is_found_named_and_accepted_while_unreleased(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "contract" / "python-1.0.json"
    old = {"A": {"kind": "value", "is": "1"}, "B": {"kind": "value", "is": "2"}}
    new = {"A": {"kind": "value", "is": "1"}, "C": {"kind": "value", "is": "3"}}
    command = "python packages/armnn-core/tools/generate_contract.py"
    assert f"is stale in A, B: run {command}" in tool.update(path, old, check=True)
    assert not path.exists()
    assert tool.update(path, old, check=False) == ""
    assert json.loads(path.read_text())["released"] is False
    assert "is stale in B, C: " in tool.update(path, new, check=True)
    assert tool.update(path, new, check=False) == ""
    assert tool.update(path, new, check=True) == ""
    assert "wrote " in capsys.readouterr().out


def test_a_released_contract_is_never_written_again(tmp_path: Path) -> None:
    path = tmp_path / "python-1.0.json"
    text = json.dumps({"released": True, "contract": {"A": 1}})
    path.write_text(text)
    for check in (True, False):
        problem = tool.update(path, {"A": 2}, check=check)
        assert problem == (
            "python-1.0.json is released and the contract differs in A: undo that, or raise the "
            "version of armnn-backend-api."
        )
    assert path.read_text() == text
    assert tool.update(path, {"A": 1}, check=True) == ""


def the_contract(**changes: dict[str, Any]) -> dict[str, Any]:
    point = {"kind": "dataclass", "frozen": True, "fields": ["x: int", "y: int = 2"]}
    plan = {"kind": "class", "bases": ["ABC"], "methods": {"run": "(self, x: int) -> int"}}
    color = {"kind": "enumeration", "members": {"RED": 1}}
    rows = {"Point": point, "Plan": plan, "Color": color}
    return {name: {**row, **changes.get(name, {})} for name, row in rows.items()}


@pytest.mark.parametrize(
    "changes",
    [
        {"Point": {"fields": ["x: int", "y: int = 2", "z: int = 3"]}},
        {"Plan": {"methods": {"run": "(self, x: int, y: int = 1) -> int", "stop": "(self)"}}},
        {"Color": {"members": {"RED": 1, "BLUE": 2}}},
    ],
)
def test_a_minor_version_adds(changes: Any) -> None:
    assert tool.breaks(the_contract(), {**the_contract(**changes), "New": {}}) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"Point": {"fields": ["x: int", "y: int = 2", "z: int"]}},
            "has fields that differ or",
        ),
        (
            {"Point": {"fields": ["y: int = 2", "x: int"]}},
            "has fields that differ or",
        ),
        ({"Point": {"frozen": False}}, "is False, it was True"),
        ({"Plan": {"methods": {}}}, "has 'run' as None, it was "),
        ({"Plan": {"methods": {"run": "(self, x: int, y: int) -> int"}}}, "has 'run' as "),
        ({"Plan": {"methods": {"run": "(self, x: int) -> str"}}}, "has 'run' as "),
        (
            {"Plan": {"methods": {"run": "(self, x: int) -> int", "go": "abstract (self)"}}},
            "has the new abstract method 'go', which older backends lack",
        ),
        ({"Color": {"members": {"RED": 2}}}, "has 'RED' as 2, it was 1"),
    ],
)
def test_a_minor_version_takes_nothing_away(changes: Any, problem: str) -> None:
    (name,) = changes
    (found,) = tool.breaks(the_contract(), the_contract(**changes))
    assert found.startswith(f"{name} {problem}")
    assert tool.breaks(the_contract(), {}) == [f"{name} is gone" for name in the_contract()]


def test_the_order_of_fields_is_part_of_the_contract() -> None:
    swapped = dataclasses.make_dataclass("Point", [("y", "int"), ("x", "int")])
    straight = dataclasses.make_dataclass("Point", [("x", "int"), ("y", "int")])
    assert tool.describe(swapped) != tool.describe(straight)


@pytest.mark.parametrize(("arguments", "code"), [(["--check"], 0), ([], 0)])
def test_the_script_has_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int
) -> None:
    monkeypatch.setattr(sys, "argv", ["generate_contract.py", *arguments])
    assert tool.main() == code


ROW = re.compile(r"^\| `([\w:]+)`(?:(?:,| and) [^|]*)? \| (.+?) \| (.*?)\|$", re.MULTILINE)
NAME = re.compile(r"`((?:armnn\.\w+\.)?[A-Z]\w*(?:\.\w+)?)`")


def resolve(name: str) -> bool:
    """Return whether a public class or attribute exists."""
    module, _, rest = name.rpartition(".") if name.startswith("armnn.") else ("", "", name)
    if module.count(".") > 1:  # armnn.graph.Layer.type: the class belongs to the name
        module, _, owner = module.rpartition(".")
        rest = f"{owner}.{rest}"
    owner, _, attribute = rest.partition(".")
    found = getattr(importlib.import_module(module or "armnn.backends"), owner, None)
    if found is None or not attribute:
        return found is not None
    declared = {key for base in found.__mro__ for key in vars(base).get("__annotations__", {})}
    return hasattr(found, attribute) or attribute in declared


@pytest.mark.parametrize(
    ("name", "exists"),
    [
        ("Backend", True),
        ("Backend.supports", True),
        ("Backend.id", True),
        ("TensorHandle.info", True),
        ("OptimizationViews.failed", True),
        ("armnn.errors.BackendError", True),
        ("armnn.graph.Layer.descriptor", True),
        ("Backend.nonsense", False),
        ("Nonsense", False),
        ("armnn.graph.Layer.nonsense", False),
        ("armnn.errors.Nonsense", False),
    ],
)
def test_the_check_of_the_page_knows_what_exists(name: str, exists: bool) -> None:
    assert resolve(name) is exists


def test_every_python_name_on_the_page_exists() -> None:
    text = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    names = {
        name
        for line in text.splitlines()
        for name in NAME.findall(ROW.sub(r"\2 | \3", line))
        if name not in ("SystemExit", "OptimizeSubgraphView", "ARMNN_BACKENDS")
    }
    assert len(names) > 60
    assert sorted(name for name in names if not resolve(name)) == []


def test_every_method_of_arm_nn_is_mapped_or_has_a_reason() -> None:
    section = PAGE[PAGE.index("### IBackendInternal") : PAGE.index("### Layer support")]
    rows = {method: (python, note) for method, python, note in ROW.findall(section)}
    assert sorted(rows) == sorted(BACKEND_METHODS.split())
    everything = ROW.findall(PAGE[PAGE.index("## From Arm NN") :])
    for method, python, note in everything:
        function = re.fullmatch(r"`armnn\.(\w+)`", python)
        is_function = function is not None and function[1] in armnn.__all__
        assert is_function or NAME.search(python) or (python == "none" and note.strip()), method


def test_every_method_of_a_backend_is_on_the_page() -> None:
    methods = [name for name in vars(armnn.backends.Backend) if not name.startswith("_")]
    assert [name for name in methods if f"`Backend.{name}`" not in PAGE] == []


def test_the_page_tells_the_current_version() -> None:
    assert f"The Backend API has version {armnn.backends.BACKEND_API_VERSION}," in PAGE
