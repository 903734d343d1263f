# SPDX-License-Identifier: MIT
"""The marks that SWIG gives PyArmNN's classes.

Python owns all objects here, so a destructor has nothing to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

NOT_OWNED = ("IConnectableLayer", "IDeviceSpec", "IInputSlot", "IOutputSlot", "IProfiler")
"""The classes whose objects are Arm NN's: programs get them, but make none."""


def mark(classes: Iterable[type]) -> None:
    """Add ``thisown`` and ``__swig_destroy__`` to classes."""
    for each in classes:
        is_owned = each.__name__ not in NOT_OWNED
        setattr(each, "thisown", is_owned)  # noqa: B010  # no class declares it
        if is_owned:
            setattr(each, "__swig_destroy__", _destructor(each.__name__))  # noqa: B010


def _destructor(name: str) -> staticmethod[[object], None]:
    """Return a function with SWIG's name of a destructor."""

    def destroy(_: object) -> None:
        """Do nothing."""

    destroy.__name__ = f"delete_{name}"
    named: Callable[[object], None] = destroy
    return staticmethod(named)
