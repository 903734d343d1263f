# SPDX-License-Identifier: MIT
"""Compares each layer of a quantized model with CpuRef.

A layer runs alone, on its inputs in the model on CpuRef. From layer to layer differences of a step
grow, so outputs of a whole model are no measure of its layers.
"""

from __future__ import annotations

import dataclasses
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import armnn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from armnn.graph import Layer, Value

Array: TypeAlias = "NDArray[Any]"


def largest_step(
    network: armnn.Network, feed: Mapping[str, Array], backend: str
) -> tuple[int, str]:
    """Return the largest error in steps, and its layer.

    Args:
        network: A model; only layers that make quantized values are run.
        feed: What its inputs are.
        backend: What is compared with CpuRef.
    """
    known = _values(network, feed)
    worst = (0, "")
    for layer in network.topological_order():
        if not any(value.info.is_quantized for value in layer.outputs):
            continue
        if layer.type in ("Input", "Constant") or not known.keys() >= set(_fed(layer)):
            continue
        alone = _alone(network, layer, known)
        inputs = {f"in{i}": known[value] for i, value in enumerate(_fed(layer))}
        right, made = (
            armnn.load_model(alone, backends=backends).run(inputs)
            for backends in (["CpuRef"], [backend, "CpuRef"])
        )
        for name, wanted in right.items():
            off = np.abs(made[name].astype(np.int64) - wanted.astype(np.int64))
            worst = max(worst, (int(off.max(initial=0)), layer.name), key=itemgetter(0))
    return worst


def _read(layer: Layer) -> Iterator[Value]:
    return (value for value in dict.fromkeys(layer.inputs) if value is not None)


def _fed(layer: Layer) -> Iterator[Value]:
    return (value for value in _read(layer) if value.producer.type != "Constant")


def _values(network: armnn.Network, feed: Mapping[str, Array]) -> dict[Value, Array]:
    """Return every value of a network on CpuRef."""
    probe = network.clone()
    asked: dict[str, Value] = {}
    for layer, twin in zip(network.topological_order(), probe.layers, strict=True):
        if layer.type == "Constant":
            continue
        for value, copy in zip(layer.outputs, twin.outputs, strict=True):
            name = f"probe{len(asked)}"
            probe.add_output(name, copy)
            asked[name] = value
    made = armnn.load_model(probe, backends=["CpuRef"]).run(feed)
    return {value: made[name] for name, value in asked.items()}


def _alone(network: armnn.Network, layer: Layer, known: Mapping[Value, Array]) -> armnn.Network:
    """Return a network of one layer with its constants."""
    alone = armnn.Network(layer.name)
    alone.quantized_arithmetic = network.quantized_arithmetic
    replacements = {}
    for i, value in enumerate(_fed(layer)):
        info = dataclasses.replace(value.info, shape=known[value].shape)
        replacements[value] = alone.add_input(f"in{i}", info)
    constants = [v.producer for v in _read(layer) if v.producer.type == "Constant"]
    copies = alone.insert_copies([*constants, layer], replacements)
    for i, value in enumerate(layer.outputs):
        if value.info.is_quantized:
            alone.add_output(f"out{i}", copies[value])
    return alone
