# SPDX-License-Identifier: MIT
"""A benchmark of the serving recipe: the latency that it adds, and its throughput.

    python -m benchmarks.serving.load MODEL [--seconds 0.5] [--json]

The servers are asked in turns, over HTTP with binary tensors, on 127.0.0.1:

in process     the same run with a deadline, without a server
sdk            KServe's SDK alone, with a model that returns zeros
armnn          the recipe on CpuAcc
onnxruntime    the recipe with onnxruntime in place of armnn, for an ONNX file
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import armnn
from benchmarks.serving.peers import RECIPE

CLIENTS = (1, 4, 16)
TURNS = 16
"""Measurements of each throughput; servers alternate, and the ratio of each turn counts."""

CALLS = 20
"""Calls of each server in each round of the measurement of latency."""

ROUNDS = 10
SHORT_ROUNDS = 50
"""Rounds where they take less than LONG seconds in all."""

LONG = 10.0


class Client:
    """A connection to a server, and a request for it."""

    def __init__(self, port: int, name: str, array: np.ndarray) -> None:
        tail = array.tobytes()
        size = {"binary_data_size": len(tail)}
        given = {"name": name, "shape": array.shape, "datatype": "FP32", "parameters": size}
        asked = {"inputs": [given], "parameters": {"binary_data_output": True}}
        head = json.dumps(asked).encode()
        self.body = head + tail
        self.headers = {
            "Content-Type": "application/octet-stream",
            "Inference-Header-Content-Length": str(len(head)),
        }
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.connection.connect()
        self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __call__(self) -> None:
        """Send the request and read the answer."""
        self.connection.request("POST", "/v2/models/model/infer", self.body, self.headers)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"the server answered {answer.status}: {text[:200]!r}")


@contextmanager
def server(*command: str | Path) -> Iterator[tuple[int, int]]:
    """Run a server; yield its process and port."""
    ports = []
    for _ in range(2):
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            ports.append(found.getsockname()[1])
    options = ["--http_port", str(ports[0]), "--grpc_port", str(ports[1])]
    process = subprocess.Popen(
        [sys.executable, "-u", *command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Uvicorn running on" in line:
            break
    else:
        raise RuntimeError(f"{command} does not serve:\n{''.join(lines)}")
    threading.Thread(target=process.stdout.read, daemon=True).start()
    try:
        yield process.pid, ports[0]
    finally:
        process.terminate()
        process.wait()


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def latencies(calls: dict[str, Callable[[], Any]], pids: dict[str, int]) -> dict[str, Any]:
    """Return each call's least, median and 99th percentile, in us."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    spent = dict.fromkeys(calls, 0.0)
    begin = time.perf_counter()
    for done in range(SHORT_ROUNDS):
        if done >= ROUNDS and time.perf_counter() - begin > LONG:
            break
        for name, call in calls.items():
            before = processor_seconds(pids[name])
            for _ in range(CALLS):
                start = time.perf_counter()
                call()
                times[name].append((time.perf_counter() - start) * 1e6)
            spent[name] += processor_seconds(pids[name]) - before
    return {
        name: {
            "least": min(each),
            "p50": float(np.percentile(each, 50)),
            "p99": float(np.percentile(each, 99)),
            "server's processor time": spent[name] / len(each) * 1e6,
        }
        for name, each in times.items()
    }


def throughput(clients: list[Client], seconds: float, pid: int) -> tuple[float, float]:
    """Return answers per second, and per processor second.

    The processor seconds are the server's. Each client waits for an answer before it asks again.
    """
    counts = [0] * len(clients)
    end = time.perf_counter() + seconds

    def ask(index: int) -> None:
        while time.perf_counter() < end:
            clients[index]()
            counts[index] += 1

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(len(clients))]
    before, start = processor_seconds(pid), time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done = sum(counts)
    spent = max(processor_seconds(pid) - before, 1 / os.sysconf("SC_CLK_TCK"))
    return done / (time.perf_counter() - start), done / spent


def measured(model: str, seconds: float) -> dict[str, Any]:
    """Return latencies and throughput of all servers."""
    rng, never = np.random.default_rng(0), threading.Event()
    network = armnn.load_model(model, ["CpuAcc", "CpuRef"])
    ((name, info),) = network.inputs.items()
    shape = [size if isinstance(size, int) else 1 for size in info.shape or ()]
    array = rng.normal(size=shape).astype(np.float32)
    peers = ("-m", "benchmarks.serving.peers")
    commands: dict[str, tuple[str | Path, ...]] = {
        "sdk": (*peers, "sdk", model),
        "armnn": (RECIPE, f"model={model}", "--backends", "CpuAcc,CpuRef"),
    }
    if model.endswith(".onnx"):
        commands["onnxruntime"] = (*peers, "onnxruntime", model)
    with ExitStack() as stack:
        ports = {key: stack.enter_context(server(*each)) for key, each in commands.items()}
        pids = {"in process": os.getpid(), **{key: pid for key, (pid, _) in ports.items()}}
        calls: dict[str, Callable[[], Any]] = {
            "in process": lambda: network.run({name: array}, timeout=30.0, cancel=never),
            **{key: Client(port, name, array) for key, (_, port) in ports.items()},
        }
        us = latencies(calls, pids)
        found: dict[str, Any] = {"load average": os.getloadavg()[0], "us per call": us}
        found["added to the sdk and the run"] = {
            kind: us["armnn"][kind] - us["sdk"][kind] - us["in process"][kind]
            for kind in ("least", "p50", "p99")
        }
        keys = [key for key in ports if key != "sdk"]
        rates: dict[str, dict[int, list[Any]]] = {key: {n: [] for n in CLIENTS} for key in keys}
        for count in CLIENTS:
            for _ in range(TURNS):
                for key in keys:
                    clients = [Client(ports[key][1], name, array) for _ in range(count)]
                    rates[key][count].append(throughput(clients, seconds, pids[key]))
                keys.reverse()
    found["answers"] = {
        key: {count: np.median(each, axis=0).tolist() for count, each in by_count.items()}
        for key, by_count in rates.items()
    }
    if "onnxruntime" in rates:
        found["ratios"] = {
            count: quartiles(rates["armnn"][count], rates["onnxruntime"][count])
            for count in CLIENTS
        }
    return found


def quartiles(ours: list[Any], theirs: list[Any]) -> list[float]:
    """Return quartiles of the ratios of answers per second."""
    ratios = np.array(ours)[:, 0] / np.array(theirs)[:, 0]
    return [float(each) for each in np.percentile(ratios, [25, 50, 75])]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a file with one input and one output, float32")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each turn")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = measured(given.model, given.seconds)
    if given.json:
        print(json.dumps(found))
        return
    print(f"load average {found['load average']:.1f}; us per call:")
    for key, row in found["us per call"].items():
        print(f"  {key:12}", "  ".join(f"{name} {value:8.0f}" for name, value in row.items()))
    added = found["added to the sdk and the run"].items()
    print("us added to the sdk and the run:", *(f"{kind} {value:.0f}" for kind, value in added))
    print("answers per second, and per processor second of the server, by clients:")
    for key, rows in found["answers"].items():
        cells = (f"{count:2}: {rate:7.1f} {per:7.1f}" for count, (rate, per) in rows.items())
        print(f"  {key:12}", "   ".join(cells))
    for count, (low, median, high) in found.get("ratios", {}).items():
        print(f"armnn / onnxruntime, {count:2} clients: {median:.2f} ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
