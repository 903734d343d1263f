# SPDX-License-Identifier: MIT
"""Child processes: starts, bounds and buries them.

Nothing else in the distributions starts processes. A child runs behind a guard process, which ends
it at its bounds or with this process, along with everything it started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn.processes.bounds import Bounds, Ending, Program, PythonCall, ending_of, signal_name
    from armnn.processes.child import Child, run
    from armnn.processes.interpreter import StartError, freeze_support, reduced_environment
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "bounds": "Bounds Ending Program PythonCall ending_of signal_name",
            "child": "Child run",
            "interpreter": "StartError freeze_support reduced_environment",
        },
    )

__all__ = [
    "Bounds",
    "Child",
    "Ending",
    "Program",
    "PythonCall",
    "StartError",
    "ending_of",
    "freeze_support",
    "reduced_environment",
    "run",
    "signal_name",
]
