# SPDX-License-Identifier: MIT
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.errors import InvalidArgumentError
from armnn.layers.activation import ActivationDescriptor
from armnn.optimizer import passes
from armnn.optimizer.passes import PASSES
from armnn_tools.debugging import ErrorKind, find_wrong_pass

if TYPE_CHECKING:
    from collections.abc import Callable


def activations(*names: str) -> Network:
    """Return LeakyReLu layers one behind the other."""
    network = Network("chain")
    value = network.add_input("x", TensorInfo((4, 8)))
    for name in names:
        value = network.add_activation(value, function="LeakyReLu", a=0.25, name=name)
    network.add_output("y", value)
    return network


def steepening(name: str) -> Callable[[Network], int]:
    """Return a wrong pass, which changes one layer's parameter."""

    def steepen(network: Network) -> int:
        layer = next((each for each in network.layers if each.name == name), None)
        if layer is None:
            return 0
        descriptor = ActivationDescriptor(function=layer.descriptor.function, a=0.5)
        made = network.add("Activation", layer.inputs, descriptor, name=f"{name} steep")
        network.replace_uses(layer.output, made.output)
        network.remove(layer)
        return 1

    return steepen


def renaming(network: Network) -> int:
    """Change a name, which is right, once."""
    layer = next((each for each in network.layers if each.name == "a"), None)
    if layer is not None:
        network.rename(layer, "a renamed")
    return int(layer is not None)


def test_the_passes_as_they_are_make_nothing_wrong() -> None:
    finding = find_wrong_pass(activations("a", "b"), samples=2)
    assert finding.agrees
    assert finding.name == ""


def test_the_change_of_a_wrong_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "PASSES", (renaming, *PASSES, steepening("b")))
    finding = find_wrong_pass(activations("a", "b", "c"))
    assert (finding.name, finding.number, finding.changes) == ("steepen", 2, 2)
    assert (finding.layers, finding.added) == (("b",), ("b steep",))
    assert (finding.output, finding.figures.kind) == ("y", ErrorKind.VALUES)
    assert not finding.agrees


def test_the_first_of_two_wrong_changes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = (steepening("c"), steepening("b"))
    monkeypatch.setattr(passes, "PASSES", (renaming, *wrong, *PASSES))
    finding = find_wrong_pass(activations("a", "b", "c"))
    assert (finding.number, finding.changes, finding.layers) == (2, 3, ("c",))


def test_a_network_that_waits_for_data_is_refused() -> None:
    network = Network("waits")
    x = network.add_input("x", TensorInfo((4,)))
    zero = network.add_constant(np.zeros(1, np.float32))
    places = network.add_non_zero(network.add_comparison(x, zero, operation="Greater"))
    rows = network.add_transpose(places, dim_mappings=(1, 0))
    network.add_output("y", network.add_floor(network.add_gather_nd(x, rows)))
    with pytest.raises(InvalidArgumentError, match="'waits' waits for computed data: its passes"):
        find_wrong_pass(network)
