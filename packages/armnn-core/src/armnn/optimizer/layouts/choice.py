# SPDX-License-Identifier: MIT
"""The choice of regions that gain by another layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from armnn.backends import Support
from armnn.graph import Layer, Network
from armnn.graph.multiply_adds import multiply_adds_of
from armnn.optimizer.assignment.assign import UNASSIGNED, Assignment
from armnn.optimizer.candidate import Candidate
from armnn.optimizer.layouts.regions import Region, crossing, values_around
from armnn.optimizer.layouts.transposed import transposed
from armnn.optimizer.options import OptimizerOptions
from armnn.types import DataLayout


def choose_layouts(network: Network, assignment: Assignment, options: OptimizerOptions) -> int:
    """Put regions into the layouts that backends wish.

    A region is transposed if its layers that a wish is about add up more products than the
    transposes at its borders, and the tensors that then come from other backends, have elements;
    so a backend without wishes changes nothing. Each backend is asked about the network, as it
    is for the assignment, and once more about all layers that may change.

    Args:
        network: Is changed in place.
        assignment: Has the backends, and gets what they refused.
        options: With ``strict`` only the first backend's wishes count; a region has at least
            ``min_part`` layers.

    Returns:
        How many layers changed their layout.
    """
    waiting, changed = kernels_of(network), 0
    for candidate in assignment.candidates[:1] if options.strict else assignment.candidates:
        mine = [each for each in waiting if _may_get(each, candidate)]
        given = {each: assignment.answers.of(candidate, each) for each in mine}
        wishes = dict.fromkeys(answer.layout for answer in given.values())
        before = changed
        for layout in wishes:
            if layout is not None:
                changed += _transpose(network, candidate, given, layout, assignment, options)
        if changed > before:
            network.remove_unused()
            assignment.answers.ask_about(kernels_of(network))
        waiting = [each for each in waiting if each in network and not given.get(each)]
        if not waiting:
            break
    return changed


def kernels_of(network: Network) -> list[Layer]:
    """Return the layers that need a backend, in topological order."""
    return [layer for layer in network.topological_order() if layer.type not in UNASSIGNED]


def _may_get(layer: Layer, candidate: Candidate) -> bool:
    return layer.backend is None and layer.backend_hint in (None, candidate.id)


def _transpose(
    network: Network,
    candidate: Candidate,
    given: Mapping[Layer, Support],
    layout: DataLayout,
    assignment: Assignment,
    options: OptimizerOptions,
) -> int:
    """Transpose the regions of one backend that gain by it."""
    forms = {
        layer: form
        for layer, answer in given.items()
        if layer in network and (answer or answer.layout is layout)
        if (form := transposed(layer, layout)) is not None
    }
    seeds = [layer for layer in forms if given[layer].layout is layout]
    if not seeds:
        return 0
    region = Region(forms, seeds, layout, candidate, assignment)
    region.shrink()
    for part in region.components():
        if len(part) < options.min_part or not _gains(part, region, given):
            region.leave(part)
    return region.apply(network)


def _gains(part: Sequence[Layer], region: Region, given: Mapping[Layer, Support]) -> bool:
    work = sum(multiply_adds_of(layer) or 0 for layer in part if layer in region.seeds)
    on_backend = {layer for layer, answer in given.items() if answer}
    values = dict.fromkeys(values_around(part))
    before = sum(crossing(value, on_backend) for value in values)
    after = sum(crossing(value, on_backend | set(part)) for value in values)
    return work > sum(map(region.border, values)) + after - before
