# SPDX-License-Identifier: MIT
"""For tests of backends: a layer, foreign memory and a deadline as the runtime gives them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from armnn.backends import (
    ArrayHandle,
    Backend,
    ModelContext,
    Support,
    TensorHandle,
    TensorHandleFactories,
)
from armnn.backends.contract import RunControl, controlled
from armnn.backends.memory import ComputedHandle, ForeignHandle, MappedFile
from armnn.buffer import Buffer
from armnn.graph import Layer, Network, Value
from armnn.graph.layer import make_outputs
from armnn.layers import Descriptor, LayerSpec
from armnn.optimizer import Candidate, OptimizedNetwork, OptimizerOptions, Participants
from armnn.optimizer.layouts import order_to, transposed, twin_of
from armnn.optimizer.shapes.specialize import fill_descriptor, state_target_shape, update_outputs
from armnn.tensor import TensorInfo
from armnn.types import DataLayout, MemorySource


@contextmanager
def ending_after(seconds: float) -> Iterator[None]:
    """Make this thread's work count as a run with a deadline in so many seconds."""
    end = time.perf_counter_ns() + int(seconds * 1e9)
    with controlled(RunControl(deadline_ns=end)):
        yield


def handle_on_buffer(info: TensorInfo, buffer: Buffer) -> TensorHandle:
    """Return a caller's tensor on whatever device, as ``import_in`` gets it."""
    return ForeignHandle(info, buffer)


def handle_on_file(info: TensorInfo, fd: int) -> ArrayHandle:
    """Return a caller's tensor at the begin of a file, as ``import_in`` gets it.

    Args:
        info: The tensor.
        fd: The file, of that size at least; it may be closed afterwards.
    """
    pages = MappedFile.of(fd, 0, info.size_bytes)
    array = np.frombuffer(pages, info.data_type.numpy_dtype).reshape(info.static_shape)
    return ArrayHandle(info, array, MemorySource.MEMFD)


def prepare(network: Network, name: str) -> Layer:
    """Prepare a layer with constant parameters as the optimizer does.

    Args:
        network: The layer's network, whose layers have infos already.
        name: The layer's name.

    Raises:
        ShapeError: A constant is not what the parameter can be.
    """
    layer = network.find(name)
    fill_descriptor(network, layer)
    update_outputs(layer)
    state_target_shape(layer)
    return layer


def foreign_layer(
    spec: LayerSpec, descriptor: Descriptor, name: str, inputs: Sequence[Value]
) -> Layer:
    """Return a layer of a type outside the layer table."""
    layer = Layer(spec, descriptor, name, 1_000_000, tuple(inputs), (None,))
    make_outputs(layer, layer.infer_output_infos())
    return layer


def supports(backend: Backend, model: ModelContext, layer: Layer) -> Support:
    """Return the backend's answer, or the host's for younger layers.

    Raises:
        BackendError: The backend failed instead of answering.
    """
    return Candidate(backend, model).supports(layer)


def optimized_types(network: Network, backend: Backend) -> tuple[str, ...]:
    """Return the optimized network's layer types for one backend."""
    candidate = Candidate.of(backend, {})
    participants = Participants((candidate,), (), tuple, TensorHandleFactories())
    optimized = OptimizedNetwork(network, participants, OptimizerOptions())
    return tuple(layer.type for layer in optimized.network.layers)


def in_layout(layer: Layer, layout: DataLayout) -> Layer | None:
    """Return the form of a layer in a wished layout.

    It is in a network of its own. None if it has no such form: it is in the layout already, or its
    tensors are not images.
    """
    form = transposed(layer, layout)
    return None if form is None else twin_of(layer, form, order_to(layout), Network(), {})


__all__ = ["ComputedHandle", "foreign_layer", "in_layout", "optimized_types", "prepare", "supports"]
