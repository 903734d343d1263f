# SPDX-License-Identifier: MIT
"""The command ``armnn``, and the tools that examine placement, speed and correctness.

Its parts have names in the core, which are the ones to import: ``armnn.debugging``,
``armnn.placement``, ``armnn.benchmarking`` and ``armnn.viewing``. The core finds them by the entry
points of the group ``armnn.tools``.
"""

from __future__ import annotations

from armnn_tools.__about__ import __version__

__all__ = ["__version__"]
