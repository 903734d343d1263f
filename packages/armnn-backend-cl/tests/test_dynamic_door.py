# SPDX-License-Identifier: MIT
"""GpuAcc as a file, Arm_GpuAcc_backend.so, which a runtime finds in a folder.

It is not tried out before: PoCL handles signals, for which a file is left out.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import armnn
from armnn import CreationOptions, Runtime, TensorInfo
from armnn.backends.native import NativeBackend
from armnn.errors import ArmnnError
from armnn_backend_api import get_include
from armnn_backend_cl.device import all_devices
from armnn_dynamic_loader.wrapper import python_backend_source


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the file alone."""
    made = tmp_path_factory.mktemp("dynamic")
    made.chmod(0o755)
    path = made / "Arm_GpuAcc_backend.so"
    command = [
        os.environ.get("CC", "gcc"), "-std=c11", "-O2", "-fPIC", "-shared",
        "-fvisibility=hidden", "-fno-fast-math", "-Wl,-z,defs", f"-I{get_include()}",
        '-DBACKEND_ID="GpuAcc"',
        '-DBACKEND_CLASS="armnn_backend_cl.backend:GpuAccBackend"',
        "-o", str(path), str(python_backend_source()),
    ]  # fmt: skip
    subprocess.run(command, check=True)
    path.chmod(0o755)
    return made


def network() -> armnn.Network:
    rng = np.random.default_rng(0)
    net = armnn.Network("small")
    x = net.add_input("x", TensorInfo((1, 8, 8, 4)))
    y = net.add_convolution2d(
        x, rng.standard_normal((6, 3, 3, 4)).astype(np.float32), data_layout="NHWC"
    )
    y = net.add_reshape(net.add_activation(y, function="ReLu"), target_shape=(1, 216))
    indices = net.add_cast(
        net.add_arg_min_max(y, function="Max", axis=1), output=TensorInfo((1,), "Signed32")
    )
    net.add_output("y", net.add_softmax(y))
    net.add_output("best", indices)
    return net


def test_a_folder_is_the_other_door(folder: Path) -> None:
    x = np.random.default_rng(1).standard_normal((1, 8, 8, 4)).astype(np.float32)
    expected = armnn.load_model(network(), backends=["CpuRef"]).run({"x": x})
    options = CreationOptions(
        dynamic_backends_path=str(folder), enable_static_backends=False, probe_timeout=60
    )
    with Runtime(options) as runtime:
        model = runtime.load_model(network(), backends=["GpuAcc"], strict=True)
        behind = runtime.registry.get("GpuAcc")
        assert isinstance(behind, NativeBackend)
        # The probe reads there what PoCL may change, and this door has no memory of a device.
        assert "signals" in str(behind.capabilities["Disturbs"])
        assert behind.capabilities["KeepsExtremes"] is False
        assert "PreImportIOTensors" not in behind.capabilities
        for _ in range(2):
            made = model.run({"x": x})
            np.testing.assert_allclose(made["y"], expected["y"], rtol=1e-5, atol=1e-7)
            np.testing.assert_array_equal(made["best"], expected["best"])


def test_its_options_are_those_of_the_package(folder: Path) -> None:
    def opened(device: str | int) -> None:
        options = CreationOptions(
            dynamic_backends_path=str(folder),
            enable_static_backends=False,
            probe_timeout=60,
            backend_options={"GpuAcc": {"Device": device}},
        )
        with Runtime(options) as runtime:
            runtime.load_model(network(), backends=["GpuAcc"])

    opened(all_devices()[0].name[:6])
    with pytest.raises(ArmnnError, match="there is no OpenCL device 'quantum': expected an index"):
        opened("quantum")
