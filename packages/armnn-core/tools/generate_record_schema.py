# SPDX-License-Identifier: MIT
"""Write the JSON Schema of records of execution to ``docs/schemas/record.json``.

``--check`` fails if the file is stale. :data:`armnn.runtime.record.SCHEMA` is the source.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from armnn.runtime.record import SCHEMA
from armnn.schemas import json_text

PACKAGE = Path(__file__).resolve().parents[1]
FILE = PACKAGE.parents[1] / "docs" / "schemas" / "record.json"


def main() -> int:
    """Write or check the file; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the file is stale")
    check = parser.parse_args().check
    text = json_text(SCHEMA) + "\n"
    if FILE.exists() and FILE.read_text(encoding="utf-8") == text:
        return 0
    if check:
        script = f"packages/{PACKAGE.name}/tools/{Path(__file__).name}"
        print(f"{FILE} is stale: run python {script}", file=sys.stderr)
        return 1
    FILE.write_text(text, encoding="utf-8")
    print(f"wrote {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
