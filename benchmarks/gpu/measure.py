# SPDX-License-Identifier: MIT
"""Measure GpuAcc on an OpenCL device beside CpuAcc; write the device's record and docs/gpu.md.

    python -m benchmarks.gpu.measure [--device gpu] [--against tinygrad] [--seconds 420]

It measures products of matrices of 1024 rows and columns, beside CLBlast where libclblast is
installed, and public models, each runtime in a process of its own. All take turns, and the least
time of each counts, as other processes only add to it. The models that there is no time left for
are not in the record.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import importlib.metadata
import json
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

import armnn
from armnn_backend_cl.device import Device, open_device
from benchmarks.gpu import generate_gpu_page
from benchmarks.machine import machine
from benchmarks.models.other_cores import OtherCores
from benchmarks.models.runtime_process import RuntimeProcess
from benchmarks.models.runtimes import GPU_DEVICE
from benchmarks.models.speed import PAUSE_SECONDS, commit
from tools.models.fetch import MODELS, default_cache, fetch
from tools.models.peers import make_feeds

NAMES = ("page_orientation", "squeezenet", "minilm", "resnet50")
SIDE = 1024
PRODUCTS = 8
"""The products of a run: so many that the time of a call counts little."""

BURST_SECONDS = 0.5
ROUNDS = 6
OPENCL = 4  # in DLPack
KINDS = ("GPU", "ACCELERATOR", "CPU", "CUSTOM")


def least_times(runs: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Return the least time of each call in milliseconds; they take turns."""
    least = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            least[name] = min(least[name], (time.perf_counter() - start) * 1e3)
    return least


def products(runtime: armnn.Runtime, device: Device, seconds: float) -> dict[str, float]:
    """Return the milliseconds of one product of matrices in the memory of a device."""
    numbers = np.random.default_rng(0).standard_normal((2, SIDE, SIDE), np.float32)
    numbers[1] /= np.sqrt(np.float32(SIDE))  # products keep their size
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    x, w, y = (cl.Buffer(device.context, flags, hostbuf=each) for each in numbers[[0, 1, 0]])
    net = armnn.Network("products")
    info = armnn.TensorInfo((SIDE, SIDE))
    value = net.add_input("x", info)
    weights = net.add_constant(numbers[1])
    for _ in range(PRODUCTS):
        value = net.add_batch_mat_mul(value, weights)
    net.add_output("y", value)
    model = runtime.load_model(net, backends=["GpuAcc"])
    tensors = [
        armnn.Buffer((OPENCL, device.index), each.size, each, data=each.int_ptr).tensor(info)
        for each in (x, y)
    ]
    queue = cl.CommandQueue(device.context)
    runs: dict[str, Callable[[], object]] = {
        "GpuAcc": lambda: model.run({"x": tensors[0]}, outputs={"y": tensors[1]})
    }
    if found := ctypes.util.find_library("clblast"):
        runs["CLBlast"] = _clblast(ctypes.CDLL(found), queue, x, w, y)
    times = least_times(runs, seconds)
    return {name: float(f"{each / PRODUCTS:.4g}") for name, each in times.items()}


def _clblast(library: Any, queue: Any, x: Any, w: Any, y: Any) -> Callable[[], None]:
    size, pointer = ctypes.c_size_t, ctypes.c_void_p
    matrix = [pointer, size, size]
    library.CLBlastSgemm.argtypes = [
        *[ctypes.c_int] * 3, *[size] * 3, ctypes.c_float, *matrix, *matrix, ctypes.c_float,
        *matrix, pointer, pointer,
    ]  # fmt: skip
    commands = pointer(queue.int_ptr)

    def run() -> None:
        for _ in range(PRODUCTS):
            status = library.CLBlastSgemm(
                101, 111, 111, SIDE, SIDE, SIDE, 1, x.int_ptr, 0, SIDE, w.int_ptr, 0, SIDE, 0,
                y.int_ptr, 0, SIDE, ctypes.byref(commands), None,
            )  # fmt: skip
            if status:
                raise RuntimeError(f"CLBlastSgemm failed with {status}")
        queue.finish()

    return run


def model_times(
    runtime: armnn.Runtime, name: str, others: list[str], end: float
) -> dict[str, float | str]:
    """Return the least milliseconds by runtime, and the layers by backend as a text."""
    path = fetch(name, default_cache())
    model = runtime.load_model(path, backends=["GpuAcc", "CpuRef"])
    feed = dict(make_feeds(MODELS[name], model.inputs, 1)[0])
    model.run(feed)  # the report of a model of any shape begins with its first one
    layers = model.report.layers_by_backend
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        np.savez(inputs, **feed)  # type: ignore[arg-type]  # the stub takes arrays, not a mapping
        cores = os.cpu_count() or 1
        processes = {
            each: RuntimeProcess(each, path, inputs, cores) for each in ("GpuAcc", *others)
        }
        for _ in range(ROUNDS):
            for process in processes.values():
                if not process.error and time.monotonic() < end:
                    process.burst(BURST_SECONDS)
                    time.sleep(PAUSE_SECONDS)
        found: dict[str, float | str] = {
            "layers": ", ".join(f"{count} {backend}" for backend, count in layers.items())
        }
        for each, process in processes.items():
            process.close()
            if process.times:
                found[each] = float(f"{min(process.times):.4g}")
            else:
                print(f"{name}, {each}: {process.error or 'no time left'}")
    return found


def main() -> None:
    """Measure; write the record and the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="", help="an index, gpu, cpu, or a part of a name")
    parser.add_argument("--against", action="append", default=[], choices=["tinygrad"])
    parser.add_argument("--seconds", type=float, default=420, help="default: %(default)s")
    parser.add_argument("--print", action="store_true", help="write nothing")
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    device = open_device(int(given.device) if given.device.isdigit() else given.device)
    os.environ[GPU_DEVICE] = str(device.index)  # for the processes of the models
    chosen = armnn.CreationOptions(backend_options={"GpuAcc": {"Device": device.index}})
    runtime = armnn.Runtime(chosen)
    clock = OtherCores([os.getpid()])
    record: dict[str, Any] = {"about": about(device), "models": {}}
    record["product"] = products(runtime, device, 15)
    record["about"]["other_cores"] = round(clock.read(), 2)
    print(json.dumps(record), flush=True)
    for name in NAMES:
        if time.monotonic() < end:
            record["models"][name] = model_times(runtime, name, ["CpuAcc", *given.against], end)
            print(name, record["models"][name], flush=True)
    if given.print:
        return
    slug = re.sub(r"[^a-z0-9]+", "-", f"{device.name} {record['about']['processor']}".lower())
    path = generate_gpu_page.RECORDS / f"{slug.strip('-')}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    generate_gpu_page.main([])


def about(device: Device) -> dict[str, Any]:
    """Return the facts about the device, the machine and the versions of a record."""
    driver = device.device
    return {
        "device": device.name,
        "driver": device.driver,
        "units": driver.max_compute_units,
        "memory": driver.global_mem_size,
        "kind": next(kind for kind in KINDS if driver.type & getattr(cl.device_type, kind)),
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        **machine(),
        "pyopencl": importlib.metadata.version("pyopencl"),
    }


if __name__ == "__main__":
    main()
