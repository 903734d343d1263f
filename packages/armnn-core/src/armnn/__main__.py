# SPDX-License-Identifier: MIT
"""``python -m armnn``: the command of armnn-tools, and the worker, which needs the core alone."""

from __future__ import annotations

import sys

from armnn.backends.worker.worker import serve_standard_streams
from armnn.errors import ArmnnError
from armnn.installing import import_tool


def main() -> int:
    """Run ``worker``, or a command of armnn-tools; return the exit code."""
    try:
        if sys.argv[1:] == ["worker"]:
            serve_standard_streams()
            return 0
        command = import_tool("command", "the command armnn")
    except ArmnnError as error:
        print(f"armnn: error: {error}", file=sys.stderr)
        return 1
    return int(command.main())


if __name__ == "__main__":
    sys.exit(main())
