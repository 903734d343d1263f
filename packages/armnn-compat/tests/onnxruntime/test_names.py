# SPDX-License-Identifier: MIT
"""Names that programs import: descriptive ones kept, computing ones refused."""

from __future__ import annotations

import numpy as np
import pytest

from armnn_compat import onnxruntime as ort
from armnn_compat.onnxruntime.capi import onnxruntime_pybind11_state as state


def test_memory_is_described_as_it_was_said() -> None:
    info = ort.OrtMemoryInfo(
        "Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT
    )
    assert (info.name, info.allocator_type, info.mem_type) == ("Cpu", 1, 0)
    assert ort.create_and_register_allocator(info, None) is None
    assert ort.create_and_register_allocator_v2("CPUExecutionProvider", info, {}, None) is None
    kinds = ort.OrtMemoryInfoDeviceType, ort.OrtDeviceMemoryType
    made = ort.OrtMemoryInfo.create_v2(
        "Npu", kinds[0].NPU, 0x13B5, 2, kinds[1].HOST_ACCESSIBLE, 64, info.allocator_type
    )
    assert (made.device_vendor_id, made.device_id, made.device_mem_type) == (0x13B5, 2, 5)


def test_the_sizes_of_an_arena_come_in_order_or_by_name() -> None:
    assert ort.OrtArenaCfg(9, 0, -1, 5).max_dead_bytes_per_chunk == 5
    named = ort.OrtArenaCfg({"max_mem": 9, "initial_growth_chunk_size_bytes": 4})
    assert (named.max_mem, named.initial_growth_chunk_size_bytes) == (9, 4)
    with pytest.raises(TypeError, match=r"OrtArenaCfg got \(1, 2\): expected four sizes, or sizes"):
        ort.OrtArenaCfg(1, 2)
    with pytest.raises(
        ValueError, match=r"Invalid OrtArenaCfg option: 'most'; there are \['max_mem'"
    ):
        ort.OrtArenaCfg({"most": 1})


def test_values_are_copied_into_others() -> None:
    source = ort.OrtValue.ortvalue_from_numpy(np.array([1, 2], np.float32))
    target = ort.OrtValue.ortvalue_from_shape_and_type([2], np.float32)
    ort.copy_tensors([source], [target])
    assert target.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="src has 1 values and dst has 2: expected as many"):
        ort.copy_tensors([source], [target, target])


def test_the_bits_of_an_array_are_read_as_another_type() -> None:
    bits = np.array([0x3F80, 0xC000], np.uint16)
    value = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 16)
    assert value.data_type() == "tensor(bfloat16)"
    assert value.numpy().astype(np.float32).tolist() == [1, -2]
    with pytest.raises(RuntimeError, match="uint16 cannot be read as float32: expected elements"):
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, 1)


def test_a_session_makes_values(session) -> None:
    value = session.create_ortvalue_from_shape_and_type([2, 3], np.int64, "cpu")
    assert (value.shape(), value.data_type()) == ([2, 3], "tensor(int64)")


@pytest.mark.parametrize("name", ["LoraAdapter", "ModelCompiler", "SparseTensor", "OrtSyncStream"])
def test_classes_that_are_not_there_are_refused_when_they_are_used(name: str) -> None:
    kind = getattr(ort, name)
    with pytest.raises(state.NotImplemented, match=f"onnxruntime.{name} is used: armnn's stand-in"):
        kind("argument")
    with pytest.raises(state.NotImplemented, match=f"onnxruntime.{name}.load is used: armnn's"):
        kind.load("argument")
    assert not hasattr(kind, "__wrapped__")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ort.register_execution_provider_library("a", "b"), "onnxruntime.register_ex"),
        (lambda: ort.SessionOptions().set_provider_selection_policy(1), "SessionOptions.set_prov"),
        (lambda: ort.RunOptions().add_active_adapter(None), "RunOptions.add_active_adapter"),
        (lambda: ort.OrtValue(np.zeros(1)).as_sparse_tensor(), "OrtValue.as_sparse_tensor"),
    ],
)
def test_what_is_not_there_is_refused_when_it_is_called(call, name: str) -> None:
    with pytest.raises(state.NotImplemented, match=rf"{name}.*\(\) is called: armnn's stand-in"):
        call()


def test_what_is_there_is_printed(capsys) -> None:
    ort.print_debug_info()
    assert capsys.readouterr().out.startswith("armnn-core ")
