# SPDX-License-Identifier: MIT
"""The machine, and the versions on it, beside every record."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Return what the figures were measured on and with."""
    names = ("numpy", "onnxruntime", "armnn-core", "armnn-backend-ref")
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "system": platform.platform(),
        "python": platform.python_version(),
        **{name: importlib.metadata.version(name) for name in names},
    }


def _processor() -> str:
    """Return the processor's model, if the system reports it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()
