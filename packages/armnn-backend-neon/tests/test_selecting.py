# SPDX-License-Identifier: MIT
"""Selection along axes, against NumPy: ties, NaN, limits, errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import armnn
from armnn import ArgMinMaxFunction, Network, ReduceOperation
from armnn.errors import ExecutionError
from armnn.tensor import info_of

Array = NDArray[Any]


def run(add: Callable[..., Any], *operands: Array) -> list[Array]:
    """Compute a layer of these operands on CpuAcc."""
    network = Network()
    feeds = {f"input {i}": operand for i, operand in enumerate(operands)}
    made = add(network, *(network.add_input(n, info_of(a)) for n, a in feeds.items()))
    for i, value in enumerate(made if isinstance(made, tuple) else [made]):
        network.add_output(f"output {i}", value)
    results = armnn.load_model(network, backends=["CpuAcc"]).run(feeds)
    return [np.array(result) for result in results.values()]


def numbers(shape: tuple[int, ...]) -> Array:
    """Return numbers with many ties, and NaN in places."""
    x = np.random.default_rng(1).integers(-3, 4, shape).astype(np.float32)
    x.reshape(-1)[:: max(7, x.size // 5)] = np.nan
    return x


SHAPES = [((1,), 0), ((5,), -1), ((3, 700), 0), ((3, 700), 1), ((2, 5, 3), 1), ((4, 1, 2), 1)]


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_the_first_extreme_element_is_found_as_numpy_finds_it(shape: Any, axis: int) -> None:
    for x in (numbers(shape), np.nan_to_num(numbers(shape)).astype(np.int64)):
        for function, exact in (
            (ArgMinMaxFunction.MAX, np.argmax),
            (ArgMinMaxFunction.MIN, np.argmin),
        ):
            (found,) = run(lambda n, v, f=function: n.add_arg_min_max(v, function=f, axis=axis), x)
            assert np.array_equal(found, exact(x, axis=axis))


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
@pytest.mark.parametrize("largest", [True, False])
def test_the_first_of_equal_elements_comes_first(shape: Any, axis: int, largest: bool) -> None:
    x = numbers(shape)
    k = (shape[axis] + 1) // 2
    values, indices = run(lambda n, v: n.add_top_k(v, k=k, axis=axis, largest=largest), x)
    # NaN counts as the largest; stable sorting keeps the lower index first.
    keys = np.where(np.isnan(x), np.inf, x)
    order = np.argsort(-keys if largest else keys, axis=axis, kind="stable")
    expected = np.take(order, range(k), axis)
    assert np.array_equal(indices, expected)
    assert np.array_equal(values, np.take_along_axis(x, expected, axis), equal_nan=True)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint32, np.float64])
def test_other_data_types_are_reduced_in_themselves(dtype: Any) -> None:
    high = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1e300
    x = np.array([[high, 2, 1], [high, 3, 1]], dtype)
    for operation, exact in (
        (ReduceOperation.SUM, np.sum),
        (ReduceOperation.PROD, np.prod),
        (ReduceOperation.MAX, np.max),
        (ReduceOperation.MIN, np.min),
    ):
        (actual,) = run(lambda n, v, o=operation: n.add_reduce(v, axis=(0,), reduce_operation=o), x)
        keywords = {"dtype": dtype} if exact in (np.sum, np.prod) else {}
        with np.errstate(over="ignore"):
            expected = exact(x, axis=0, **keywords)
        assert np.array_equal(actual, expected)


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_outside_of_its_axis_is_an_error(index: int) -> None:
    x = np.zeros((3, 2), np.float32)
    with pytest.raises(ExecutionError, match=f"the index {index} is outside of an axis of 3"):
        run(lambda n, v, i: n.add_gather_elements(v, i), x, np.array([[0, index]], np.int64))
    with pytest.raises(ExecutionError, match=f"the index {index} is outside of an axis of 3"):
        run(lambda n, v, i: n.add_gather_nd(v, i), x, np.array([[0], [index]], np.int32))


def test_negative_indices_count_from_the_end() -> None:
    x = np.arange(6, dtype=np.int16).reshape(3, 2)
    indices = np.array([[-1, 0], [-3, 2]], np.int64)
    (actual,) = run(lambda n, v, i: n.add_gather_elements(v, i, axis=0), x, indices)
    assert np.array_equal(actual, np.take_along_axis(x, indices, 0))
    (actual,) = run(
        lambda n, v, i: n.add_gather_nd(v, i), x, np.array([[-1, -2], [0, 1]], np.int64)
    )
    assert actual.tolist() == [4, 1]


@pytest.mark.parametrize("k", [-9, -1, 0, 2, 9])
def test_triangles_reach_beyond_the_matrix(k: int) -> None:
    x = np.arange(1, 31, dtype=np.float64).reshape(2, 3, 5)
    for upper, exact in ((True, np.triu), (False, np.tril)):
        (actual,) = run(lambda n, v, u=upper: n.add_trilu(v, k=k, upper=u), x)
        assert np.array_equal(actual, exact(x, k))


def test_softmax_in_float64_keeps_its_digits() -> None:
    x = np.random.default_rng(4).standard_normal((3, 4, 2)) * 300
    powers = np.exp(x - x.max(1, keepdims=True))
    expected = powers / powers.sum(1, keepdims=True)
    (actual,) = run(lambda n, v: n.add_softmax(v, axis=1), x)
    np.testing.assert_allclose(actual, expected, rtol=1e-14)
    (actual,) = run(lambda n, v: n.add_log_softmax(v, axis=1), x)
    shifted = x - x.max(1, keepdims=True)
    np.testing.assert_allclose(
        actual, shifted - np.log(np.exp(shifted).sum(1, keepdims=True)), rtol=1e-13, atol=1e-13
    )


@pytest.mark.parametrize("is_computed", [True, False], ids=["over its input", "beside it"])
@pytest.mark.parametrize("kind", [np.float32, np.int8, np.int64])
@pytest.mark.parametrize(("positions", "circular"), [([1, 4], False), ([5, 13], True), (3, False)])
def test_rows_of_a_cache(is_computed: bool, kind: Any, positions: Any, circular: bool) -> None:
    rng = np.random.default_rng(3)
    x, rows = (rng.integers(1, 99, (2, 3, n, 5)).astype(kind) for n in (7, 3))
    places = np.array(positions)

    def add(network: Network, x: Any, rows: Any, places: Any) -> Any:
        # What a layer makes and nothing else reads is overwritten.
        before = network.add_addition(x, x) if is_computed else x
        return network.add_tensor_scatter(before, rows, places, axis=2, circular=circular)

    expected = (x + x) if is_computed else x.copy()
    for n, first in enumerate(np.broadcast_to(places, 2)):
        expected[n][:, (first + np.arange(3)) % 7] = rows[n]
    np.testing.assert_array_equal(run(add, x, rows, places)[0], expected)


@pytest.mark.parametrize("positions", [[5, 0], [0, -1], [2**63 - 1, 0]])
def test_rows_outside_of_a_cache_are_an_error(positions: list[int]) -> None:
    x, rows = np.zeros((2, 7, 5), np.float32), np.ones((2, 3, 5), np.float32)
    with pytest.raises(
        ExecutionError, match=r"3 rows from position .* do not fit into a cache of 7"
    ):
        run(
            lambda network, *each: network.add_tensor_scatter(*each, axis=1),
            x,
            rows,
            np.array(positions),
        )


IN_PLACE = """
import ctypes, mmap
import numpy as np
from armnn import Network
from armnn.backends import ArrayHandle, ModelContext
from armnn.tensor import TensorInfo, info_of
from armnn.types import DataType
from armnn_backend_neon.backend import CpuAccBackend

