# SPDX-License-Identifier: MIT
"""Frames with a backend's name, for traces of signals."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Frames:
    """Whether calls of backends get frames with their name.

    Attributes:
        are_named: True while :mod:`armnn.backends.blame` keeps a note of this process.
    """

    are_named = False


def blamed(function: _Function, backend_id: str, doing: str) -> _Function:
    """Return a function with the backend's name in its frame.

    Args:
        function: Calls the backend.
        backend_id: The backend.
        doing: What it does, such as the name of a layer.
    """
    if not Frames.are_named:
        return function
    code = _template.__code__.replace(
        co_filename=f"<backend {backend_id}>", co_name=repr(doing), co_qualname=repr(doing)
    )
    return cast("_Function", FunctionType(code, {"function": function}))


def _template(*arguments: Any) -> Any:
    return function(*arguments)  # noqa: F821  # a global of each copy


__all__ = ["Frames", "blamed"]
