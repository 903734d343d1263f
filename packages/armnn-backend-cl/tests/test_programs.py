# SPDX-License-Identifier: MIT
"""Programs of OpenCL: built once, kept for other processes, and refused once."""

from __future__ import annotations

import os
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from armnn.backends import BlobStore
from armnn.errors import ExecutionError
from armnn_backend_cl import device as devices
from armnn_backend_cl.device import Program, Queue, open_device

DOUBLE = "__kernel void %s(__global float *x) { x[get_global_id(0)] *= 2; }"

POCL = os.environ.get("POCL_CACHE_DIR", os.path.expanduser("~/.cache/pocl/kcache"))
"""PoCL's own cache, which makes the first process quicker; its builds are counted nevertheless."""

LAYER = """
import numpy as np, pyopencl as cl
built = {str: 0, bytes: 0}
class Program(cl.Program):
    def __init__(self, context, *given):
        built[str if len(given) == 1 else bytes] += 1
        super().__init__(context, *given)
cl.Program = Program
import armnn
net = armnn.Network("layer")
x = net.add_input("x", armnn.TensorInfo((2, 8)))
net.add_output("y", net.add_activation(x, function="ReLu"))
model = armnn.load_model(net, backends=["GpuAcc"])
y = model.run({"x": np.arange(16, dtype=np.float32).reshape(2, 8)})["y"]
print(built[str], built[bytes], y.tobytes().hex())
"""


class Kept(dict[str, bytes], BlobStore):
    """Blobs in memory; the folders that keep them are tested in the core."""

    __hash__ = object.__hash__

    def get(self, key: str) -> bytes | None:  # type: ignore[override]  # the store's, not the mapping's
        return dict.get(self, key)

    def put(self, key: str, blob: bytes) -> None:
        self[key] = blob

    def __str__(self) -> str:
        return "the folder"


class Sources:
    """Counts programs that are made of their text."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        kind = cl.Program

        def program(context: cl.Context, *given: Any) -> cl.Program:
            self.count += len(given) == 1
            return kind(context, *given)

        monkeypatch.setattr(cl, "Program", program)


def test_a_second_process_builds_nothing_from_source(tmp_path: Path) -> None:
    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", LAYER],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path), "POCL_CACHE_DIR": POCL},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.split()

    sources, binaries, first = run()
    assert (int(sources) > 0, binaries) == (True, "0")
    again = run()
    assert again == ["0", sources, first]
    assert not (tmp_path / "pyopencl").exists()


def run_once(program: Program, name: str) -> np.ndarray:
    device = open_device()
    data = np.arange(64, dtype=np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffer = cl.Buffer(device.context, flags, hostbuf=data)
    queue = Queue(device)
    kernel = program.kernel(name)
    kernel.set_arg(0, buffer)
    cl.enqueue_nd_range_kernel(queue.commands, kernel, (64,), (64,))
    cl.enqueue_copy(queue.commands, data, buffer)
    return data


def test_a_program_is_kept_once_its_kernels_have_run(monkeypatch: pytest.MonkeyPatch) -> None:
    device, kept, source = open_device(), Kept(), DOUBLE % "double_it"
    program = Program(device, source, kept, False)
    assert kept == {}  # drivers finish a kernel when it runs first
    np.testing.assert_array_equal(run_once(program, "double_it"), 2 * np.arange(64))
    program.keep({"double_it"})
    ((key, blob),) = kept.items()
    assert device.name in key
    assert device.driver in key
    sources = Sources(monkeypatch)
    again = Program(device, source, kept, False)
    assert sources.count == 0
    assert again.is_warm("double_it")
    np.testing.assert_array_equal(run_once(again, "double_it"), 2 * np.arange(64))
    kept.clear()
    again.keep({"double_it"})
    assert kept == {}  # nothing has become known
    assert Program(device, DOUBLE % "other", Kept({key: blob}), False).kernel("other").function_name


def test_a_program_is_kept_wherever_a_network_wants_it() -> None:
    device, source = open_device(), DOUBLE % "anywhere"
    program = device.program(source)
    program.keep({"anywhere"})
    first, second = Kept(), Kept()
    assert device.program(source, first) is program
    assert len(first) == 1
    device.program(source, second)  # the same folder, by its name
    assert len(second) == 0
    assert Program(device, source, Kept(first), False).is_warm("anywhere")


def test_programs_that_were_not_asked_for_longest_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "MOST_PROGRAMS", 2)
    device = devices.Device(0, open_device().device)
    sources = [DOUBLE % f"number_{i}" for i in range(3)]
    first, second = (device.program(source) for source in sources[:2])
    assert device.program(sources[0]) is first
    gone = weakref.ref(second)
    del second
    third = device.program(sources[2])
    assert gone() is None
    assert device.program(sources[0]) is first
    assert device.program(sources[2]) is third


def test_a_binary_that_the_driver_refuses_is_built_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept, source = Kept(), DOUBLE % "again"
    program = Program(open_device(), source, kept, False)
    program.keep({"again"})
    ((key, _),) = kept.items()
    kept[key] = b"built\0again\0no binary"
    sources = Sources(monkeypatch)
    program = Program(open_device(), source, kept, False)
    assert sources.count == 1
    assert not program.is_warm("again")
    assert "does not take a kept program" in caplog.text
    np.testing.assert_array_equal(run_once(program, "again"), 2 * np.arange(64))


def test_a_failed_build_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kept, sources = Kept(), Sources(monkeypatch)
    with pytest.raises(ExecutionError, match="does not build a program"):
        Program(open_device(), "__kernel void broken(", kept, False)
    with pytest.raises(
        ExecutionError, match=r"(?s)does not build.*an earlier process.*the folder: empty"
    ):
        Program(open_device(), "__kernel void broken(", kept, False)
    assert sources.count == 1