PAGE, ROWS = mmap.PAGESIZE, 64
memory = mmap.mmap(-1, PAGE * ROWS)
cache = np.frombuffer(memory, np.float32).reshape(1, ROWS, PAGE // 4)
network = Network()
new = np.ones((1, 1, PAGE // 4), np.float32)
values = [network.add_input(n, info_of(a)) for n, a in (("x", cache), ("u", new))]
values.append(network.add_input("p", TensorInfo((1,), DataType.SIGNED64)))
layer = network.add("TensorScatter", values)
backend, model = CpuAccBackend(), ModelContext({})
assert backend.supports(layer, model)
arrays = cache, new, np.array([37])
handles = [ArrayHandle(v.info, a) for v, a in zip(layer.inputs, arrays, strict=True)]
step = backend.create_workload(layer, model).bind(handles, handles[:1])
# All pages but that of row 37 are read-only.
libc = ctypes.CDLL(None, use_errno=True)
for first, count in ((0, 37), (38, ROWS - 38)):
    place = ctypes.c_void_p(cache.ctypes.data + first * PAGE)
    assert libc.mprotect(place, ctypes.c_size_t(count * PAGE), mmap.PROT_READ) == 0
step()
print(cache.sum() == PAGE // 4, cache[0, 37].all())
"""


def test_a_cache_in_place_has_only_its_new_rows_written() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_PLACE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr
