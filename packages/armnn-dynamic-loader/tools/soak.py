# SPDX-License-Identifier: MIT
"""Start many runtimes while backend files come, change and go.

python packages/armnn-dynamic-loader/tools/soak.py --starts 100
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from armnn import CreationOptions, Runtime
from armnn_backend_api import get_include

SOURCE = Path(__file__).resolve().parents[1] / "tests" / "mock_backend.c"


def main(arguments: Sequence[str] | None = None) -> int:
    """Start runtimes with real probes; return 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "backends")
        folder.mkdir(mode=0o755)
        os.environ["XDG_CACHE_HOME"] = str(Path(place, "cache"))
        good = folder / "Mock_Good_backend.so"
        command = ["gcc", "-std=gnu11", "-fPIC", "-shared", "-w", f"-I{get_include()}"]
        subprocess.run([*command, '-DID="Good"', "-o", good, SOURCE], check=True)
        is_over = threading.Event()
        arguments_of_churn = (folder, good.read_bytes(), random.Random(asked.seed), is_over)
        thread = threading.Thread(target=churn, args=arguments_of_churn)
        thread.start()
        try:
            seconds = [started(folder) for _ in range(asked.starts)]
        finally:
            is_over.set()
            thread.join()
    print(
        f"{len(seconds)} starts under churn: median {statistics.median(seconds):.2f} s, "
        f"longest {max(seconds):.2f} s"
    )
    return 0


def started(folder: Path) -> float:
    """Start a runtime, open the good backend; return seconds.

    Raises:
        ArmnnError: It does not start, or the good backend cannot be used.
    """
    begin = time.perf_counter()
    options = CreationOptions(
        dynamic_backends_path=str(folder), enable_static_backends=False, probe="again"
    )
    with Runtime(options) as runtime:
        runtime.registry.get("Good")
    return time.perf_counter() - begin


def churn(folder: Path, content: bytes, chance: random.Random, is_over: threading.Event) -> None:
    """Create, cut, replace and remove copies until it is over."""
    while not is_over.wait(0.002):
        path = folder / f"Mock_N{chance.randrange(8)}_backend.so"
        action = chance.randrange(4)
        if action == 0:
            path.unlink(missing_ok=True)
        elif action == 1:
            path.write_bytes(content[: chance.randrange(len(content))])
        elif action == 2:
            spare = path.with_suffix(".new")
            spare.write_bytes(content)
            spare.rename(path)
        elif path.exists():
            with open(path, "r+b") as file:
                file.seek(chance.randrange(len(content)))
                file.write(chance.randbytes(8))


if __name__ == "__main__":
    sys.exit(main())
