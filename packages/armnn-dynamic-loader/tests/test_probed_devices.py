# SPDX-License-Identifier: MIT
"""Files that take no tensors in host memory are probed with tensors of their device."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn_backend_api import BackendVersion
from armnn_dynamic_loader.probe import Outcome, try_out
from fakes import DEVICE_SOURCE

BYTES = "((armnn_device_buffer *)args->{}[0]->data)->bytes"
WAYS = {
    "writes to its input": (
        [f"-DBEHIND_EXECUTE={BYTES.format('inputs')}[0] ^= 1"], "execute", "writes to input 0",
    ),
    "computes nothing": (
        [f"-DBEHIND_EXECUTE=memset({BYTES.format('outputs')}, 0xff ^ 0xc7, 4)"],
        "execute",
        "answers ARMNN_OK, but writes nothing to output 0 of Addition",
    ),
    "has no way to copy in": (
        ["-DCOPY_IN=NULL"], "describe", "answers 'armnn.device/1' with NULL for copy_in, expected",
    ),
    "is on the host": (
        ["-DDEVICE_TYPE=1"], "describe", "answers 'armnn.device/1' with the device type 1 of host",
    ),
    "says no address": (["-DNO_DATA"], "execute", "answers NULL as the data of a device buffer"),
}  # fmt: skip


@pytest.fixture
def device(compiled: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Return a function that puts the device, compiled with switches, into a folder."""

    def make(*switches: str) -> Path:
        folder = tmp_path / "backends"
        folder.mkdir(mode=0o755, exist_ok=True)
        path = folder / "Acme_Device_backend.so"
        shutil.copyfile(compiled(*switches, source=DEVICE_SOURCE), path)
        path.chmod(0o755)
        return path

    return make


def probed(path: Path) -> Outcome:
    return try_out([str(path)], 30.0)[str(path)]


@pytest.mark.parametrize(
    ("minor", "switches"), [(2, ()), (2, ("-DTAKES_HOST_MEMORY=1",)), (3, ("-DPLACED",))]
)
def test_a_file_of_a_device_passes(
    device: Callable[..., Path], minor: int, switches: tuple[str, ...]
) -> None:
    assert probed(device(*switches)) == Outcome(
        id="AcmeDevice", api_version=BackendVersion(1, minor), version="1.0"
    )


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_misbehave_on_a_device_is_told(device: Callable[..., Path], way: str) -> None:
    switches, stage, reason = WAYS[way]
    outcome = probed(device(*switches))
    assert (outcome.stage, bool(re.match(reason, outcome.reason))) == (stage, True), outcome.reason


@pytest.mark.parametrize("isolate", [(), ("AcmeDevice",)])
@pytest.mark.parametrize("switches", [(), ("-DPLACED",)])
def test_a_file_of_a_device_that_takes_no_host_memory_runs(
    device: Callable[..., Path], switches: tuple[str, ...], isolate: tuple[str, ...]
) -> None:
    network = Network("sum")
    x = network.add_input("x", TensorInfo((5,)))
    network.add_output("y", network.add_addition(x, x))
    given = np.float32([1, -2, 0.5, 0, 3])
    folder = str(device(*switches).parent)
    options = CreationOptions(dynamic_backends_path=folder, isolate=isolate)
    with Runtime(options) as runtime:
        model = runtime.load_model(network, ["AcmeDevice"])
        np.testing.assert_array_equal(model.run({"x": given})["y"], 2 * given)
