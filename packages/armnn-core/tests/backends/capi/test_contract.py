# SPDX-License-Identifier: MIT
"""The Backend API page maps each method of IBackendInternal.

It maps them to Python and to C.
"""

from __future__ import annotations

import re
from pathlib import Path

from armnn_backend_api import ctypes_mirror

PAGE = (Path(__file__).parents[5] / "docs" / "backend-api.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("### IBackendInternal") : PAGE.index("### Layer support and workloads")]
ROWS = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (.*?)\|$", SECTION, re.MULTILINE)
C_NAME = re.compile(r"`armnn_(\w+)(?:\.(\w+))?`")


def test_every_method_has_a_form_in_c_or_a_reason_for_none() -> None:
    assert len(ROWS) == 22
    for method, _python, in_c, _note in ROWS:
        names = C_NAME.findall(in_c)
        assert names or re.fullmatch(r"none: .+", in_c), method
        for struct, field in names:
            mirrored = getattr(ctypes_mirror, "".join(map(str.capitalize, struct.split("_"))))
            assert not field or hasattr(mirrored, field), (method, struct, field)


def test_every_function_of_the_table_is_in_the_page_or_belongs_to_a_program() -> None:
    named = {field for _, _, in_c, _ in ROWS for struct, field in C_NAME.findall(in_c)}
    functions = {
        name
        for name, *_ in ctypes_mirror.BackendApi._fields_
        if callable(getattr(ctypes_mirror.BackendApi(), name))
    }
    without_counterpart = {
        "destroy",
        "devices",
        "check_blob",
        "deserialize",
        "program_destroy",
        "context_destroy",
        "execute",
        "shutdown",
    }
    assert functions - named == without_counterpart
