# SPDX-License-Identifier: MIT
"""Layers of one backend, fused for it, and subgraphs that it optimizes and compiles itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from armnn.backends import OptimizationViews, OptionValue, SubgraphView, Substitution
from armnn.backends.calling import call, check_views
from armnn.errors import InvalidArgumentError
from armnn.graph import Layer, Network, Value
from armnn.layers.elementwise import FusedDescriptor
from armnn.optimizer.assignment.assign import Assignment, assign_backends
from armnn.optimizer.assignment.partition import partition
from armnn.optimizer.options import OptimizerOptions
from armnn.optimizer.participants import Candidate
from armnn.optimizer.passes._edits import (
    binary_operation,
    discard_unread,
    may_absorb,
    only_reader,
    walk,
)
from armnn.tensor import TensorInfo
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

    (Arm NN does so for CpuAcc.) In floating point only, as quantized arithmetic rounds on the way.
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


Options: TypeAlias = Mapping[str, Mapping[str, OptionValue]]
"""Options of backends for a network, by backend id."""


def optimize_subgraphs(
    network: Network,
    assignment: Assignment,
    options: OptimizerOptions,
    moved: dict[Value, Value] | None = None,
) -> dict[Layer, Layer]:
    """Hand every maximal subgraph to its backend, once.

    Backends are served in the order of preference. What a backend fails to optimize goes to the
    next backend that runs it, which then may optimize it, too.

    Args:
        network: Is changed.
        assignment: The backend of each layer.
        options: The caller's decisions.
        moved: Gets the value that replaced each value at the border of a subgraph.

    Returns:
        For each layer that went, the first layer that stands in its place, if any does.

    Raises:
        OptimizationError: A backend failed, or its views cannot be carried out.
    """
    done: dict[Layer, None] = {}
    replaced: dict[Layer, Layer] = {}
    while (candidate := _next_in_turn(network, assignment, done)) is not None:
        for layers in partition(network, lambda layer: _turn(layer, done)):
            if layers[0].backend != candidate.id or layers[0] in done:
                continue
            refused = _refused_since(candidate, layers, assignment)
            if refused:
                _hand_on(refused, candidate, assignment, options)
                break  # the layers that are left are other subgraphs
            view = SubgraphView.of(network, layers)
            views = _ask(candidate, view)
            check_views(candidate.id, view, views)
            failed = [layer for each in views.failed for layer in each.layers]
            done.update(dict.fromkeys(layer for layer in layers if layer not in failed))
            replacements = _apply(network, candidate, views, done, replaced)
            if moved is not None:
                moved.update(replacements)
            reasons = {
                layer: views.reasons.get(layer.name, "its optimization of the layer failed")
                for layer in failed
            }
            _hand_on(reasons, candidate, assignment, options)
    return replaced


def _refused_since(
    candidate: Candidate, layers: Sequence[Layer], assignment: Assignment
) -> dict[Layer, str]:
    """Return why a backend refuses layers that changed meanwhile.

    A compiled part of another backend may be constant, for example.
    """
    answers = {layer: assignment.answers.of(candidate, layer) for layer in layers}
    return {layer: answer.reason for layer, answer in answers.items() if not answer}


def _hand_on(
    refused: Mapping[Layer, str],
    candidate: Candidate,
    assignment: Assignment,
    options: OptimizerOptions,
) -> None:
    """Give layers that a backend refused to the next one."""
    for layer, reason in refused.items():
        layer.backend = None
        assignment.refuse(layer, candidate.id, reason)
    assign_backends(refused, assignment, options)


def _turn(layer: Layer, done: dict[Layer, None]) -> tuple[str, bool] | None:
    """Return the layer's backend, and whether it is done with the layer.

    Layers go to a backend together if these agree.
    """
    return None if layer.backend is None else (layer.backend, layer in done)


def _next_in_turn(
    network: Network, assignment: Assignment, done: dict[Layer, None]
) -> Candidate | None:
    waiting = {layer.backend for layer in network.layers if layer not in done}
    for candidate in (*assignment.candidates, *assignment.named):
        if candidate.id in waiting:
            return candidate
    return None


def _ask(candidate: Candidate, view: SubgraphView) -> OptimizationViews:
    count, first = len(view.layers), view.layers[0]
    about = f"{count} layers from {first.name!r} ({first.type}) on" if count > 1 else first
    views: OptimizationViews = call(
        candidate.id, candidate.backend, "optimize_subgraph", view, candidate.model, about=about
    )
    return views


def check_options(candidates: Sequence[Candidate], given: Options) -> None:
    """Let backends compile one small layer each, which tells whether they know their options.

    A backend that runs neither an Activation nor an Addition tells it when it compiles its layers.

    Args:
        candidates: The backends.
        given: The options for a network, by backend id.

    Raises:
        ArmnnError: A backend does not know its options.
    """
    asked = [each for each in candidates if given.get(each.id)]
    if not asked:
        return
    network = Network("options")
    x = network.add_input("x", TensorInfo((1, 4)))
    total = network.add_addition(x, x, name="options")
    y = network.add_activation(total, function="ReLu")
    network.add_output("y", y)
    for candidate in asked:
        layer = next(filter(candidate.supports, (total.producer, y.producer)), None)
        if layer is not None:
            model = candidate.backend.create_model_context(given[candidate.id])  # without the cache
            _ask(replace(candidate, model=model), SubgraphView.of(network, [layer]))


def _apply(
    network: Network,
    candidate: Candidate,
    views: OptimizationViews,
    done: dict[Layer, None],
    replaced: dict[Layer, Layer],
) -> dict[Value, Value]:
    """Carry a backend's views out; return the replacement of each value."""
    moved: dict[Value, Value] = {}
    for substitution in views.substitutions:
        layers = _splice(network, substitution, moved)
        for layer in layers:
            layer.backend = layer.backend if layer.backend is not None else candidate.id
        done.update(dict.fromkeys(layers))
        if layers:
            replaced.update(dict.fromkeys(substitution.pattern.layers, layers[0]))
    for deleted in views.deleted:
        for index, value in enumerate(deleted.outputs):
            _replace(network, value, _current(deleted.inputs[index], moved), moved)
        _remove(network, deleted)
    return moved


