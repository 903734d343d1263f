# SPDX-License-Identifier: MIT
"""Write the bills of materials; ``--check`` fails if stale.

Wheels carry it in ``.dist-info/sboms`` (PEP 770), as CycloneDX 1.6. Its components are the
distributions that pip installs beside the wheel, with the versions that are allowed, and the
libraries of others that the wheel holds, as the ``bundled.toml`` files of its sources say.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools import ROOT

FILE = "sbom.cdx.json"


def main() -> int:
    """Write or check the files; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a file is stale")
    check = parser.parse_args().check
    stale = [path for path, text in sboms().items() if _read(path) != text]
    for path in stale:
        if check:
            print(f"{path} is stale: run python -m tools.generate.generate_sboms", file=sys.stderr)
        else:
            path.write_text(sboms()[path], encoding="utf-8")
            print(f"wrote {path}")
    return 1 if check and stale else 0


def sboms() -> dict[Path, str]:
    """Return the text of each bill of materials."""
    return {
        folder.parent / FILE: json.dumps(bill_of(folder.parent), indent=2) + "\n"
        for folder in sorted((ROOT / "packages").glob("*/pyproject.toml"))
    }


def bill_of(folder: Path) -> dict[str, Any]:
    """Return the bill of materials of a distribution.

    Args:
        folder: Of the distribution.
    """
    document = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    project = document["project"]
    about = (folder / document["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', about, re.MULTILINE)
    assert found is not None, folder
    own = f"pkg:pypi/{project['name']}@{found[1]}"
    needed = [Requirement(text) for text in project.get("dependencies", ())]
    bundled = [
        row
        for path in sorted((folder / "src").rglob("bundled.toml"))
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["library"]
    ]
    refs = [*map(_purl, needed), *(row["purl"] for row in bundled)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": project["name"],
                "version": found[1],
                "purl": own,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [
            *(_component(each) for each in needed),
            *map(_bundled_component, bundled),
        ],
        "dependencies": [
            {"ref": own, "dependsOn": refs},
            *({"ref": ref} for ref in refs),
        ],
    }


def _component(requirement: Requirement) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": _purl(requirement),
        "name": canonicalize_name(requirement.name),
        "purl": _purl(requirement),
        "scope": "required",
        "properties": [{"name": "armnn:requirement", "value": str(requirement)}],
    }


def _bundled_component(row: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "library",
        "bom-ref": row["purl"],
        "name": row["name"],
        "version": row["version"],
        "purl": row["purl"],
        "scope": "required",
        "licenses": [{"license": {"id": row["license"]}}],
        "hashes": [{"alg": "SHA-256", "content": row["sha256"]}],
    }


def _purl(requirement: Requirement) -> str:
    return f"pkg:pypi/{canonicalize_name(requirement.name)}"


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main())
