# SPDX-License-Identifier: MIT
"""Runs of one conformance case: by workload, and by runtime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.backends import (
    BACKEND_API_VERSION,
    HOST_FACTORY_ID,
    SUPPORTED,
    ArrayHandle,
    Backend,
    ModelContext,
    Step,
    Support,
    TensorHandle,
    Workload,
)
from armnn.errors import OptimizationError
from armnn.graph import Layer, Network
from armnn.single_layer import ComputedHandle, optimized_types, prepare
from armnn.tensor import TensorInfo
from armnn_conformance.cases import LayerCase
from armnn_conformance.operands import CaseTensor
from armnn_conformance.subject import Subject

LAYER = "layer under test"

SHARED = (
    "something that a call writes belongs to the program or is static, such as scratch memory or a "
    "table; it must belong to the context"
)
"""The finding if calls in several contexts disturb each other."""

GARBAGE = 0xA5
"""The bytes of and around outputs before a run, so that unwritten elements are seen."""

_GUARD_BYTES = 64


class NonconformityError(AssertionError):
    """A backend violates the contract."""


class MemoryDamageError(NonconformityError):
    """A backend wrote to memory that is not its own.

    Later results of the process say nothing about the backend's other layers.
    """


def network_of(case: LayerCase) -> Network:
    """Return a network of a case's layer."""
    network = Network(case.id)
    values = [
        None
        if operand is None
        else network.add_constant(operand.stored, operand.info)
        if operand.constant
        else network.add_input(input_name(index), operand.info)
        for index, operand in enumerate(case.inputs)
    ]
    requested = [info.with_shape(None) for info in case.outputs]
    layer = network.add(case.layer, values, case.descriptor, name=LAYER, outputs=requested)
    for index, value in enumerate(layer.outputs):
        network.add_output(output_name(index), value)
    return network


def layer_of(case: LayerCase) -> Layer:
    """Return a case's layer as a backend gets it.

    Raises:
        NonconformityError: The case and the layer's shape function disagree about an output.
    """
    layer = prepare(network_of(case), LAYER)
    for info, expected in zip(layer.output_infos, case.expected, strict=True):
        if not info.accepts(expected.shape):
            raise NonconformityError(
                f"the case {case.id!r} expects the shape {list(expected.shape)}, but the shape "
                f"function of {case.layer} says {info}"
            )
    return layer


def input_name(index: int) -> str:
    """Return the name of the input that feeds a slot."""
    return f"input {index}"


def output_name(index: int) -> str:
    """Return the name of the output that shows a slot."""
    return f"output {index}"


def without_advice(error: OptimizationError) -> str:
    """Return why a network has no backend, without advice.

    The user would add another backend; the kit is for the vendor of this one.
    """
    lines = str(error).splitlines()
    return "\n".join(line for line in lines if not line.startswith("Add CpuRef"))


def feeds_of(case: LayerCase) -> dict[str, NDArray[Any]]:
    """Return the data of the inputs of :func:`network_of`."""
    return {
        input_name(index): operand.stored
        for index, operand in enumerate(case.inputs)
        if operand is not None and not operand.constant
    }


class BoundCase:
    """A case's layer, bound to guarded tensors in host memory, or to tensors of its device.

    Attributes:
        inputs: The handles of the inputs, None where one is absent.
        outputs: The handles of the outputs.
        memory: The memory manager of its context, if there is one.
    """

    def __init__(self, subject: Subject, layer: Layer, inputs: Sequence[CaseTensor | None]) -> None:
        workload = subject.backend.create_workload(layer, subject.model)
        operands = [None if value is None else inputs[i] for i, value in enumerate(layer.inputs)]
        self._given = [None if operand is None else operand.stored for operand in operands]
        self._factory = None if works_in_host_memory(subject) else subject.own_factory
        self.memory = None if self._factory is None else subject.backend.create_memory_manager()
        read = subject.backend.host_inputs(layer, subject.model)
        made = subject.backend.host_outputs(layer, subject.model)
        self.inputs = [
            None if operand is None else self._input(operand, on_host=index in read)
            for index, operand in enumerate(operands)
        ]
        self._blocks: list[NDArray[np.uint8]] = []
        self.outputs = [
            self._output(info, on_host=index in made)
            for index, info in enumerate(layer.output_infos)
        ]
        self._step = workload.bind_in(self.inputs, self.outputs, self.memory)

    def feed(self, inputs: Sequence[CaseTensor | None]) -> None:
        """Change the inputs in place, but for absent ones."""
        for index, (handle, operand) in enumerate(zip(self.inputs, inputs, strict=True)):
            if handle is not None and operand is not None:
                self._given[index] = operand.stored
                if self._factory is None:
                    handle.copy_from(operand.stored)

    def run(self, by: Callable[[Step], object] | None = None) -> list[NDArray[Any]]:
        """Run the step; return copies of its outputs.

        Args:
            by: The function that runs the step, if it is not simply called.

        Raises:
            NonconformityError: It wrote to an input or past the ends of an output.
        """
        if self.memory is not None:
            self.memory.acquire()
        try:
            return self._run(by)
        finally:
            if self.memory is not None:
                self.memory.release()

    def _run(self, by: Callable[[Step], object] | None) -> list[NDArray[Any]]:
        if self._factory is not None:  # whose memory may hold nothing between runs
            for handle, given in zip(self.inputs, self._given, strict=True):
                if handle is not None and given is not None:
                    handle.copy_from(given)
        for handle in self.outputs:
            if not isinstance(handle, ComputedHandle):
                shape = handle.info.static_shape
                handle.copy_from(np.full(shape, garbage(handle.info)))
        self._step() if by is None else by(self._step)
        results = [contents(handle) for handle in self.outputs]
        for source, given in zip(self.inputs, self._given, strict=True):
            if source is None or given is None:
                continue
            if contents(source).tobytes() != given.tobytes():
                raise MemoryDamageError("the step changed one of its inputs")
        for block in self._blocks:
            if np.any(block[:_GUARD_BYTES] != GARBAGE) or np.any(block[-_GUARD_BYTES:] != GARBAGE):
                raise MemoryDamageError("the step wrote past the ends of an output")
        return results

    def _input(self, operand: CaseTensor, *, on_host: bool) -> TensorHandle:
        if self._factory is None or on_host:
            return ArrayHandle(operand.info, _aligned(operand.stored))
        if not operand.constant:
            return self._factory.create(operand.info, self.memory)
        handle = self._factory.create(operand.info, None)
        handle.copy_from(operand.stored)  # workloads may read constants when they are bound
        return handle

    def _output(self, info: TensorInfo, *, on_host: bool) -> TensorHandle:
        if not info.is_static:
            return ComputedHandle(info)
        if self._factory is not None and not on_host:
            return self._factory.create(info, self.memory)
        block = _aligned(np.full(info.size_bytes + 2 * _GUARD_BYTES, GARBAGE, np.uint8))
        self._blocks.append(block)
        body = block[_GUARD_BYTES : _GUARD_BYTES + info.size_bytes]
        return ArrayHandle(info, body.view(info.data_type.numpy_dtype).reshape(info.static_shape))


