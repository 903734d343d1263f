# SPDX-License-Identifier: MIT
from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.errors import InvalidArgumentError
from armnn.runtime import Block, Layout, MemoryValidationError, StrategyValidator
from fakes.plugins import Plugin, backend_plugin, installed

X = np.array([1, -2, 3, 5], np.float32)
TENSOR = 64
"""Bytes of a tensor of four numbers in an arena."""


def chain() -> Network:
    """Return three activations, which need two tensors at a time."""
    network = Network("chain")
    value = network.add_input("x", TensorInfo((4,)))
    for index in range(3):
        value = network.add_activation(value, function="ReLu", name=f"layer{index}")
    network.add_output("y", value)
    return network


def spaced(blocks: Sequence[Block]) -> Layout:
    """Place each block in 256 bytes of its own."""
    return Layout(tuple(256 * index for index in range(len(blocks))), 256 * len(blocks))


def piled(blocks: Sequence[Block]) -> Layout:
    """Place all blocks at the beginning, which is wrong."""
    return Layout((0,) * len(blocks), max(block.size for block in blocks))


@pytest.mark.parametrize(
    ("strategy", "tensors"),
    [
        ("ConstantMemoryStrategy", 4),
        ("SingleAxisPriorityList", 2),
        ("StrategyValidator", 2),
        ("StrategyValidator(ConstantMemoryStrategy)", 4),
        ("StrategyValidator(StrategyValidator(SingleAxisPriorityList))", 2),
        (StrategyValidator("ConstantMemoryStrategy"), 4),
        (StrategyValidator(spaced), 16),
        (spaced, 16),
    ],
)
def test_a_strategy_is_chosen_by_name_or_as_an_object(
    make_backend, make_runtime, strategy: Any, tensors: int
) -> None:
    runtime = make_runtime(make_backend("Fake"), memory_strategies={"*": strategy})
    model = runtime.load_model(chain(), ["Fake"])
    np.testing.assert_array_equal(model.run({"x": X})["y"], np.maximum(X, 0))
    assert model.arena_bytes == tensors * TENSOR


def test_a_backend_has_a_strategy_of_its_own(make_backend, make_runtime) -> None:
    runtime = make_runtime(
        make_backend("First", {"layer2": "not this one"}),
        make_backend("Second"),
        memory_strategy="ConstantMemoryStrategy",
        memory_strategies={"Second": spaced},
    )
    model = runtime.load_model(chain(), ["First", "Second"])
    np.testing.assert_array_equal(model.run({"x": X})["y"], np.maximum(X, 0))
    assert model.arena_bytes == 3 * TENSOR + 256  # the input and two layers; one layer


def test_a_package_brings_a_strategy(tmp_path, monkeypatch) -> None:
    module = ModuleType("armnn_test_strategies")
    vars(module).update(spaced=spaced, number=3)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entries = {"Spaced": f"{module.__name__}:spaced", "Number": f"{module.__name__}:number"}
    entries["Gone"] = "armnn_no_such_module:gone"
    plugin = Plugin("acme-strategies", entry_points={"armnn.memory_strategies": entries})

    def made(strategy: str) -> Runtime:
        return Runtime(CreationOptions(memory_strategy=strategy))

    with installed(tmp_path, plugin, backend_plugin("Null"), alone=True):
        with made("Spaced") as runtime:
            assert runtime.load_model(chain(), ["Null"]).arena_bytes == 4 * 256
        with pytest.raises(InvalidArgumentError, match="strategy 'Number' is 3, expected a fun"):
            made("Number")
        with pytest.raises(InvalidArgumentError, match="'Gone' cannot be imported from armnn_no"):
            made("Gone")
        with pytest.raises(InvalidArgumentError, match=r"Gone, Number, Spaced; .* 'Spaced'\?"):
            made("Spaces")


def test_a_wrong_layout_of_a_users_strategy_is_found(make_backend, make_runtime) -> None:
    for strategy in (piled, StrategyValidator(piled)):
        runtime = make_runtime(make_backend("Fake"), memory_strategies={"Fake": strategy})
        with pytest.raises(MemoryValidationError, match="'piled': blocks 0 and 1 live at the same"):
            runtime.load_model(chain(), ["Fake"])
    flat = {"*": lambda blocks: [0] * len(blocks)}
    runtime = make_runtime(make_backend("Fake"), memory_strategies=flat)
    with pytest.raises(InvalidArgumentError, match=r"lambda>' returns is \[0, 0, 0, 0\], expected"):
        runtime.load_model(chain(), ["Fake"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"memory_strategy": "SingleAxisPriorityLists"},
            r"'SingleAxisPriorityLists': choose one of ConstantMemoryStrategy, SingleAxisPri.*\?",
        ),
        ({"memory_strategy": "StrategyValidator(Best)"}, "no memory strategy 'Best'"),
        ({"memory_strategies": {"*": StrategyValidator("Best")}}, "no memory strategy 'Best'"),
        ({"memory_strategies": {"Fake": "Best"}}, "no memory strategy 'Best'"),
    ],
)
def test_an_unknown_strategy_is_refused_when_the_runtime_is_made(
    make_backend, make_runtime, options: Any, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        make_runtime(make_backend("Fake"), **options)


@pytest.mark.parametrize("strategy", [3, None, StrategyValidator, ["a"]])
def test_what_is_no_strategy_is_refused(strategy: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"the option memory_strategy is .*a text"):
        CreationOptions(memory_strategy=strategy)
    with pytest.raises(InvalidArgumentError, match=r"memory_strategies for 'Fake' is .*, expected"):
        CreationOptions(memory_strategies={"Fake": strategy})
