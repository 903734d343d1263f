# SPDX-License-Identifier: MIT
"""The import of onnxruntime, without its telemetry.

From version 1.29 on, onnxruntime for Linux starts a thread when it is imported that reports its use
and facts about models over the network. Users of armnn did not agree to that. It looks for a
variable of the environment; ``disable_telemetry_events`` alone leaves the thread.
"""

from __future__ import annotations

import os

_VARIABLE = "ORT_DISABLE_TELEMETRY"

_given = os.environ.get(_VARIABLE)
os.environ[_VARIABLE] = "1"
try:
    import onnxruntime
finally:
    if _given is None:
        del os.environ[_VARIABLE]
    else:
        os.environ[_VARIABLE] = _given

__all__ = ["onnxruntime"]

onnxruntime.disable_telemetry_events()
