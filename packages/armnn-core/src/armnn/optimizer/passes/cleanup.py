# SPDX-License-Identifier: MIT
"""Layers with constant results are computed once, equal ones merged, unread ones removed."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from armnn._symbolic import differ_for_other_shapes
from armnn.graph import Layer, Network, Value
from armnn.optimizer.passes._edits import awaits_parameters, discard_unread, walk


class Evaluate(Protocol):
    """Computes a layer whose inputs are constant."""

    def __call__(
        self, layer: Layer, spare: NDArray[Any] | None = None, /
    ) -> Sequence[NDArray[Any]] | None:
        """Return the outputs' data, None if nothing here can.

        Args:
            layer: The layer.
            spare: The data of an input that nothing else needs; an output may be written there.
        """


SMALL_RESULT = 1 << 14
"""A result of at most that many elements is kept, however small the inputs are."""


def fold_constants(network: Network, evaluate: Evaluate, leaving: Collection[str] = ()) -> int:
    """Replace layers with constant inputs by Constant layers.

    (Arm NN has two cases: ConvertConstDequantizationLayersToConstLayers and
    FusePermuteIntoConstLayer.)
    A result of more elements than its inputs have together is computed in each run instead of
    being kept (BroadcastTo, Tile), unless it is smaller than :data:`SMALL_RESULT`.

    Args:
        network: The network.
        evaluate: Computes a layer whose inputs are constant and whose outputs have known shapes;
            None if it cannot.
        leaving: Types of layers that stay.

    Returns:
        How many layers were replaced.
    """
    own: set[Value] = set()
    layers = walk(network)
    return sum(_fold(network, each, evaluate, own) for each in layers if each.type not in leaving)


def _fold(network: Network, layer: Layer, evaluate: Evaluate, own: set[Value]) -> bool:
    """Replace a layer; ``own`` are constants of this pass alone."""
    if not _is_constant(layer) or not _is_worth_keeping(layer):
        return False
    given = [value for value in layer.inputs if value is not None]
    spares = (value.constant for value in given if value in own and len(value.uses) == 1)
    spare = next(spares, None)
    results = evaluate(layer, spare)
    if results is None:
        return False
    others = [value.constant for value in given if value.constant is not spare]
    are_new = [_is_new(results, place, others) for place in range(len(results))]
    outputs = layer.outputs
    names = [value.name for value in outputs]
    constants = [
        network.add_constant(np.asarray(data), value.info, name=network.unique_name(value.name))
        for value, data in zip(outputs, results, strict=True)
    ]
    own.update(itertools.compress(constants, are_new))
    for value, constant in zip(outputs, constants, strict=True):
        network.replace_uses(value, constant)
    discard_unread(network, outputs)
    for name, constant in zip(names, constants, strict=True):
        network.rename(constant.producer, name)
    return True


def _is_new(
    results: Sequence[NDArray[Any]], place: int, others: Iterable[NDArray[Any] | None]
) -> bool:
    """Return whether no other array has a result's memory."""
    more = (*others, *results[:place], *results[place + 1 :])
    made = results[place]
    return not any(other is not None and np.may_share_memory(made, other) for other in more)


def _is_constant(layer: Layer) -> bool:
    """Return whether a layer reads constants only.

    Its result is then constant, too.
    """
    for value in layer.inputs:
        if value is not None and value.producer.data is None:
            return False  # as of nearly all
    # Debug shows what passes in each run.
    return layer.type != "Debug" and not awaits_parameters(layer)


def _is_worth_keeping(layer: Layer) -> bool:
    if not all(info.is_static for info in layer.output_infos):
        return False
    given = sum(info.num_elements for info in layer.input_infos if info is not None)
    made = sum(info.num_elements for info in layer.output_infos)
    return made <= max(given, SMALL_RESULT)


def squash_equal_siblings(network: Network) -> int:
    """Let readers of a layer read an older, equal one.

    Type, parameters, inputs and hint must be the same. (Arm NN: SquashEqualPermuteSiblings,
    ...Transpose..., ...Reshape...; here, of any type.)

    Returns:
        How many layers went.
    """
    first: dict[tuple[str, tuple[Value | None, ...]], list[Layer]] = {}
    changes = 0
    for layer in walk(network):
        if layer.type == "Debug":
            continue
        key = layer.type, layer.inputs
        siblings = first.get(key)
        if siblings is None:
            first[key] = [layer]  # as of most
            continue
        twin = next((each for each in siblings if _are_equal(each, layer)), None)
        if twin is None:
            siblings.append(layer)
            continue
        for ours, theirs in zip(layer.outputs, twin.outputs, strict=True):
            network.replace_uses(ours, theirs)
        discard_unread(network, layer.outputs)
        changes += 1
    return changes


def _are_equal(one: Layer, other: Layer) -> bool:
    """Return whether layers of one type and inputs are equal."""
    shapes = [tuple([info.shape for info in layer.output_infos]) for layer in (one, other)]
    if differ_for_other_shapes(*shapes):
        return False  # they are equal in a batch of 1 only
    return (
        one.descriptor == other.descriptor
        and one.output_infos == other.output_infos
        and one.requested == other.requested
        and one.backend_hint == other.backend_hint
    )


def remove_dead_layers(network: Network) -> int:
    """Remove layers that no output of the network depends on.

    The inputs of the network stay: callers go on passing them.

    Returns:
        How many layers went.
    """
    return network.remove_unused()
