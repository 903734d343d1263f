# SPDX-License-Identifier: MIT
"""Child processes: starts, limits and reaps them.

Nothing else in the distributions starts processes. A child runs behind a guard process, which ends
it at its bounds or with this process, along with everything it started. :class:`JsonChild` is a
child that gets requests and sends replies; :class:`Channel` is the end of it in the child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armnn_backend_api.processes.bounds import (
        Bounds,
        Ending,
        Program,
        PythonCall,
        ending_of,
        signal_name,
    )
    from armnn_backend_api.processes.channel import Channel, one_line, text_of
    from armnn_backend_api.processes.child import Child, run
    from armnn_backend_api.processes.interpreter import (
        StartError,
        freeze_support,
        reduced_environment,
    )
    from armnn_backend_api.processes.json_child import JsonChild, NoReplyError, wait_for_any

__all__ = [
    "Bounds",
    "Channel",
    "Child",
    "Ending",
    "JsonChild",
    "NoReplyError",
    "Program",
    "PythonCall",
    "StartError",
    "ending_of",
    "freeze_support",
    "one_line",
    "reduced_environment",
    "run",
    "signal_name",
    "text_of",
    "wait_for_any",
]

_MODULES = {
    "bounds": "Bounds Ending Program PythonCall ending_of signal_name",
    "channel": "Channel one_line text_of",
    "child": "Child run",
    "interpreter": "StartError freeze_support reduced_environment",
    "json_child": "JsonChild NoReplyError wait_for_any",
}


def __getattr__(name: str) -> Any:
    """Import a module with the first of its names: a probed process needs the channel only."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names that are there, imported or not."""
    return sorted({*globals(), *__all__})
