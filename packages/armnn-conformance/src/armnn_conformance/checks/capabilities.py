# SPDX-License-Identifier: MIT
"""Checks of stated capabilities by running the backend.

Each check is a function that raises :class:`~armnn_conformance.running.NonconformityError`, or
:class:`NothingToCheckError` where the backend claims no layer that would show it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from armnn.backends import ASYNC_EXECUTION, ArrayHandle, AsyncExecution, Capability, HostAllocator
from armnn.backends.native import NativeBackend
from armnn.graph import Layer
from armnn.tensor import TensorInfo
from armnn.types import DataType, MemorySource
from armnn_conformance.cases import EXTREME, NAN, LayerCase, cases_of, covered_layers, samples_of
from armnn_conformance.checks import stress
from armnn_conformance.checks.correctness import (
    check_runtime,
    check_workload,
    compare,
)
from armnn_conformance.operands import CaseTensor
from armnn_conformance.running import (
    GARBAGE,
    BoundCase,
    NonconformityError,
    layer_of,
    works_in_host_memory,
)
from armnn_conformance.subject import Subject

WITH_WEIGHTS: Final = (
    "FullyConnected",
    "Convolution2d",
    "DepthwiseConvolution2d",
    "TransposeConvolution2d",
    "Convolution3d",
)
"""The layers whose further inputs are weights and a bias."""

WITH_NAN: Final = ("Activation", "Addition", "Maximum", "Minimum", "ElementwiseBinary")
"""Layers among whose cases some expect NaN."""

WITH_EXTREMES: Final = ("Softmax", "LayerNormalization", "Pooling2d", "Mean")
"""Layers among whose cases some are of infinity and the largest numbers."""

ALIGNMENT: Final = 64
PATIENCE_SECONDS: Final = 60
LEFTOVERS: Final = (0x00, 0xFF, GARBAGE)
"""Bytes that an earlier tensor may have left in a block: zeros, NaN, and a small number."""

_Check: TypeAlias = "Callable[[Subject], None]"


class NothingToCheckError(Exception):
    """No claimed layer shows the capability."""


def check_capability(subject: Subject, name: str) -> None:
    """Check the capabilities that the backend states as true.

    Args:
        subject: The backend.
        name: A name of :class:`armnn.backends.Capability`.

    Raises:
        NonconformityError: It does not hold.
        NothingToCheckError: It is not stated as true, or nothing shows it.
    """
    if subject.backend.capabilities.get(name) is not True:
        raise NothingToCheckError(f"the backend does not state {name}")
    try:
        _CHECKS[name](subject)
    except NonconformityError as error:
        raise NonconformityError(f"{name} is stated and does not hold: {error}") from error


def _check_weights(subject: Subject) -> None:
    """Feed weights and biases instead of making them constants."""
    checked = False
    for layer in WITH_WEIGHTS:
        case = next(_claimed(subject, [layer], constants=True, every_case=True), None)
        if case is not None:
            fed = _with_constants(case, lambda _: False)
            answer = subject.supports(layer_of(fed))
            if not answer:
                raise NonconformityError(
                    f"{layer} with weights that are fed is refused: {answer.reason}"
                )
            _check_right(subject, fed)
            checked = True
    if not checked:
        raise NonconformityError(f"none of {', '.join(WITH_WEIGHTS)} is claimed")


def _check_async(subject: Subject) -> None:
    """Submit a step and wait for its results."""
    execution = subject.backend.extension(ASYNC_EXECUTION)
    if not isinstance(execution, AsyncExecution):
        raise NonconformityError(f"extension({ASYNC_EXECUTION!r}) is {execution!r}")
    case, layer = _any_case(subject)

    def submitted(step: Callable[[], object]) -> None:
        with execution.submit(step) as task:
            if not task.wait(PATIENCE_SECONDS):
                raise NonconformityError(f"a step has not ended after {PATIENCE_SECONDS} s")

    compare(BoundCase(subject, layer, case.inputs).run(submitted), case, "a submitted step's")


def _check_protected(subject: Subject) -> None:
    """Give working memory that is declared as protected."""
    _check_allocator(subject, MemorySource.DMA_BUF_PROTECTED)


def _check_external(subject: Subject) -> None:
    """Give working memory of the host."""
    _check_allocator(subject, MemorySource.MALLOC)


def _check_allocator(subject: Subject, source: MemorySource) -> None:
    allocator = HostAllocator()
    allocator.memory_source = source
    answer = subject.backend.accepts_allocator(allocator)
    if not answer:
        raise NonconformityError(
            f"accepts_allocator() refuses an allocator of {source.arm_name} memory: {answer.reason}"
        )
    case = next(_claimed(subject, _fed_layers()), None)
    if case is None:
        raise NothingToCheckError("the backend claims no layer of Float32")
    stress.check_out_of_memory(subject, case, source)


def _check_constants(subject: Subject) -> None:
    """Give all inputs but the first as constants."""
    checked = False
    for layer in (*WITH_WEIGHTS, "Addition", "Multiplication"):
        claimed = _claimed(subject, [layer], every_case=True)
        case = next((each for each in claimed if _second(each) is not None), None)
        if case is not None:
            constant = _with_constants(case, lambda index: index > 0)
            answer = subject.supports(layer_of(constant))
            if not answer:
                raise NonconformityError(
                    f"{layer} with a constant input is refused: {answer.reason}"
                )
            _check_right(subject, constant)
            checked = True
    if not checked:
        raise NothingToCheckError("the backend claims no layer with a second input")


def _check_pre_import(subject: Subject) -> None:
    """Bind a step once, then change its inputs in place."""
    case, layer = _any_case(subject)
    blank = [
        operand if operand is None or operand.constant else _zeroed(operand)
        for operand in case.inputs
    ]
    bound = BoundCase(subject, layer, blank)
    bound.run()
    for turn in ("first", "second"):
        bound.feed(case.inputs)
        compare(bound.run(), case, f"with inputs changed in place, the {turn} run's")


def _check_slab(subject: Subject) -> None:
    """Lay a step's tensors side by side in one block."""
    case, layer = _any_case(subject)
    infos = [*(each.info for each in case.inputs if each is not None), *layer.output_infos]
    sizes = [-(-info.size_bytes // ALIGNMENT) * ALIGNMENT for info in infos]
    slab = _block(sum(sizes) + ALIGNMENT)
    starts = np.cumsum([0, *sizes[:-1]])
    places = [_view(slab, start, info) for start, info in zip(starts, infos, strict=True)]
    inputs, outputs = _handles(layer, case, places)
    before = slab.copy()
    step = subject.backend.create_workload(layer, subject.model).bind(inputs, outputs)
    for _ in range(2):
        step()
    compare([handle.map() for handle in outputs], case, "side by side with others, the step's")
    for start, info in zip(starts[-len(outputs) :], layer.output_infos, strict=True):
        before[start : start + info.size_bytes] = slab[start : start + info.size_bytes]
    if not np.array_equal(slab, before):
        raise NonconformityError("the step wrote to a neighbor of its output in the same block")


def _check_blocks(subject: Subject) -> None:
    """Give outputs blocks in which earlier tensors left bytes."""
    case, layer = _any_case(subject)
    inputs = [None if each is None else _aligned_copy(each) for each in case.inputs]
    blocks = [_block(info.size_bytes) for info in layer.output_infos]
    outputs = [
        ArrayHandle(info, _view(block, 0, info))
        for info, block in zip(layer.output_infos, blocks, strict=True)
    ]
    step = subject.backend.create_workload(layer, subject.model).bind(inputs, outputs)
    for leftover in LEFTOVERS:
        for block in blocks:
            block[:] = leftover
        step()
        results = [handle.map() for handle in outputs]
        compare(results, case, f"in a block that held the bytes {leftover:#04x}, the step's")


def _check_float16(subject: Subject) -> None:
    """Compute a layer of Float16."""
    case = next(_claimed(subject, covered_layers(), DataType.FLOAT16, computed=True), None)
    if case is None:
        raise NonconformityError("no layer that computes is claimed for Float16")
    _check_right(subject, case)


def _check_nan(subject: Subject) -> None:
    """Compute the cases whose results are NaN."""
    cases = [
        case
        for layer in WITH_NAN
        for case in cases_of(layer, DataType.FLOAT32)
        if NAN in case.tags and subject.supports(layer_of(case))
    ]
    if not cases:
        raise NothingToCheckError("the backend claims no case that expects NaN")
    for case in cases:
        _check_right(subject, case)


def _check_extremes(subject: Subject) -> None:
    """Run the claimed cases of infinity and the largest numbers."""
    cases = [
        case
        for layer in WITH_EXTREMES
        for case in cases_of(layer, DataType.FLOAT32)
        if EXTREME in case.tags and subject.supports(layer_of(case))
    ]
    if not cases:
        raise NothingToCheckError("the backend claims no case of the largest numbers")
    for case in cases:
        _check_right(subject, case)


def _check_releases(subject: Subject) -> None:
    """Refuse the statement of backends that are not in C.

    A hostile host, which frees constants at once, checks those that are.
    """
    if not isinstance(subject.backend, NativeBackend):
        raise NonconformityError("it is about `compile` of a backend in C, and this one is not")
    raise NothingToCheckError("a hostile host checks it, which frees constants at once")


_CHECKS: Final[Mapping[str, _Check]] = {
    Capability.NON_CONST_WEIGHTS: _check_weights,
    Capability.ASYNC_EXECUTION: _check_async,
    Capability.PROTECTED_CONTENT_ALLOCATION: _check_protected,
    Capability.CONSTANT_TENSORS_AS_INPUTS: _check_constants,
    Capability.PRE_IMPORT_IO_TENSORS: _check_pre_import,
    Capability.EXTERNALLY_MANAGED_MEMORY: _check_external,
    Capability.MULTI_AXIS_PACKING: _check_slab,
    Capability.SINGLE_AXIS_PACKING: _check_blocks,
    Capability.HAS_FP16: _check_float16,
    Capability.PROPAGATES_NAN: _check_nan,
    Capability.KEEPS_EXTREMES: _check_extremes,
    Capability.RELEASES_CONSTANTS: _check_releases,
}


def _check_right(subject: Subject, case: LayerCase) -> None:
    check_workload(subject, layer_of(case), case)
    check_runtime(subject, case)


def _claimed(
    subject: Subject,
    layers: Sequence[str],
    data_type: DataType = DataType.FLOAT32,
    *,
    constants: bool = False,
    computed: bool = False,
    every_case: bool = False,
) -> Iterator[LayerCase]:
    """Yield claimed cases that are fed, without NaN.

    Args:
        subject: The backend.
        layers: The layer types.
        data_type: The data type.
        constants: Whether an input is a constant.
        computed: Whether results are rounded, rather than moved.
        every_case: Whether all cases of a layer follow, of whose kinds a first one is claimed.
    """
    for layer in layers:
        first = [*samples_of(layer, data_type)]
        is_claimed = every_case and any(subject.supports(layer_of(case)) for case in first)
        for case in itertools.chain(first, cases_of(layer, data_type) if is_claimed else ()):
            given = [each for each in case.inputs if each is not None]
            is_fed = any(not each.constant for each in given)
            is_fit = not constants or any(each.constant for each in given)
            is_fit = is_fit and (not computed or case.tolerance.rtol > 0)
            if is_fed and is_fit and NAN not in case.tags and subject.supports(layer_of(case)):
                yield case


def _any_case(subject: Subject) -> tuple[LayerCase, Layer]:
    """Return a claimed case of known shapes, and its layer."""
    if not works_in_host_memory(subject):
        raise NothingToCheckError("the backend does not work in host memory")
    for case in _claimed(subject, _fed_layers()):
        layer = layer_of(case)
        has_elements = all(0 not in expected.shape for expected in case.expected)
        if has_elements and all(info.is_static for info in layer.output_infos):
            return case, layer
    raise NothingToCheckError("the backend claims no layer of Float32")


def _fed_layers() -> Sequence[str]:
    """Return the layer types, beginning with usual ones."""
    usual = ("Addition", "Softmax", "Activation", "FullyConnected")
    return tuple(dict.fromkeys([*usual, *covered_layers()]))


def _with_constants(case: LayerCase, is_constant: Callable[[int], bool]) -> LayerCase:
    return replace(
        case,
        inputs=tuple(
            None if operand is None else replace(operand, constant=is_constant(index))
            for index, operand in enumerate(case.inputs)
        ),
    )


def _second(case: LayerCase) -> CaseTensor | None:
    return case.inputs[1] if len(case.inputs) > 1 else None


def _zeroed(operand: CaseTensor) -> CaseTensor:
    return replace(operand, stored=np.zeros_like(operand.stored))


def _handles(
    layer: Layer, case: LayerCase, places: Sequence[NDArray[Any]]
) -> tuple[list[ArrayHandle | None], list[ArrayHandle]]:
    """Return handles of filled inputs and of outputs."""
    left = iter(places)
    inputs: list[ArrayHandle | None] = []
    for operand in case.inputs:
        if operand is None:
            inputs.append(None)
            continue
        array = next(left)
        array[...] = operand.stored
        inputs.append(ArrayHandle(operand.info, array))
    return inputs, [ArrayHandle(info, next(left)) for info in layer.output_infos]


def _aligned_copy(operand: CaseTensor) -> ArrayHandle:
    array = _view(_block(operand.stored.nbytes), 0, operand.info)
    array[...] = operand.stored
    return ArrayHandle(operand.info, array)


def _block(size: int) -> NDArray[np.uint8]:
    raw = np.full(size + 2 * ALIGNMENT, GARBAGE, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def _view(block: NDArray[np.uint8], start: int, info: TensorInfo) -> NDArray[Any]:
    body = block[start : start + info.size_bytes]
    return body.view(info.data_type.numpy_dtype).reshape(info.static_shape)
