# SPDX-License-Identifier: MIT
"""Addition, multiplication and addition as one Fused layer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from armnn.errors import InvalidArgumentError
from armnn.graph import Layer, Network, Value
from armnn.layers.elementwise import FusedDescriptor
from armnn.optimizer.assignment.assign import Assignment
from armnn.optimizer.passes._edits import (
    binary_operation,
    discard_unread,
    may_absorb,
    only_reader,
    walk,
)
from armnn.types import BinaryOperation


@dataclass(frozen=True, slots=True, eq=False)
class _AddMulAdd:
    """(x + y) * factor + offset, and the layers that compute it."""

    operands: tuple[Value, ...]
    layers: tuple[Layer, Layer, Layer]

    @property
    def has_other_readers(self) -> bool:
        """Whether the inner sum is read elsewhere, too."""
        return len(self.layers[0].output.uses) > 1


def fuse_add_mul_add(network: Network, assignment: Assignment) -> int:
    """Fuse AddMulAdd where the layers' backend supports Fused.

    (Arm NN does so for CpuAcc.) In floating point only, as quantised arithmetic rounds on the way.
    The Fused layer has a second output where others read the inner sum.

    Args:
        network: Its layers have their backends.
        assignment: Knows the backends and records what is replaced.

    Returns:
        How many Fused layers were made.
    """
    return sum(_fuse(network, layer, assignment) for layer in walk(network))


def _fuse(network: Network, layer: Layer, assignment: Assignment) -> bool:
    found = next(iter(_matches(layer)), None)
    candidate = assignment.by_id(layer.backend or "")
    if found is None or candidate is None:
        return False
    first, _, last = found.layers
    both = found.has_other_readers
    if both and (first.output.info != last.output.info or _needs(found.operands[2:], first)):
        return False
    name = network.unique_name(last.name)
    descriptor = FusedDescriptor(num_output_slots=2 if both else 1)
    try:
        fused = network.add("Fused", found.operands, descriptor, name=name)
    except InvalidArgumentError:
        return False
    if fused.outputs[-1].info != last.output.info or not candidate.supports(fused):
        network.remove(fused)
        return False
    fused.backend, fused.backend_hint, fused.origin = candidate.id, last.backend_hint, last.origin
    network.replace_uses(last.output, fused.outputs[-1])
    discard_unread(network, last.outputs)
    if both:
        network.replace_uses(first.output, fused.outputs[0])
        discard_unread(network, first.outputs)
    network.rename(fused, last.name)
    for replaced in found.layers[:2]:
        assignment.replace(replaced, (), fused)
    assignment.replace(last, (fused,), fused)
    return True


def _needs(values: Iterable[Value], layer: Layer) -> bool:
    """Return whether values are computed from a layer's output.

    A Fused layer that made that output as well would wait for itself.
    """
    waiting = [value.producer for value in values]
    seen: dict[Layer, None] = {}
    while waiting:
        producer = waiting.pop()
        if producer is layer:
            return True
        if producer not in seen:
            seen[producer] = None
            waiting += [value.producer for value in producer.inputs if value is not None]
    return False


def _matches(last: Layer) -> list[_AddMulAdd]:
    """Return the patterns that a layer ends."""
    found = []
    for offset, product in _operands(last, BinaryOperation.ADD):
        middle = product.producer
        if only_reader(product) is not last or not _belongs(last, middle):
            continue
        for factor, total in _operands(middle, BinaryOperation.MUL):
            first = total.producer
            if not _belongs(last, first):
                continue
            for y, x in _operands(first, BinaryOperation.ADD)[:1]:
                found.append(_AddMulAdd((x, y, factor, offset), (first, middle, last)))
    return found


def _operands(layer: Layer, operation: BinaryOperation) -> list[tuple[Value, Value]]:
    """Return the operands of an operation in both orders."""
    if binary_operation(layer) is not operation or not layer.output.info.data_type.is_float:
        return []
    first, second = layer.inputs
    if first is None or second is None:
        return []
    return [(second, first), (first, second)]


def _belongs(last: Layer, layer: Layer) -> bool:
    """Return whether two layers may become one."""
    return layer.backend == last.backend and may_absorb(last, layer)
