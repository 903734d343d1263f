# SPDX-License-Identifier: MIT
"""Methods whose module is imported at their first use.

A network has more than a hundred builders. A model needs few of them, and what a builder imports
takes longer than many a small model's conversion.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class MethodOnDemand:
    """A method before its first use.

    A class of the owner's name in another module has the method.
    """

    __slots__ = ("_module", "_name", "_owner")

    def __init__(self, module: str) -> None:
        self._module = module

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        made = vars(getattr(import_module(self._module), self._owner.__name__))[self._name]
        setattr(self._owner, self._name, made)
        return made.__get__(instance, owner)
