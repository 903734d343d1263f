# SPDX-License-Identifier: MIT
"""PyTorch's tensors as inputs and outputs, and armnn's memory as tensors."""

from __future__ import annotations

import gc
import mmap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import armnn
from armnn.errors import InvalidArgumentError

X = torch.linspace(-3, 3, 12).reshape(3, 4)
FAST = {"backends": ["CpuAcc", "CpuRef"]}


def rectified(data_type: str = "Float32", **options: Any) -> armnn.LoadedNetwork:
    """Return a model of y = max(x, 0) over [3,4]."""
    network = armnn.Network("rectified")
    x = network.add_input("x", armnn.TensorInfo((3, 4), data_type))
    network.add_output("y", network.add_activation(x, function="ReLu"))
    return armnn.load_model(network, **FAST, **options)


@pytest.mark.parametrize(
    ("dtype", "data_type"),
    [
        (torch.float32, "Float32"),
        (torch.float16, "Float16"),
        (torch.bfloat16, "BFloat16"),
    ],
)
def test_tensors_go_in_and_come_out(dtype: torch.dtype, data_type: str) -> None:
    x = X.to(dtype)
    y = torch.empty_like(x)
    model = rectified(data_type)
    for given in (x, x + 1, x.flip(0)):
        made = model.run({"x": given}, {"y": y})["y"]
        assert torch.equal(y, given.relu())
        assert made.ctypes.data == y.data_ptr()
    handed = armnn.Buffer.from_numpy(model.run({"x": x})["y"])
    assert torch.equal(torch.from_dlpack(handed), x.relu())


def test_results_are_tensors_without_a_copy() -> None:
    made = rectified().run({"x": X})["y"]
    tensor = torch.from_dlpack(made)
    assert tensor.data_ptr() == made.ctypes.data
    del made
    gc.collect()
    assert torch.equal(tensor, X.relu())


def test_views_with_strides_are_read() -> None:
    model = rectified()
    for view in (X.reshape(4, 3).T, X.expand(3, 4), torch.cat([X, X])[::2], X[:1].expand(3, 4)):
        assert torch.equal(torch.from_dlpack(model.run({"x": view})["y"]), view.relu())


def test_tensors_that_record_gradients_are_read() -> None:
    x = (X * 1).requires_grad_()
    model = rectified()
    assert torch.equal(torch.from_dlpack(model.run({"x": x})["y"]), X.relu())
    assert torch.equal(torch.from_dlpack(model.run({"x": x * 2})["y"]), (2 * X).relu())
    assert torch.equal(torch.from_dlpack(model.bind({"x": x})()["y"]), X.relu())
    assert x.requires_grad
    with pytest.raises(InvalidArgumentError, match=r"'y' .*does not give its memory: .*detach\(\)"):
        model.run({"x": X}, {"y": x})


def test_a_bound_call_reads_and_writes_tensors_where_they_are() -> None:
    x, y = X.clone(), torch.empty(3, 4)
    call = rectified().bind({"x": x}, {"y": y})
    assert call.copied == ()
    for value in (1.0, -2.0):
        x.copy_(X * value)
        call()
        assert torch.equal(y, (X * value).relu())
    with pytest.raises(InvalidArgumentError, match="'x' is not contiguous in C order"):
        rectified().bind({"x": X.reshape(4, 3).T})


def test_runs_without_copies() -> None:
    model = rectified(import_enabled=True, export_enabled=True)
    x, y = X.clone(), torch.empty(3, 4)
    model.run({"x": x}, {"y": y})
    assert torch.equal(y, X.relu())


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (X.double(), "the input 'x' is float64: expected float32"),
        (X.to("meta"), "the input 'x' is a Tensor that does not give its memory"),
        (X.to_sparse(), "the input 'x' is a Tensor that does not give its memory"),
        (X.to(torch.complex64), "the memory of a Tensor holds complex numbers of 64 bits"),
    ],
    ids=["type", "meta", "sparse", "complex"],
)
def test_tensors_that_are_refused(tensor: torch.Tensor, message: str) -> None:
    with pytest.raises(armnn.ArmnnError, match=message):
        rectified().run({"x": tensor})


@pytest.mark.parametrize(
    "dtype",
    [
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.uint16, torch.uint32, torch.uint64, torch.float16, torch.float32, torch.float64),
        *(torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
    ],
    ids=str,
)
def test_every_type_goes_both_ways(dtype: torch.dtype) -> None:
    tensor = torch.tensor([[0, 1, 0], [1, 1, 0]]).to(dtype).T
    buffer = armnn.Buffer.from_dlpack(tensor)
    assert buffer.numpy().astype(np.float32).tolist() == tensor.float().tolist()
    again = torch.from_dlpack(buffer)
    assert (again.dtype, again.stride(), again.data_ptr()) == (
        dtype,
        tensor.stride(),
        tensor.data_ptr(),
    )
    copied = armnn.Buffer.from_numpy(buffer.numpy().copy())
    assert torch.from_dlpack(copied).float().tolist() == tensor.float().tolist()


def resident() -> int:
    """Return the bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def test_memory_goes_back_to_torch() -> None:
    before = resident()
    for _ in range(100):
        array = armnn.Buffer.from_dlpack(torch.empty(4 << 20, dtype=torch.uint8)).numpy()
        array[:] = 1  # resident
        kept = torch.from_dlpack(armnn.Buffer.from_numpy(array.copy()))
        del array
    assert int(kept.sum()) == 4 << 20
    assert resident() - before < 100 << 20  # of 800 MB that went through here


def test_threads_share_a_model() -> None:
    model = rectified()

    def answer(value: int) -> bool:
        x, y = X + value, torch.empty(3, 4)
        model.run({"x": x}, {"y": y})
        return torch.equal(y, x.relu())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(answer, range(-100, 100)))
