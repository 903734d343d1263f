# SPDX-License-Identifier: MIT
"""The repository's programs, run as modules from its root."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""
