# SPDX-License-Identifier: MIT
"""The former place of :mod:`armnn_backend_api.processes`, for released plug-ins."""

from armnn_backend_api.processes import (
    Bounds,
    Child,
    Ending,
    Program,
    PythonCall,
    StartError,
    ending_of,
    freeze_support,
    reduced_environment,
    run,
    signal_name,
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
