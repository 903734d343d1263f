# SPDX-License-Identifier: MIT
"""What the repository as a whole needs; each program runs as a module from its root."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
"""The checkout."""