def _replace(network: Network, old: Value, new: Value, moved: dict[Value, Value]) -> None:
    network.replace_uses(old, new)
    moved[old] = new


def _current(value: Value, moved: Mapping[Value, Value]) -> Value:
    """Return the value that replaced one that a view names.

    Views border on each other, so a value that one reads may be replaced by another one.
    """
    while value in moved:
        value = moved[value]
    return value


def _splice(network: Network, substitution: Substitution, moved: dict[Value, Value]) -> list[Layer]:
    """Replace a pattern in the network; return the new layers."""
    pattern, replacement = substitution.pattern, substitution.replacement
    outside: dict[Value, Value] = {
        layer.output: _current(value, moved)
        for layer, value in zip(replacement.inputs, pattern.inputs, strict=True)
    }
    inner = [
        layer for layer in replacement.topological_order() if layer.type not in ("Input", "Output")
    ]
    values = network.insert_copies(inner, outside)
    twins = [values[layer.outputs[0]].producer for layer in inner if layer.outputs]
    for old, output in zip(pattern.outputs, replacement.outputs, strict=True):
        (new,) = output.inputs
        if new is not None:
            _replace(network, old, values[new], moved)
    _remove(network, pattern)
    for layer, twin in zip((layer for layer in inner if layer.outputs), twins, strict=True):
        if twin.name != layer.name:
            network.rename(twin, layer.name)
    if replacement.is_temporary:
        replacement.clear()  # else the program stays with it until garbage is collected
    return [twin for twin in twins if twin.data is None]


def _remove(network: Network, subgraph: SubgraphView) -> None:
    for layer in reversed(subgraph.layers):
        network.remove(layer)
