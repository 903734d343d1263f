# SPDX-License-Identifier: MIT
"""Where the programs are, and what they run with."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "examples" / "scaling"
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(PROGRAMS),
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    # On a busy machine its parts take longer to start than the few seconds that Ray waits.
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "120",
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "120",
}
PATIENCE = 180.0
"""Seconds for what takes some twenty on a machine with nothing else to do."""
