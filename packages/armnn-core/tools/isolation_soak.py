# SPDX-License-Identifier: MIT
"""Kill workers under load; count wrong answers and leaks.

python packages/armnn-core/tools/isolation_soak.py --kills 1000 --threads 4
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from armnn import CreationOptions, LoadedNetwork, Network, Runtime, TensorInfo

SHAPE = (1, 64)
_START_SECONDS = 60.0
MOST_WRONG = 100
"""Errors after which the threads give up."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill workers; return 1 for a fault or leak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--backend", default="CpuAcc")
    parser.add_argument("--other", default="CpuRef")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    import logging

    logging.getLogger("armnn").setLevel(logging.ERROR)
    with Runtime(CreationOptions(isolate=[asked.backend])) as runtime:
        model = runtime.load_model(network(), [asked.backend, asked.other])
        supervisor = getattr(runtime.registry.get(asked.backend), "supervisor")  # noqa: B009  # of isolated ones
        model.run(fed(0))
        os.kill(supervisor.link().pid, signal.SIGKILL)
        model.run(fed(0))  # prepares the other backends
        supervisor.wait(_START_SECONDS)
        before = held()
        load = Load(model, asked.threads)
        numbers = random.Random(asked.seed)
        for number in range(asked.kills):
            load.kill(supervisor, numbers)
            if sys.stderr.isatty() or (number + 1) % 100 == 0:
                print(f"{number + 1} kills, {load.calls} calls", file=sys.stderr)
        load.end()
        supervisor.wait(_START_SECONDS)
        model.run(fed(0))
        after = held()
    milliseconds = [1e3 * each for each in load.seconds]
    print(
        f"{asked.kills} kills, {load.calls} calls from {asked.threads} threads: "
        f"{len(load.wrong)} wrong or failed\n"
        f"from death to answer: median {statistics.median(milliseconds):.1f} ms, "
        f"longest {max(milliseconds):.1f} ms of {len(milliseconds)} interrupted calls\n"
        f"held before: {before}\nheld after:  {after}"
    )
    for each in load.wrong[:5]:
        print(f"wrong: {each!r}")
    leaks = {what: after[what] - count for what, count in before.items() if after[what] > count}
    allowed = {"descriptors": 4 * asked.threads * 5, "maps": 4 * asked.threads * 6}
    real = {what: count for what, count in leaks.items() if count > allowed.get(what, 0)}
    print(f"leaked: {real or 'nothing'}")
    return 1 if load.wrong or real else 0


class Load:
    """Threads that run a network all the time.

    Attributes:
        calls: How many calls were answered.
        wrong: Other results and errors.
        seconds: From each kill to the first answer of a call that had begun before it.
    """

    def __init__(self, model: LoadedNetwork, threads: int) -> None:
        self.calls = 0
        self.wrong: list[object] = []
        self.seconds: list[float] = []
        self._model = model
        self._killed = 0.0
        self._has_ended = False
        self._threads = [
            threading.Thread(target=self._work, args=(n,), daemon=True) for n in range(threads)
        ]
        for each in self._threads:
            each.start()

    def kill(self, supervisor: Any, numbers: random.Random) -> None:
        """Kill a worker at a random moment."""
        if not supervisor.wait(_START_SECONDS):
            raise SystemExit("no worker is started any more")
        time.sleep(numbers.uniform(0, 0.05))
        pid = supervisor.link().pid
        self._killed = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        while not supervisor.is_starting and time.monotonic() < self._killed + _START_SECONDS:
            time.sleep(0.001)

    def end(self) -> None:
        """Stop all threads."""
        self._has_ended = True
        for each in self._threads:
            each.join()

    def _work(self, number: int) -> None:
        given, expected = fed(number), np.maximum(fed(number)["x"], 0)
        while not self._has_ended:
            start = time.monotonic()
            try:
                found = self._model.run(given)["y"]
            except Exception as error:
                self.wrong.append(error)
                self._has_ended = len(self.wrong) > MOST_WRONG
                continue
            end, killed = time.monotonic(), self._killed
            if start < killed < end:
                self.seconds.append(end - killed)
            if not np.array_equal(found, expected):
                self.wrong.append(found)
            self.calls += 1


def network() -> Network:
    """Return a network of one layer."""
    made = Network("soak")
    x = made.add_input("x", TensorInfo(SHAPE))
    made.add_output("y", made.add_activation(x, function="ReLu"))
    return made


def fed(number: int) -> dict[str, Any]:
    """Return other inputs for each thread."""
    return {"x": np.linspace(-1, number + 1, 64, dtype=np.float32).reshape(SHAPE)}


def held() -> dict[str, int]:
    """Return the resources that this process holds."""
    children = [
        line.rpartition(")")[2].split()
        for line in (_stat(name) for name in os.listdir("/proc") if name.isdecimal())
        if line
    ]
    own = [each for each in children if each[1] == str(os.getpid())]
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "maps": len(Path("/proc/self/maps").read_text().splitlines()),
        "threads": threading.active_count(),
        "children": len(own),
        "zombies": sum(each[0] == "Z" for each in own),
    }


def _stat(name: str) -> str:
    try:
        return Path(f"/proc/{name}/stat").read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
