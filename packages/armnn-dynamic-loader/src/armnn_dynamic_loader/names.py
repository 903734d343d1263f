# SPDX-License-Identifier: MIT
"""Which file names are those of dynamic backends: ``<vendor>_<name>_backend.so[.version]``."""

from __future__ import annotations

import re

_NAME = re.compile(r"[A-Za-z0-9]+_[A-Za-z0-9]+_backend\.so(\.[0-9]+)*")


def name_problem(name: str) -> str:
    """Return why a file name is refused; empty if accepted.

    The rule is Arm NN's, but Arm NN's expression accepts any character in place of the dot of
    ".so".

    Args:
        name: Of the entry in the folder, not of what a link points at.
    """
    if _NAME.fullmatch(name):
        return ""
    return (
        f"has the name {name!r}: expected <vendor>_<name>_backend.so or "
        "<vendor>_<name>_backend.so.<version>, of letters and digits; versions are numbers with "
        "single dots between them"
    )
