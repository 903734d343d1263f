# SPDX-License-Identifier: MIT
"""Parts below min_part, and parts that are not worth their copies, go to a backend beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armnn import Network, TensorInfo
from armnn.backends import SUPPORTED, Support
from armnn.errors import InvalidArgumentError, OptimizationError
from armnn.graph import Layer
from armnn.optimizer import OptimizedNetwork, OptimizerOptions
from fakes.backends import DeviceFactory

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


def in_memory(name: str, latency: object = 1000) -> dict[str, Any]:
    """Return the members of a backend with memory of its own."""
    return {
        "handle_factory_preferences": (name,),
        "register_tensor_handle_factories": lambda _, registry: registry.register(
            DeviceFactory(name)
        ),
        "capabilities": {} if latency is None else {"CopyLatencyBytes": latency},
    }


def product(rows: int, depth: int, columns: int) -> Network:
    """Return a layer that a device refuses, a product of matrices, and such a layer."""
    network = Network("product")
    x = network.add_input("x", TensorInfo((rows, depth)))
    x = network.add_addition(x, x, name="before")
    weights = network.add_constant(np.ones((depth, columns), np.float32))
    y = network.add_batch_mat_mul(x, weights, name="product")
    network.add_output("y", network.add_addition(y, y, name="after"))
    return network


NO_ENDS = {"before": "no", "after": "no"}


@pytest.fixture
def device_and_host(make_backend, participants):
    """Return a device with memory of its own, which runs products only, and a host."""
    return participants(make_backend("Npu", NO_ENDS, **in_memory("npu")), make_backend("Cpu"))


def test_a_device_keeps_a_part_that_is_more_work_than_its_copies(device_and_host) -> None:
    # 2 copies of 64 * 64 * 4 bytes are 32,768; 64^3 / 4 products and 16,384 bytes more than these.
    assert backends(product(64, 64, 64), device_and_host) == "CNC"


def test_a_part_that_is_less_work_than_its_copies_goes_to_the_host(device_and_host) -> None:
    # 2 copies that begin are 2,000 bytes; 8^3 / 4 products and 256 bytes are 384.
    assert backends(product(8, 8, 8), device_and_host) == "CCC"
    report = OptimizedNetwork(
        product(8, 8, 8), device_and_host, OptimizerOptions(rewrite=False)
    ).report
    assert report.rows[1].reason == (
        "Npu: its part (1 layer, 512 multiply-adds, 256 bytes of results) is less work than "
        "the 2 copies (512 bytes) that moving it saves"
    )


@pytest.mark.parametrize(("latency", "expected"), [(6144, "CNC"), (6145, "CCC")])
def test_a_part_stays_that_is_as_much_work_as_its_copies(
    make_backend, participants, latency: int, expected: str
) -> None:
    # 32^3 / 4 products and 4,096 bytes of results are 12,288; two copies of 4,096 bytes each count
    # as the bytes of their latency.
    npu = make_backend("Npu", NO_ENDS, **in_memory("npu", latency))
    assert backends(product(32, 32, 32), participants(npu, make_backend("Cpu"))) == expected


@pytest.mark.parametrize("options", [{"min_part": 1}, {"layer_backends": {"product": "Npu"}}])
def test_a_caller_keeps_parts_on_the_device(device_and_host, options) -> None:
    assert backends(product(8, 8, 8), device_and_host, **options) == "CNC"


@pytest.mark.parametrize("latency", [None, 0, -5, True, "many", 1.5])
def test_a_device_that_does_not_say_what_a_copy_takes_keeps_its_parts(
    make_backend, participants, latency: object
) -> None:
    npu = make_backend("Npu", NO_ENDS, **in_memory("npu", latency))
    assert backends(product(8, 8, 8), participants(npu, make_backend("Cpu"))) == "CNC"


def test_backends_in_host_memory_keep_their_parts(make_backend, participants) -> None:
    npu = make_backend("Npu", NO_ENDS, capabilities={"CopyLatencyBytes": 1 << 40})
    assert backends(product(8, 8, 8), participants(npu, make_backend("Cpu"))) == "CNC"


def test_a_part_does_not_go_to_another_device(make_backend, participants) -> None:
    npu = make_backend("Npu", NO_ENDS, **in_memory("npu"))
    other = make_backend("Other", **in_memory("other", None))
    assert backends(product(8, 8, 8), participants(npu, other)) == "ONO"


def test_a_whole_network_stays_on_the_device(make_backend, participants) -> None:
    npu = make_backend("Npu", **in_memory("npu"))
    assert backends(chain("a", "b"), participants(npu, make_backend("Cpu"))) == "NN"


def test_a_tensor_that_stays_on_the_device_is_no_copy_that_is_saved(
    make_backend, participants
) -> None:
    # b reads a's result on the host, c reads it on the device and b's, too. Alone c saves two
    # copies, of b's result and of its own; its own input from a would be one more.
    network = Network("residual")
    x = network.add_input("x", TensorInfo((1000,)))
    a = network.add_addition(x, x, name="a")
    b = network.add_addition(a, a, name="b")
    c = network.add_addition(a, b, name="c")
    network.add_output("y", network.add_addition(c, c, name="d"))
    npu = make_backend("Npu", {"b": "no", "d": "no"}, **in_memory("npu"))
    assert backends(network, participants(npu, make_backend("Cpu"))) == "CCCC"
    keeping = {"layer_backends": {"a": "Npu"}}
    # Now c saves b's copy and its own result's, and b's copy of a's result serves c, too.
    assert backends(network, participants(npu, make_backend("Cpu")), **keeping) == "NCCC"


def test_a_result_whose_size_only_a_run_knows_keeps_its_part(make_backend, participants) -> None:
    network = Network("places")
    x = network.add_input("x", TensorInfo((4,)))
    x = network.add_addition(x, x, name="before")
    network.add_output("y", network.add_non_zero(x, name="places"))

    def runs(_: object, layer: Layer, __: object) -> Support:
        return SUPPORTED if layer.type == "NonZero" else Support.no("no")

    npu = make_backend("Npu", supports=runs, **in_memory("npu"))
    host = make_backend("Cpu", supports=lambda *_: SUPPORTED)
    assert backends(network, participants(npu, host)) == "CN"


def test_strict_is_not_broken_by_a_part_that_goes_to_the_host(make_backend, participants) -> None:
    npu = make_backend("Npu", **in_memory("npu"))
    parties = participants(npu, make_backend("Cpu"))
    options = {"strict": True, "layer_backends": {"before": "Cpu", "after": "Cpu"}}
    assert backends(product(8, 8, 8), parties, **options) == "CNC"
    with pytest.raises(OptimizationError, match="strict mode"):
        backends(
            product(8, 8, 8),
            participants(make_backend("Npu", NO_ENDS), make_backend("Cpu")),
            strict=True,
        )


def test_results_of_handed_back_parts_stay(make_runtime, make_backend) -> None:
    npu = make_backend("Npu", NO_ENDS, **in_memory("npu"))
    runtime = make_runtime(npu, make_backend("Cpu"))
    for min_part, parts in ((1, 3), (None, 1)):
        options = {"backends": ["Npu", "Cpu"], "rewrite": False, "min_part": min_part}
        model = runtime.load_model(product(2, 2, 2), **options)
        assert len(model.report.parts) == parts
        assert model.run({"x": np.float32([[1, 2], [3, 4]])})["y"].tolist() == [[12, 12], [28, 28]]
