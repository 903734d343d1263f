# SPDX-License-Identifier: MIT
"""Build CpuAcc's wheel for aarch64 with Debian's cross-compiler.

python packages/armnn-backend-neon/tools/build_arm_wheel.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from arm_machine import arm_machine


def main() -> None:
    """Build it into the folder on the command line."""
    arm_machine().build_wheel(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
