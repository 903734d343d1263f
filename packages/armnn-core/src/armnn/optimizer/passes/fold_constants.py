# SPDX-License-Identifier: MIT
"""Layers with constant results, computed once."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.graph import Layer, Network, Value
from armnn.optimizer.evaluation import Evaluate
from armnn.optimizer.passes._pattern import awaits_parameters, discard_unread, walk

SMALL_RESULT = 1 << 14
"""A result of at most that many elements is kept, however small the inputs are."""


def fold_constants(network: Network, evaluate: Evaluate, leaving: Collection[str] = ()) -> int:
    """Replace layers with constant inputs by Constant layers.

    (Arm NN has two cases: ConvertConstDequantisationLayersToConstLayers and
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
