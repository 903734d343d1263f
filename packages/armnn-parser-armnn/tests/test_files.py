# SPDX-License-Identifier: MIT
"""Files of Arm NN's own, and conformance cases through files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_networks import feeds, picture, sequence

import armnn
from armnn import DataType, TensorInfo
from armnn.errors import NotStorableError
from armnn.layers import LAYERS
from armnn_conformance.cases import LayerCase, covered_layers, samples_of
from armnn_conformance.running import feeds_of, network_of, output_name
from armnn_parser_armnn import VERSIONS
from armnn_parser_armnn.reader import parse
from armnn_parser_armnn.schema import ENUMERATIONS, MOST_DIMENSIONS, SINCE, TABLES
from armnn_parser_armnn.schema import LAYERS as STORED
from armnn_parser_armnn.writer import export

DATA = Path(__file__).with_name("data")
ARM_NN_SAYS = {
    # What CpuRef of Arm NN 23.08 computed from its own file.
    "picture": {"scores": np.array([[35, 70, 140]], np.uint8)},
    "sequence": {
        "y": np.array([[0.22068104, -0.06884801], [-0.005888507, -0.18553123]], np.float32),
        "next cells": np.array(
            [
                [0.12845349, -0.7, -0.22141227, 0.57960522],
                [0.20686509, 0.61785138, 0.6550969, 0.25563812],
            ],
            np.float32,
        ),
    },
}
TYPES = tuple(
    DataType.of(name)
    for name in ("Float32", "QAsymmU8", "QAsymmS8", "Signed32", "Boolean", "BFloat16")
)


def data_of(network: armnn.Network, **options: Any) -> bytes:
    return b"".join(bytes(piece) for piece in export(network, **options))


def run(network: armnn.Network, inputs: dict[str, Any]) -> dict[str, Any]:
    return dict(armnn.load_model(network, backends=["CpuRef"]).run(inputs))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("made", [picture, sequence])
def test_a_file_that_arm_nn_wrote_computes_what_arm_nn_computes(made: Any, version: str) -> None:
    name = made.__name__
    network = parse(DATA / f"{name}_{version}.armnn")
    results = run(network, feeds(name))
    for output, expected in ARM_NN_SAYS[name].items():
        np.testing.assert_allclose(results[output], expected, rtol=1e-5, atol=1e-7)
    for output, mine in run(made(), feeds(name)).items():
        np.testing.assert_array_equal(results[output], mine)


def cases() -> Iterator[LayerCase]:
    for layer in covered_layers():
        for data_type in TYPES:
            yield from samples_of(layer, data_type)


def test_every_layer_type_of_the_format_is_written_and_read() -> None:
    """Those without a case: control flow, ports, and outdated layers."""
    stored: set[str] = set()
    for case in cases():
        network = network_of(case)
        for version in VERSIONS:
            try:
                data = data_of(network, for_arm_nn=version)
            except NotStorableError:
                continue
            back = parse(data)
            stored.add(case.layer)
            assert same_outputs(network, back), case.id
    lacking = {name for name in STORED if name in LAYERS and not STORED[name].instead} - stored
    assert lacking == {"Input", "Output", "Constant", "Merge", "Switch", "StandIn"}


def same_outputs(network: armnn.Network, back: armnn.Network) -> bool:
    mine = [layer.inputs[0].info for layer in network.outputs]
    theirs = [layer.inputs[0].info for layer in back.outputs]
    return [(info.shape, info.data_type) for info in mine] == [
        (info.shape, info.data_type) for info in theirs
    ]


def test_every_case_computes_the_same_from_a_file_of_the_extension() -> None:
    seen: set[str] = set()
    with armnn.Runtime() as runtime:
        for case in cases():
            if case.layer in seen and case.data_type is not DataType.BFLOAT16:
                continue
            seen.add(case.layer)
            network = network_of(case)
            back = parse(data_of(network, beyond_arm_nn=True))
            results = []
            for each in (network, back):
                loaded = runtime.load_network(runtime.optimize(each, backends=["CpuRef"]))
                results.append(loaded.run(feeds_of(case)))
                runtime.unload_network(loaded)
            for index in range(len(case.outputs)):
                first, second = (each[output_name(index)] for each in results)
                assert first.dtype == second.dtype
                assert first.tobytes() == second.tobytes(), case.id
    assert len(seen) > 90


@pytest.mark.parametrize("kind", ["Merge", "Switch", "StandIn"])
@pytest.mark.parametrize("version", VERSIONS)
def test_layers_without_a_kernel_are_kept(kind: str, version: str) -> None:
    network = armnn.Network()
    x = network.add_input("x", TensorInfo((2, 3)))
    other = network.add_input("other", TensorInfo((1,), "Boolean"))
    if kind == "Switch":
        made = network.add("Switch", [x, other], name="it").outputs
    elif kind == "Merge":
        made = network.add("Merge", [x, x], name="it").outputs
    else:
        descriptor = LAYERS["StandIn"].descriptor.of(num_outputs=1)
        made = network.add(
            "StandIn", [x, other], descriptor, name="it", outputs=[TensorInfo((4,))]
        ).outputs
    for index, value in enumerate(made):
        network.add_output(f"y{index}", value)
    if len(made) == 2 and version == "20.08":
        assert [layer.name for layer in network.outputs] == ["y0", "y1"]
    back = parse(data_of(network, for_arm_nn=version)).find("it")
    assert (back.type, back.descriptor) == (kind, network.find("it").descriptor)
    assert back.output_infos == network.find("it").output_infos
    assert [value.name for value in back.inputs] == [v.name for v in network.find("it").inputs]


def test_a_file_keeps_names_metadata_and_arithmetic(tmp_path: Path) -> None:
    network = picture()
    network.metadata["license"] = "MIT"
    network.quantized_arithmetic = armnn.types.QuantizedArithmetic.INTEGER
    armnn.save(network, tmp_path / "net.armnn")
    back = parse(tmp_path / "net.armnn")
    assert (back.name, back.metadata) == ("picture", {"license": "MIT"})
    assert back.quantized_arithmetic is armnn.types.QuantizedArithmetic.INTEGER
    named = [(layer.name, layer.type) for layer in back.layers if layer.type != "Constant"]
    assert named == [
        (layer.name, layer.type) for layer in network.layers if layer.type != "Constant"
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["net.armnn"]


def test_parameters_and_quantization_come_back_as_they_were() -> None:
    network = picture()
    back = parse(data_of(network))
    for name in ("deep", "wide", "pooled", "dense", "parts", "joined"):
        mine, theirs = network.find(name), back.find(name)
        if name != "joined":
            assert mine.descriptor == theirs.descriptor
        for ours, other in zip(mine.input_infos, theirs.input_infos, strict=True):
            assert ours is not None
            assert other is not None
            assert (ours.shape, ours.axis, ours.zero_points) == (
                other.shape,
                other.axis,
                other.zero_points,
            )
            np.testing.assert_array_equal(np.float32(ours.scales), np.float32(other.scales))
    for name in ("weights", "bias"):
        np.testing.assert_array_equal(
            network.find("wide").constant(name), back.find("wide").constant(name)
        )


def test_open_dimensions_stay_open() -> None:
    network = armnn.Network()
    x = network.add_input("x", TensorInfo((None, 3, "width")))
    network.add_output("y", network.add_activation(x, function="ReLu"))
    flat = network.add_reshape(x, target_shape=(-1, 3), name="flat")
    network.add_output("flat", flat)
    network.add_output("whatever", network.add_input("open", TensorInfo(None, "Signed64")))
    back = parse(data_of(network))
    assert [layer.output.info for layer in back.inputs] == [
        TensorInfo((None, 3, None)),
        TensorInfo(None, "Signed64"),
    ]
    assert back.find("flat").descriptor == network.find("flat").descriptor
    with pytest.raises(NotStorableError, match=r"is open, which Arm NN 20\.08 lacks"):
        data_of(network, for_arm_nn="20.08")


def test_scalars_and_empty_tensors_come_back() -> None:
    network = armnn.Network()
    x = network.add_input("x", TensorInfo(()))
    network.add_output("y", network.add_addition(x, np.float32(2)))
    network.add_output("none", network.add_constant(np.empty((0, 3), np.float32)))
    results = run(parse(data_of(network)), {"x": np.float32(3)})
    assert results["y"].shape == ()
    assert results["y"] == 5
    assert results["none"].shape == (0, 3)


def test_the_versions_and_tables_agree_with_each_other() -> None:
    assert set(SINCE.values()) == {VERSIONS[-1]}
    assert len({stored.member for stored in STORED.values()}) == len(STORED) == 72
    assert len({stored.number for stored in STORED.values()}) == 72
    assert MOST_DIMENSIONS == 5
    for name in STORED:
        assert TABLES[f"{name}Layer"]["base"][0] == 4
    for numbers in ENUMERATIONS.values():
        assert len(set(numbers.values())) == len(numbers)
