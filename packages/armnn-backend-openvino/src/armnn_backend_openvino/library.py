# SPDX-License-Identifier: MIT
"""The import of OpenVINO, without its telemetry.

OpenVINO's tools start a thread and report their use over the network if a module for that is
installed. Users of armnn did not agree to that, so the import hides the module.
"""

from __future__ import annotations

import sys

sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None: not there

import openvino  # noqa: E402  # it looks for that module when it is imported

__all__ = ["openvino"]
