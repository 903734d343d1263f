# SPDX-License-Identifier: MIT
"""Makes backends of Python classes for files whose table is static C."""

from __future__ import annotations


def extension_address() -> int | None:
    return None
