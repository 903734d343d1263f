# SPDX-License-Identifier: MIT
"""Parts below min_part go to a backend beside them."""

from __future__ import annotations

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.errors import InvalidArgumentError
from armnn.optimizer import OptimizedNetwork, OptimizerOptions

INFO = TensorInfo((2,))


def chain(*names: str) -> Network:
    """Return additions x+x one after the other, by name."""
    network = Network("chain")
    value = network.add_input("x", INFO)
    for name in names:
        value = network.add_addition(value, value, name=name)
    network.add_output("y", value)
    return network


def backends(network: Network, parties: object, **options: object) -> str:
    """Return the first letter of each layer's backend, in order."""
    given = OptimizerOptions(rewrite=False, **options)
    report = OptimizedNetwork(network, parties, given).report
    return "".join(row.backend[0] for row in report)


@pytest.fixture
def parties(make_backend, participants):
    """Return two backends; Npu refuses b, e and f."""
    no = dict.fromkeys("bef", "not on Npu")
    return participants(make_backend("Npu", no), make_backend("Cpu"))


@pytest.mark.parametrize(
    ("min_part", "expected"), [(1, "NCNNCCN"), (2, "CCNNCCC"), (3, "CCCCCCC"), (99, "CCCCCCC")]
)
def test_parts_of_fewer_layers_go_to_the_backend_beside_them(
    parties, min_part: int, expected: str
) -> None:
    assert backends(chain(*"abcdefg"), parties, min_part=min_part) == expected


def test_the_report_says_why(parties) -> None:
    options = OptimizerOptions(rewrite=False, min_part=3)
    report = OptimizedNetwork(chain(*"abcd"), parties, options).report
    assert [row.reason for row in report] == [
        "Npu: its part has 1 layer, fewer than min_part=3",
        "Npu: not on Npu",
        "Npu: its part has 2 layers, fewer than min_part=3",
        "Npu: its part has 2 layers, fewer than min_part=3",
    ]
    assert all(row.is_fallback for row in report)


def test_a_part_that_no_neighbor_runs_stays(make_backend, participants) -> None:
    first = make_backend("Npu", {"b": "no", "d": "no"})
    parties = participants(first, make_backend("Cpu", {"c": "no"}))
    assert backends(chain(*"abcde"), parties, min_part=9) == "CCNCC"


def test_a_network_of_one_part_stays(make_backend, participants) -> None:
    parties = participants(make_backend("Npu"), make_backend("Cpu"))
    assert backends(chain("a", "b"), parties, min_part=9) == "NN"


def test_a_part_joins_a_neighbor_not_the_next_of_the_list(make_backend, participants) -> None:
    # Mid would make an island of its own: it runs neither a nor c.
    no = {"a": "no", "c": "no"}
    parties = participants(make_backend("Npu", no), make_backend("Mid", no), make_backend("Cpu"))
    assert backends(chain(*"abc"), parties) == "CNC"
    assert backends(chain(*"abc"), parties, min_part=2) == "CCC"


def test_a_layer_that_was_placed_by_name_stays(parties) -> None:
    network = chain(*"abcd")
    assert backends(network, parties, min_part=2, layer_backends={"a": "Npu"}) == "NCNN"
    assert backends(network, parties, min_part=2) == "CCNN"


def test_the_smallest_part_goes_first_and_what_it_joins_has_grown(
    make_backend, participants
) -> None:
    # Once b joins a and c, the part of Mid has five layers and stays.
    npu = make_backend("Npu", dict.fromkeys("acdfgh", "no"))
    parties = participants(npu, make_backend("Mid", dict.fromkeys("fgh", "no")), make_backend("C"))
    assert backends(chain(*"abcdefgh"), parties) == "MNMMNCCC"
    assert backends(chain(*"abcdefgh"), parties, min_part=3) == "MMMMMCCC"


def test_results_stay(make_runtime, make_backend) -> None:
    npu, cpu = make_backend("Npu", dict.fromkeys("bef", "no")), make_backend("Cpu")
    runtime = make_runtime(npu, cpu)
    for min_part, parts in ((1, 5), (2, 3), (3, 1)):
        options = {"backends": ["Npu", "Cpu"], "rewrite": False, "min_part": min_part}
        model = runtime.load_model(chain(*"abcdefg"), **options)
        assert len(model.report.parts) == parts
        assert list(model.run({"x": np.float32([1, -2])})["y"]) == [128, -256]


@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_the_number_is_whole_and_at_least_one(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match=r"the min_part is .*, expected a whole number"):
        OptimizerOptions(min_part=value)
