# SPDX-License-Identifier: MIT
"""``python -m armnn`` is the command ``armnn``."""

from __future__ import annotations

import sys

from armnn.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
