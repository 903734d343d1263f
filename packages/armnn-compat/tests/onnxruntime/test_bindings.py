# SPDX-License-Identifier: MIT
"""Bindings read and write the memory of the caller."""

from __future__ import annotations

import numpy as np
import pytest

from armnn_compat import onnxruntime as ort

X = np.array([[1, 2]], np.float32)
Y = np.array([[10, 20], [30, 40]], np.float32)


def test_a_binding_reads_its_inputs_at_each_run(session) -> None:
    x = X.copy()
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_ortvalue_input("y", ort.OrtValue.ortvalue_from_numpy(Y))
    binding.bind_output("z")
    binding.synchronize_inputs()
    session.run_with_iobinding(binding)
    binding.synchronize_outputs()
    (first,) = binding.copy_outputs_to_cpu()
    x *= 2
    session.run_with_iobinding(binding)
    (second,) = binding.get_outputs()
    np.testing.assert_array_equal(first, X + Y)
    np.testing.assert_array_equal(second.numpy(), 2 * X + Y)


def test_a_binding_reads_and_writes_memory_at_addresses(session) -> None:
    z = np.zeros((2, 2), np.float32)
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, X.shape, X.ctypes.data)
    binding.bind_input("y", "cpu", 0, 1, list(Y.shape), Y.ctypes.data)
    binding.bind_output("z", "cpu", 0, np.float32, z.shape, z.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(z, X + Y)
    value = ort.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32)
    binding.bind_ortvalue_output("z", value)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(value.numpy(), X + Y)
    assert binding.get_outputs_as_ortvaluevector()[0].data_ptr() == value.data_ptr()


def test_what_cannot_be_bound_is_refused(session) -> None:
    binding = session.io_binding()
    with pytest.raises(RuntimeError, match="Failed to find NodeArg with name: q in the def list x"):
        binding.bind_cpu_input("q", X)
    with pytest.raises(RuntimeError, match="Failed to find NodeArg with name: q in the def list z"):
        binding.bind_output("q")
    with pytest.raises(RuntimeError, match="the output 'z' is wanted on the device 'cuda'"):
        binding.bind_output("z", "cuda")
    with pytest.raises(RuntimeError, match="the input 'x' is wanted on the device 'cuda'"):
        binding.bind_input("x", "cuda", 0, np.float32, X.shape, X.ctypes.data)
    with pytest.raises(ValueError, match="`element_type` and `shape` are to be provided"):
        binding.bind_output("z", buffer_ptr=1)


def test_a_binding_without_outputs_or_with_too_small_ones_is_refused(session) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", Y)
    with pytest.raises(RuntimeError, match=r"no output is bound: call bind_output\(\)"):
        session.run_with_iobinding(binding)
    binding.bind_ortvalue_output("z", ort.OrtValue.ortvalue_from_numpy(X.copy()))
    with pytest.raises(
        RuntimeError, match=r"'z' is float32 \[2, 2\]: the memory .* is float32 \[1, 2\]$"
    ):
        session.run_with_iobinding(binding)
    binding.clear_binding_outputs()
    binding.clear_binding_inputs()
    binding.bind_output("z")
    with pytest.raises(ValueError, match=r"Required inputs \(\['x', 'y'\]\) are missing"):
        session.run_with_iobinding(binding)