def run_in_place(
    subject: Subject, layer: Layer, inputs: Sequence[CaseTensor | None]
) -> list[NDArray[Any]] | None:
    """Run a layer whose output is in the memory of the input that it changes.

    Args:
        subject: The backend.
        layer: One whose type says that it may be.
        inputs: Its inputs.

    Returns:
        Its output; None if the input is a constant or has another type than the output.
    """
    place = layer.spec.input_index(layer.spec.in_place)
    changed, (info,) = inputs[place], layer.output_infos
    if changed is None or changed.constant or changed.info != info:
        return None
    operands = [None if value is None else inputs[i] for i, value in enumerate(layer.inputs)]
    handles = [
        None if each is None else ArrayHandle(each.info, _aligned(each.stored)) for each in operands
    ]
    output = ArrayHandle(info, _aligned(changed.stored))
    handles[place] = ArrayHandle(info, output.map())
    subject.backend.create_workload(layer, subject.model).bind(handles, [output])()
    return [output.map()]


def contents(handle: TensorHandle) -> NDArray[Any]:
    """Return a copy of a tensor."""
    if isinstance(handle, ComputedHandle):
        return handle.map().copy()
    copied = np.empty(handle.info.static_shape, handle.info.data_type.numpy_dtype)
    handle.copy_to(copied)
    return copied


def works_in_host_memory(subject: Subject) -> bool:
    """Return whether the backend's workloads take host memory."""
    preferences = subject.backend.handle_factory_preferences
    return not preferences or HOST_FACTORY_ID in preferences


def run_by_runtime(subject: Subject, case: LayerCase) -> list[NDArray[Any]] | None:
    """Run a case through the public API.

    Returns:
        The stored numbers of the outputs, or None if the optimizer makes another layer of this
        one, which the backend refuses.

    Raises:
        ArmnnError: The backend claims the layer, but the network cannot be prepared or run.
    """
    network = network_of(case)
    try:
        optimized = subject.runtime.optimize(network, backends=[subject.id])
    except OptimizationError as error:
        if is_rewritten(network):
            return None
        raise NonconformityError(without_advice(error)) from None
    loaded = subject.runtime.load_network(optimized)
    try:
        results: Mapping[str, NDArray[Any]] = loaded.run(feeds_of(case))
    finally:
        subject.runtime.unload_network(loaded)
    return [results[output_name(index)] for index in range(len(case.expected))]


def is_rewritten(network: Network) -> bool:
    """Return whether the optimizer replaces the layer under test."""
    return network.find(LAYER).type not in types_after_rewriting(network)


class _ClaimsAll(Backend):
    """Claims every layer, so that the optimized network can be seen."""

    id = "ClaimsAll"
    api_version = BACKEND_API_VERSION

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        return SUPPORTED

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        raise NotImplementedError("the network is only optimized")


def types_after_rewriting(network: Network) -> tuple[str, ...]:
    """Return the types of the layers of an optimized network.

    It is optimized for a backend that claims all layers.
    """
    return optimized_types(network, _ClaimsAll())


def garbage(info: TensorInfo) -> NDArray[Any]:
    """Return one element whose bytes are all garbage."""
    dtype = info.data_type.numpy_dtype
    return np.full(dtype.itemsize, GARBAGE, np.uint8).view(dtype)[0:1].reshape(())


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous copy at a multiple of 64 bytes."""
    raw = np.empty(array.nbytes + _GUARD_BYTES, np.uint8)
    start = -raw.ctypes.data % _GUARD_BYTES
    copy = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
