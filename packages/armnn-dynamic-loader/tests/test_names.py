# SPDX-License-Identifier: MIT
"""The naming rule, by the table in Arm NN's guide.

It is the guide for backend developers.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn.backends.sources import SearchedFolder
from armnn_dynamic_loader.files import examine_folders, name_problem

TAKEN, SAME = "", "duplicate"

# The entry, what it links to, the stage at which it is turned down; remarks are the guide's.
TABLE = [
    ("Arm_GpuAcc_backend.so", None, TAKEN),  # valid: basic backend name
    ("Arm_GpuAcc_backend.so.1", None, TAKEN),  # valid: single field version number
    ("Arm_GpuAcc_backend.so.1.2", None, TAKEN),  # valid: multiple field version number
    ("Arm_GpuAcc_backend.so.1.2.3", None, TAKEN),  # valid: multiple field version number
    ("Arm_GpuAcc_backend.so.10.1.27", None, TAKEN),  # valid: multiple digit version
    ("Arm_GpuAcc_backend.so.10.1.33.", None, "name"),  # dot not followed by version number
    ("Arm_GpuAcc_backend.so.3.4..5", None, "name"),  # dot not followed by version number
    ("Arm_GpuAcc_backend.so.1,1.1", None, "name"),  # comma instead of dot in the version
    ("Arm123_GpuAcc_backend.so", None, TAKEN),  # valid: digits in vendor name are allowed
    ("Arm_GpuAcc456_backend.so", None, TAKEN),  # valid: digits in backend id are allowed
    ("Arm%Co_GpuAcc_backend.so", None, "name"),  # invalid character in vendor name
    ("Arm_Gpu.Acc_backend.so", None, "name"),  # invalid character in backend id
    ("GpuAcc_backend.so", None, "name"),  # missing vendor name
    ("_GpuAcc_backend.so", None, "name"),  # missing vendor name
    ("Arm__backend.so", None, "name"),  # missing backend id
    ("Arm_GpuAcc.so", None, "name"),  # missing "backend" at the end
    ("__backend.so", None, "name"),  # missing vendor name and backend id
    ("__.so", None, "name"),  # missing all fields
    ("Arm_GpuAcc_backend", None, "name"),  # missing at least ".so" at the end
    ("Arm_GpuAcc_backend_v1.2.so", None, "name"),  # extra version info at the end
    ("Arm_CpuAcc_backend.so", None, TAKEN),  # valid: basic backend name
    # Valid names of the same file, which is loaded once:
    ("Arm_CpuAcc_backend.so.1", "Arm_CpuAcc_backend.so", SAME),  # symlink to valid backend file
    ("Arm_CpuAcc_backend.so.1.2", "Arm_CpuAcc_backend.so.1", SAME),  # symlink to valid symlink
    ("Arm_CpuAcc_backend.so.1.2.3", "Arm_CpuAcc_backend.so.1.2", SAME),  # symlink to valid symlink
    ("Arm_no_backend.so", "nothing", "link"),  # symlink resolves to non-existent file
    ("pathA/Arm_GpuAcc_backend.so", None, TAKEN),  # valid: basic backend name
    # Valid, but duplicated from pathA: another file, which its id shadows once that is known.
    ("pathB/Arm_GpuAcc_backend.so", None, TAKEN),
]


@pytest.mark.parametrize(("entry", "target", "stage"), TABLE, ids=[row[0] for row in TABLE])
def test_the_rule_for_names(
    entry: str, target: str | None, stage: str, tmp_path: Path, compiled: Callable[..., Path]
) -> None:
    for other, other_target, _ in TABLE:
        path = tmp_path / other
        path.parent.mkdir(mode=0o755, exist_ok=True)
        if other_target is None:
            shutil.copyfile(compiled('-DID="Good"'), path)
            path.chmod(0o755)
        else:
            path.symlink_to(other_target)
    places = (tmp_path, tmp_path / "pathA", tmp_path / "pathB")
    records = examine_folders(SearchedFolder(str(place), "test") for place in places)
    by_entry = {os.path.relpath(record.entry, tmp_path): record.stage for record in records}
    assert sorted(by_entry) == sorted(row[0] for row in TABLE)
    assert by_entry[entry] == stage
    assert (name_problem(entry.rpartition("/")[2]) == "") == (stage != "name")


def test_there_are_as_many_rows_as_in_the_guide() -> None:
    assert len(TABLE) == 27


@pytest.mark.parametrize(
    "name",
    [
        "Arm_GpuAcc_backendXso",  # Arm NN's expression does not escape the dot
        "Arm_GpuAcc_backend.so\n",  # "$" in Python matches before a final line feed
        "Arm_Gpu\u00c4cc_backend.so",
        "Arm_Gpu\u0661_backend.so",
        "Arm_GpuAcc_backend.so.\u0661",
        "Arm_GpuAcc_backend.so.1a",
        "arm_gpuacc_Backend.so",
        "",
    ],
)
def test_what_looks_like_a_name_to_a_careless_expression_is_none(name: str) -> None:
    assert name_problem(name).startswith(f"has the name {name!r}: expected <vendor>_<name>_backend")
