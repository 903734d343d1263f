# SPDX-License-Identifier: MIT
"""What a probe finds out about a file, as exceptions."""

from __future__ import annotations


class DefectError(Exception):
    """The file breaks the contract.

    The text is the rest of a sentence.
    """


class UnavailableError(Exception):
    """The backend lacks a device or library that it needs.

    That is no defect.
    """
