# SPDX-License-Identifier: MIT
"""The sample in C over libOpenCL: the kit on its file, on PoCL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyopencl
import pytest

from armnn_backend_api import get_include
from armnn_dynamic_loader import samples

SOURCE = Path(samples.__file__).with_name("acme_opencl.c")
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{get_include()}"]
SHARED = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs"]
WHEEL = Path(pyopencl.__file__).parent
"""Its folder ``.libs`` has a loader and a driver, under names of their own."""

USE = """
import sys, threading
from pathlib import Path
import numpy as np
import armnn
from armnn.backends import TensorHandleFactories
from armnn.backends.native import NativeBackend, NativeLibrary

path = Path(sys.argv[1])
info = armnn.TensorInfo((1, 2, 9, 9))
network = armnn.Network("chain")
x = network.add_input("x", info)
weights = np.linspace(-1, 1, 36, dtype=np.float32).reshape(2, 2, 3, 3)
y = network.add_convolution2d(x, weights, pad_left=1, pad_right=1, pad_top=1, pad_bottom=1)
y = network.add_activation(network.add_addition(y, x), function="TanH", a=1.0, b=1.0)
network.add_output("y", y)
given = [np.random.default_rng(n).standard_normal(info.shape).astype(np.float32) for n in range(4)]
options = armnn.CreationOptions(dynamic_backends_path=str(path.parent))
with armnn.Runtime(options) as runtime:
    model = runtime.load_model(network, ["AcmeOpenCl"])
    assert {row.backend for row in model.report} == {"AcmeOpenCl"}
    serial = [model.run({"x": each})["y"] for each in given]
    parallel = [None] * 4
    def work(n):
        for _ in range(5):
            parallel[n] = model.run({"x": given[n]}, timeout=60)["y"]
    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    for one, other in zip(serial, parallel, strict=True):
        assert one.tobytes() == other.tobytes()  # each context has a stream of its own

    backend, factories = NativeBackend(NativeLibrary.open(path)), TensorHandleFactories()
    backend.register_tensor_handle_factories(factories)
    producer = factories["AcmeOpenCl.device"].create(info, None)
    producer.copy_from(given[0])
    found = model.run({"x": producer.as_buffer()})["y"]  # a cl_mem, read where it is
    assert found.tobytes() == serial[0].tobytes()
print([device.name for device in backend.devices()])
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opencl")
    folder.chmod(0o755)
    path = folder / "Acme_AcmeOpenCl_backend.so"
    subprocess.run(["gcc", *STRICT, *SHARED, "-o", path, SOURCE], check=True)
    return path


@pytest.fixture(scope="module")
def pocl(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment in which libOpenCL.so.1 is the wheel's loader and knows PoCL."""
    folder = tmp_path_factory.mktemp("drivers")
    (loader,), (driver,) = (
        (WHEEL / ".libs").glob(f"{name}-*.so*") for name in ("libOpenCL", "libpocl")
    )
    (folder / "libOpenCL.so.1").symlink_to(loader)
    (folder / "pocl.icd").write_text(f"{driver}\n", encoding="utf-8")
    return {
        **os.environ,
        "LD_LIBRARY_PATH": str(folder),
        "OCL_ICD_VENDORS": str(folder),
        "POCL_CACHE_DIR": str(folder / "cache"),
        "PYOPENCL_HOME": str(WHEEL),
        "XDG_CACHE_HOME": str(folder / "verdicts"),
    }


def test_it_runs_on_a_device_with_a_stream_for_each_thread(
    library: Path, pocl: dict[str, str]
) -> None:
    command = [sys.executable, "-c", USE, str(library)]
    ran = subprocess.run(command, env=pocl, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "Portable Computing Language" in ran.stdout


def test_the_kit_accepts_it(library: Path, pocl: dict[str, str], tmp_path: Path) -> None:
    kit = [sys.executable, "-m", "pytest", "-q", "-rs", "-pno:cacheprovider", "--pyargs"]
    kit += ["armnn_conformance", f"--armnn-backend={library}"]
    layers = ["Addition", "Activation", "Convolution2d"]
    needed = ",".join(f"{layer}:Float32" for layer in layers)
    kit += [f"--armnn-layers={','.join(layers)}", f"--armnn-require={needed}"]
    kit += ["-k", "not trace and not survived and not hostile"]  # which take a minute
    ran = subprocess.run(kit, env=pocl, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "conformance graphs: 29 of several layers passed" in ran.stdout
    assert "memory_of_a_device" not in ran.stdout  # none of these was skipped


def test_it_says_that_there_is_no_device(library: Path, tmp_path: Path) -> None:
    code = "import sys; from armnn.backends.native import *; "
    code += "NativeBackend(NativeLibrary.open(sys.argv[1])).devices()"
    command = [sys.executable, "-c", code, str(library)]
    environment = {**os.environ, "OCL_ICD_VENDORS": str(tmp_path), "LD_LIBRARY_PATH": ""}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    reasons = ("there is no libOpenCL.so.1: install", "libOpenCL.so.1 knows no driver")
    assert any(reason in ran.stderr for reason in reasons), ran.stderr
