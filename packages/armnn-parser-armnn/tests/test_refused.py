# SPDX-License-Identifier: MIT
"""Networks that are not storable, files that are unreadable."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_networks import feeds, picture

import armnn
from armnn import DataType, TensorInfo
from armnn.errors import (
    GraphError,
    InvalidArgumentError,
    ModelFileError,
    ModelFileNotFoundError,
    NotStorableError,
    ParseError,
    UnsupportedOperatorError,
)
from armnn.graph import Survey
from armnn_parser_armnn.flat_writer import FlatRecord, flat_pieces
from armnn_parser_armnn.reader import parse
from armnn_parser_armnn.schema import LAYERS, TABLES
from armnn_parser_armnn.writer import export


def data_of(network: armnn.Network, **options: Any) -> bytes:
    return b"".join(bytes(piece) for piece in export(network, **options))


def network_with(layer: str, shape: tuple[int, ...] = (1, 4, 4, 2), **options: Any) -> Any:
    network = armnn.Network("it")
    x = network.add_input("x", TensorInfo(shape, options.pop("data_type", "Float32")))
    made = getattr(network, f"add_{layer}")(x, **options, name="layer")
    network.add_output("y", made if isinstance(made, armnn.Value) else made[0])
    return network


@pytest.mark.parametrize(
    ("layer", "options", "reason"),
    [
        ("activation", {"function": "Mish"}, "its function is Mish, which .armnn files lack"),
        ("activation", {"function": "SoftReLu"}, "which Arm NN reads as Sigmoid"),
        ("pooling2d", {"pool_width": 2, "pool_height": 2, "stride_x": 1, "stride_y": 1,
                       "dilation_x": 2, "pad_right": 1}, "its dilation_x is 2, which Arm NN lacks"),
        ("cum_sum", {"axis": 0}, "the files of Arm NN 23.08 have no such layer"),
        ("activation", {"data_type": "BFloat16"}, "it is BFloat16, which .armnn files lack"),
        ("activation", {"shape": (1,) * 6}, "its rank is 6, and Arm NN's highest is 5"),
        ("pad", {"shape": (), "pad_list": []}, "its pad_list is empty, which Arm NN cannot read"),
    ],
)  # fmt: skip
def test_what_arm_nn_lacks_is_refused_and_kept_by_the_extension(
    layer: str, options: Mapping[str, Any], reason: str
) -> None:
    if layer == "cum_sum":
        network = armnn.Network("it")
        x = network.add_input("x", TensorInfo((2, 3)))
        made = network.add("CumSum", [x, np.int32(0)], name="layer")
        network.add_output("y", made.output)
    else:
        network = network_with(layer, **options)
    with pytest.raises(NotStorableError) as caught:
        data_of(network)
    assert reason in str(caught.value)
    assert str(caught.value).endswith("; beyond_arm_nn=True stores them for armnn alone")
    assert caught.value.layers[-1].startswith(("'layer' (", "'x' (Input)"))
    back = parse(data_of(network, beyond_arm_nn=True)).find("layer")
    assert (back.type, back.descriptor) == (
        network.find("layer").type,
        network.find("layer").descriptor,
    )
    assert back.output_infos == network.find("layer").output_infos


def test_all_reasons_are_listed_at_once() -> None:
    network = network_with("activation", function="Mish")
    x = network.add_cast(network.inputs[0].output, output="Float64", name="wide")
    network.add_output("wide", x)
    with pytest.raises(NotStorableError, match=r"'layer' \(Activation\).*'wide' \(Cast\)") as error:
        data_of(network)
    assert error.value.layers == ("'layer' (Activation)", "'wide' (Cast)")


@pytest.mark.parametrize(
    ("layer", "options", "reason"),
    [
        ("elementwise_unary", {"operation": "Exp"}, "Arm NN 20.08 reads no such layer"),
        ("reduce", {"axis": [1]}, "Arm NN 20.08 reads no such layer"),
        ("pooling2d", {"pool_type": "L2", "pool_width": 2, "pool_height": 2, "stride_x": 1,
                       "stride_y": 1}, "its pool_type is L2, which Arm NN 20.08 lacks"),
        ("softmax", {"axis": 1}, "its axis is 1: Arm NN 20.08 has none"),
        ("pad", {"pad_list": [(0, 0), (1, 1), (1, 1), (0, 0)], "padding_mode": "Reflect"},
         "its padding_mode is Reflect: Arm NN 20.08 has none"),
        ("activation", {"data_type": "Signed64"}, "it is Signed64, which files for Arm NN 20.08"),
        ("addition", {"other": np.ones(2, np.float32)}, "broadcasts equal ranks only"),
    ],
)  # fmt: skip
def test_what_arm_nn_20_08_lacks_is_refused_for_it_only(
    layer: str, options: dict[str, Any], reason: str
) -> None:
    network = network_with(layer, **options)
    assert parse(data_of(network)).find("layer").type == network.find("layer").type
    with pytest.raises(NotStorableError, match=reason):
        data_of(network, for_arm_nn="20.08")


@pytest.mark.parametrize(
    ("layer", "options", "kind"),
    [
        ("elementwise_binary", {"other": np.ones((1, 1, 1, 1), np.float32)}, "Addition"),
        ("elementwise_unary", {"operation": "Abs"}, "ElementwiseUnary"),
        ("elementwise_unary", {"operation": "Rsqrt"}, "ElementwiseUnary"),
        ("reduce", {"axis": [-1], "reduce_operation": "Mean"}, "Mean"),
        ("softmax", {"axis": 3}, "Softmax"),
    ],
)
def test_for_20_08_newer_layers_become_older_ones(
    layer: str, options: dict[str, Any], kind: str
) -> None:
    network = network_with(layer, **options)
    back = parse(data_of(network, for_arm_nn="20.08"))
    assert back.find("layer").type == kind
    x = {"x": np.linspace(0.5, 2, 32, dtype=np.float32).reshape(1, 4, 4, 2)}
    ours = armnn.load_model(network, backends=["CpuRef"]).run(x)["y"]
    theirs = armnn.load_model(back, backends=["CpuRef"]).run(x)["y"]
    np.testing.assert_array_equal(ours, theirs)


def test_a_second_output_is_refused_for_20_08() -> None:
    network = network_with("activation")
    network.add_output("second", network.find("layer").output)
    with pytest.raises(NotStorableError, match="it is output number 1 and comes from"):
        data_of(network, for_arm_nn="20.08")


def test_computed_weights_of_a_member_are_refused() -> None:
    network = armnn.Network()
    x = network.add_input("x", TensorInfo((1, 4)))
    weights = network.add_input("w", TensorInfo((4, 2)))
    network.add_output("y", network.add_fully_connected(x, weights, name="layer"))
    assert parse(data_of(network)).find("layer").inputs[1].name == "w"
    with pytest.raises(NotStorableError, match=r"its weights are computed, and Arm NN 20\.08"):
        data_of(network, for_arm_nn="20.08")


def test_a_computed_shape_is_refused() -> None:
    network = armnn.Network()
    x = network.add_input("x", TensorInfo((1, 4)))
    shape = network.add_input("shape", TensorInfo((2,), "Signed64"))
    network.add_output("y", network.add_reshape(x, shape, name="layer"))
    with pytest.raises(NotStorableError, match="its target_shape is computed"):
        data_of(network)


@pytest.mark.parametrize("groups", ["[2,1,1,2]", "[2,1,1,1]"])
def test_convolutions_in_groups_are_refused(groups: str) -> None:
    network = armnn.Network()
    x = network.add_input("x", TensorInfo((1, 4, 4, 2)))
    shape = (2, 1, 1, int(groups[-2]))
    weights = np.ones(shape, np.float32)
    made = network.add_convolution2d(x, weights, data_layout="NHWC", name="layer")
    network.add_output("y", made)
    if groups == "[2,1,1,2]":
        assert parse(data_of(network)).find("layer").descriptor == network.find("layer").descriptor
        return
    with pytest.raises(NotStorableError, match=r"its weights of shape \[2,1,1,1\] read groups"):
        data_of(network)


def test_arguments_are_checked(tmp_path: Path) -> None:
    network = network_with("activation")
    with pytest.raises(InvalidArgumentError, match=r"for_arm_nn.*'24\.02'.*'20\.08', '23\.08'"):
        armnn.save(network, tmp_path / "a.armnn", for_arm_nn="24.02")
    with pytest.raises(InvalidArgumentError, match="cannot be written"):
        armnn.save(network, tmp_path / "no folder" / "a.armnn")
    with pytest.raises(InvalidArgumentError, match="the network"):
        armnn.save("net", tmp_path / "a.armnn")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(GraphError, match="has no output"):
        armnn.save(armnn.Network(), tmp_path / "a.armnn")
    assert list(tmp_path.iterdir()) == []


def test_a_shared_bias_is_written_with_the_scale_of_each_layer() -> None:
    network = armnn.Network()
    x = network.add_input("x", TensorInfo((1, 2), "QAsymmU8", 0.5, 0))
    bias = network.add_constant(np.int32([3, 4]), name="bias")
    for index, scale in enumerate((0.25, 0.125)):
        info = TensorInfo((2, 2), "QSymmS8", scale, 0)
        weights = network.add_constant(np.ones((2, 2), np.int8), info)
        made = network.add_fully_connected(
            x, weights, bias, name=f"layer{index}", output=TensorInfo(None, "QAsymmU8", 1.0, 0)
        )
        network.add_output(f"y{index}", made)
    back = parse(data_of(network))
    first, second = (back.find(f"layer{index}").inputs[2] for index in (0, 1))
    assert first is not None
    assert second is not None
    assert first is not second
    np.testing.assert_array_equal(first.constant, second.constant)
    x_data = {"x": np.uint8([[4, 6]])}
    ours = armnn.load_model(network, backends=["CpuRef"]).run(x_data)
    theirs = armnn.load_model(back, backends=["CpuRef"]).run(x_data)
    assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


# -- reading ---------------------------------------------------------------------------------------


def stored(layers: list[FlatRecord], **fields: Any) -> bytes:
    graph = FlatRecord("Graph", {"layers": layers, **fields})
    return b"".join(bytes(piece) for piece in flat_pieces(graph, TABLES, b"ARMN"))


def any_layer(
    kind: str,
    index: int,
    sources: list[tuple[int, int]] | None = None,
    infos: list[FlatRecord] | None = None,
    *,
    member: int = 0,
    **fields: Any,
) -> FlatRecord:
    slots = [
        FlatRecord("InputSlot", {"index": slot, "connection": source})
        for slot, source in enumerate(sources or [])
    ]
    outputs = [
        FlatRecord("OutputSlot", {"index": slot, "info": info})
        for slot, info in enumerate(infos or [])
    ]
    base = FlatRecord(
        "Base",
        {"index": index, "name": f"{kind} {index}", "input_slots": slots, "output_slots": outputs},
    )
    if kind in ("Input", "Output"):
        base = FlatRecord("Port", {"base": base, "binding_id": index})
    table = FlatRecord(f"{kind}Layer", {"base": base, **fields})
    return FlatRecord("AnyLayer", {"member": member or LAYERS[kind].member, "layer": table})


def info(*dims: int, **fields: Any) -> FlatRecord:
    return FlatRecord("TensorInfo", {"dimensions": dims, "data_type": 1, **fields})


def between(kind: str, *made: FlatRecord, **fields: Any) -> bytes:
    """Return a file with one layer between the ports."""
    layer = any_layer(kind, 1, [(0, 0)], list(made), **fields)
    return stored(
        [any_layer("Input", 0, [], [info(2, 3)]), layer, any_layer("Output", 2, [(1, 0)])]
    )


def test_a_file_of_the_oldest_scheme_is_read() -> None:
    """Ports are named by index, layers have any order."""
    layers = [
        any_layer("Output", 7, [(5, 0)]),
        any_layer("Abs", 5, [(3, 0)], [info(2, 3)]),
        any_layer("Input", 3, [], [info(2, 3)]),
    ]
    network = parse(stored(layers, input_ids=[3], output_ids=[7]))
    assert [layer.type for layer in network.layers] == ["Input", "ElementwiseUnary", "Output"]
    assert network.find("Abs 5").descriptor.operation is armnn.UnaryOperation.ABS  # type: ignore[attr-defined]  # of this kind


@pytest.mark.parametrize(
    ("kind", "instead", "parameter", "value"),
    [
        ("Rsqrt", "ElementwiseUnary", "operation", "Rsqrt"),
        ("Equal", "Comparison", "operation", "Equal"),
        ("Greater", "Comparison", "operation", "Greater"),
        ("ResizeBilinear", "Resize", "method", "Bilinear"),
        ("Merger", "Concat", "axis", 1),
    ],
)
def test_outdated_layers_become_those_that_replaced_them(
    kind: str, instead: str, parameter: str, value: Any
) -> None:
    shape = (1, 4, 4, 2)
    made, fields = info(*shape), {}
    sources = [(0, 0)] * (1 if kind in ("Rsqrt", "ResizeBilinear") else 2)
    if kind in ("Equal", "Greater"):
        made = info(*shape, data_type=4)
    if kind == "ResizeBilinear":
        fields = {"parameters": FlatRecord(kind, {"target_width": 4, "target_height": 4})}
    if kind == "Merger":
        made = info(1, 8, 4, 2)
        views = [FlatRecord("Numbers", {"data": (0, at, 0, 0)}) for at in (0, 4)]
        fields = {"parameters": FlatRecord("Origins", {"view_origins": views})}
    layers = [
        any_layer("Input", 0, [], [info(*shape)]),
        any_layer(kind, 1, sources, [made], **fields),
        any_layer("Output", 2, [(1, 0)]),
    ]
    layer = parse(stored(layers)).find(f"{kind} 1")
    found = getattr(layer.descriptor, parameter)
    assert layer.type == instead
    assert getattr(found, "arm_name", found) == value


def test_overlapping_views_become_slices() -> None:
    views = FlatRecord(
        "Splitter",
        {
            "origins": FlatRecord(
                "Origins",
                {"view_origins": [FlatRecord("Numbers", {"data": (0, at)}) for at in (0, 1)]},
            ),
            "view_sizes": [FlatRecord("Numbers", {"data": (2, 2)})] * 2,
        },
    )
    data = between("Splitter", info(2, 2), info(2, 2), parameters=views)
    network = parse(data)
    assert [layer.type for layer in network.layers].count("Slice") == 2
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (made,) = armnn.load_model(network, backends=["CpuRef"]).run({"Input 0": x}).values()
    np.testing.assert_array_equal(made, x[:, :2])


def test_an_overridden_input_is_reshaped() -> None:
    slot = {
        "index": 0,
        "connection": (0, 0),
        "is_overridden": True,
        "overriding_info": info(3, 2),
    }
    base = FlatRecord(
        "Base",
        {
            "index": 1,
            "name": "floor",
            "input_slots": [FlatRecord("InputSlot", slot)],
            "output_slots": [FlatRecord("OutputSlot", {"info": info(3, 2)})],
        },
    )
    table = FlatRecord("FloorLayer", {"base": base})
    layers = [
        any_layer("Input", 0, [], [info(2, 3)]),
        FlatRecord("AnyLayer", {"member": LAYERS["Floor"].member, "layer": table}),
        any_layer("Output", 2, [(1, 0)]),
    ]
    network = parse(stored(layers))
    assert [layer.type for layer in network.layers] == ["Input", "Reshape", "Floor", "Output"]


def test_one_element_of_rank_one_follows_a_scalar() -> None:
    """Arm NN reduces to rank 1, armnn to a scalar."""
    axes = FlatRecord("Mean", {"axis": (0, 1)})
    network = parse(between("Mean", info(1), parameters=axes))
    assert network.find("Mean 1").type == "Reshape"
    assert network.outputs[0].inputs[0].info.shape == (1,)  # type: ignore[union-attr]  # it is there


def test_all_unknown_layers_are_named_at_once() -> None:
    number = 99
    unknown = FlatRecord("Activation", {"function": number})
    layers = [
        any_layer("Input", 0, [], [info(2, 3)]),
        any_layer("Floor", 1, [(0, 0)], [info(2, 3)], member=90),
        any_layer("Activation", 2, [(0, 0)], [info(2, 3)], parameters=unknown),
        any_layer("Floor", 3, [(2, 0)], [info(2, 3)]),
        any_layer("Output", 4, [(3, 0)]),
        any_layer("Output", 5, [(0, 0)]),
    ]  # fmt: skip
    data = stored(layers)
    with pytest.raises(UnsupportedOperatorError) as caught:
        parse(data)
    assert "90 (layer 'Floor 1'): it is newer than the files of Arm NN 23.08" in str(caught.value)
    assert "Activation (layer 'Activation 2'): its function is number 99" in str(caught.value)
    survey = Survey()
    network = parse(data, survey=survey)
    assert len(survey.refused) == 2
    assert [operator.type for operator in survey.cut_off] == ["Floor", "Output"]
    assert [layer.name for layer in network.outputs] == ["Output 5"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is not an .armnn file: its first bytes do not lead to a table"),
        (b"\x18\0\0\0TFL3" + bytes(40), "it is marked as 'TFL3'"),
        (bytes(60), "is not an .armnn file"),
        (stored([]), "is not an .armnn file, or has no layers"),
        (stored([any_layer("Input", 0, [], [info(1)])]), "has no output"),
        (stored([any_layer("Floor", 0), any_layer("Floor", 0)]), "two layers have the index 0"),
        (stored([FlatRecord("AnyLayer")]), "layer 0 has no base"),
        (
            stored([any_layer("Floor", 0, [(1, 0)], [info(1)]), any_layer("Floor", 1, [(0, 0)])]),
            "its layers form a cycle: 'Floor 0', 'Floor 1'",
        ),
        (stored([any_layer("Floor", 0, [(9, 0)])]), "reads layer 9, which does not exist"),
        (
            stored([any_layer("Input", 0, [], [info(1)])], input_ids=[3]),
            "it has no Input layer of the index 3",
        ),
        (
            stored([any_layer("Input", 0, [], [info(1)]), any_layer("Output", 1, [(0, 4)])]),
            "it reads output 4 of layer 0, which is not there",
        ),
        (between("Floor", info(2, 4)), "layer 'Floor 1' .* is declared with shape"),
        (between("Floor", info(2, 3), info(2, 3)), "with these parameters has 1 outputs"),
        (between("Addition", info(2, 3)), "has 1 inputs, expected 2"),
        (between("BatchNormalization", info(2, 3)), "it has no mean"),
        (stored([any_layer("BatchNormalization", 0)]), "has 0 inputs, expected 1"),
        (between("Lstm", info(2, 3)), "has 1 inputs, expected 3"),
        (between("Floor", info(2, 3, known=(True,))), "1 flags that say whether these are known"),
        (between("Floor", info(2, 3, data_type=99)), "has the data type 99, which is not known"),
        (between("Floor", info(2, 3, dimensionality=9)), "has the dimensionality 9"),
        (between("Constant", info(2, 3)), "has 1 inputs, expected 0"),
        (
            between("StandIn", info(2), parameters=FlatRecord("StandIn", {"beyond": "{"})),
            "its extension cannot be read",
        ),
        (
            between("StandIn", info(2), parameters=FlatRecord(
                "StandIn", {"beyond": '{"type": "Floor", "parameters": {}, "inputs": [3]}'})),
            r"its extension names the inputs \[3\] for 1",
        ),
        (between("Splitter", info(2, 3)), "it has no origins of views"),
        (
            between("Pad", info(2, 3), parameters=FlatRecord("Pad", {"pad_list": (1,)})),
            "its pad_list has 1 numbers, expected pairs",
        ),
    ],
)  # fmt: skip
def test_malformed_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(data)


def test_data_of_a_constant_has_to_fit() -> None:
    values = FlatRecord("Ints", {"data": [1, 2, 3]})
    fields = {"info": info(2, 2), "member": 3, "data": values}
    layer = any_layer("Constant", 0, [], [info(2, 2)], input=FlatRecord("ConstTensor", fields))
    data = stored([layer, any_layer("Output", 1, [(0, 0)])])
    with pytest.raises(ParseError, match=r"has 12 bytes of data, expected Float32\[2,2\] with 16"):
        parse(data)
    layer = any_layer(
        "Constant", 0, [], [info(2, 2)], input=FlatRecord("ConstTensor", {"info": info(2, 2)})
    )
    with pytest.raises(ParseError, match="a constant of it has no data"):
        parse(stored([layer, any_layer("Output", 1, [(0, 0)])]))


def test_notes_that_are_none_are_refused() -> None:
    layers = [any_layer("Input", 0, [], [info(1)]), any_layer("Output", 1, [(0, 0)])]
    with pytest.raises(ParseError, match="its notes cannot be read"):
        parse(stored(layers, notes="[1"))


def test_ports_without_a_name_are_named_by_their_binding() -> None:
    data = bytearray(data_of(network_with("activation")))
    for name in (b"\x01\0\0\0x\0", b"\x01\0\0\0y\0"):
        at = data.index(name)
        struct.pack_into("<I", data, at, 0)
    network = parse(bytes(data))
    assert [layer.name for layer in (*network.inputs, *network.outputs)] == ["input_0", "output_0"]


def test_every_shortened_file_is_refused() -> None:
    network = picture()
    network.name = ""
    data = data_of(network)
    for size in range(0, len(data) - 8, 7):
        with pytest.raises(ParseError):
            parse(data[:size])


def test_folders_and_missing_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is not a regular file"):
        parse(tmp_path)
    with pytest.raises(ModelFileNotFoundError):
        parse(tmp_path / "none.armnn")


def test_misaligned_data_is_copied() -> None:
    """An offset may lead anywhere; arrays of networks are aligned."""
    network = parse(b"".join([data_of(picture())]))
    for layer in network.layers:
        if layer.data is not None:
            assert layer.data.flags.aligned
    results = armnn.load_model(network, backends=["CpuRef"]).run(feeds("picture"))
    assert results["scores"].dtype == DataType.QASYMM_U8.numpy_dtype
