# SPDX-License-Identifier: MIT
"""The data of tensors is read, dense or sparse, in the file and beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import DataType
from armnn.errors import ParseError
from armnn.tensor import TensorInfo
from armnn_parser_tflite.model_file import read_model
from armnn_parser_tflite.parser import parse
from armnn_parser_tflite.schema import Tensor, read_subgraph
from armnn_parser_tflite.tensors import Buffers, info_of, to_array

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _read(lite: Any, tensor: Any, edit: Any = None) -> tuple[Tensor, Buffers]:
    data = lite.build([], {"t": tensor}, [], ["t"], edit=edit)
    model = read_model(data)
    return read_subgraph(model, 0).tensors[0], Buffers(model)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("float32", DataType.FLOAT32),
        ("float16", DataType.FLOAT16),
        ("float64", DataType.FLOAT64),
        ("int8", DataType.SIGNED8),
        ("uint8", DataType.UNSIGNED8),
        ("int16", DataType.SIGNED16),
        ("int32", DataType.SIGNED32),
        ("int64", DataType.SIGNED64),
        ("bool", DataType.BOOLEAN),
    ],
)
def test_types_without_a_scale_are_plain(lite: Any, kind: str, expected: DataType) -> None:
    data = np.array([[0, 1], [1, 0]]).astype(kind)
    tensor, buffers = _read(lite, lite.constant(data))
    assert info_of(tensor) == TensorInfo((2, 2), expected)
    array = to_array(tensor, buffers)
    assert array is not None
    assert array.dtype == data.dtype
    np.testing.assert_array_equal(array, data)


@pytest.mark.parametrize(
    ("kind", "zero", "expected"),
    [
        ("int8", 3, DataType.QASYMM_S8),
        ("int8", 0, DataType.QASYMM_S8),
        ("uint8", 3, DataType.QASYMM_U8),
        ("int16", 0, DataType.QSYMM_S16),
    ],
)
def test_one_scale(lite: Any, kind: str, zero: int, expected: DataType) -> None:
    tensor, _ = _read(lite, lite.Tensor(kind, (2, 3), scale=0.5, zero_point=zero))
    assert info_of(tensor) == TensorInfo((2, 3), expected, 0.5, zero)


@pytest.mark.parametrize(
    ("kind", "zero", "expected"),
    [
        ("int8", 0, DataType.QSYMM_S8),
        ("int8", 1, DataType.QASYMM_S8),
        ("uint8", 1, DataType.QASYMM_U8),
    ],
)
def test_scales_along_an_axis(lite: Any, kind: str, zero: int, expected: DataType) -> None:
    tensor, _ = _read(lite, lite.Tensor(kind, (2, 3), scale=[0.5, 1, 2], zero_point=zero, axis=1))
    assert info_of(tensor) == TensorInfo((2, 3), expected, (0.5, 1, 2), (zero,) * 3, 1)


def test_one_zero_point_holds_for_all_scales(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.subgraphs[0].tensors[0].quantization.zeroPoint = [4]

    tensor, _ = _read(lite, lite.Tensor("int8", (2,), scale=[0.5, 1]), edit)
    assert info_of(tensor).zero_points == (4, 4)


def test_biases_are_plain(lite: Any) -> None:
    tensor, _ = _read(lite, lite.Tensor("int32", (2,), scale=[0.5, 1]))
    assert info_of(tensor) == TensorInfo((2,), DataType.SIGNED32)


def test_int4_is_unpacked_and_sign_extended(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.subgraphs[0].tensors[0].type = 17
        model.buffers[1].data = [0x91, 0x7F, 0x08]

    tensor, buffers = _read(lite, lite.constant(np.zeros(5, np.int8), scale=0.5), edit)
    assert info_of(tensor) == TensorInfo((5,), DataType.QASYMM_S8, 0.5)
    array = to_array(tensor, buffers)
    assert array is not None
    assert array.tolist() == [1, -7, -1, 7, -8]


def test_any_byte_but_zero_is_true(lite: Any) -> None:
    def edit(model: Any) -> None:
        model.buffers[1].data = [0, 7, 255]

    tensor, buffers = _read(lite, lite.constant(np.zeros(3, bool)), edit)
    array = to_array(tensor, buffers)
    assert array is not None
    assert array.tolist() == [False, True, True]


def test_a_tensor_of_no_elements_needs_no_data(lite: Any) -> None:
    tensor, buffers = _read(lite, lite.Tensor("int32", (2, 0)))
    array = to_array(tensor, buffers)
    assert array is not None
    assert array.shape == (2, 0)


def test_a_tensor_without_data_has_none(lite: Any) -> None:
    tensor, buffers = _read(lite, lite.Tensor("int32", (2,)))
    assert to_array(tensor, buffers) is None


@pytest.mark.parametrize("shape", [(3,), (1,), (2**24, 2**20)])
def test_data_that_does_not_fit_is_refused(lite: Any, shape: tuple[int, ...]) -> None:
    tensor, buffers = _read(lite, lite.Tensor("float32", shape, np.zeros(2, np.float32)))
    with pytest.raises(ParseError, match=r"the tensor 't' has 8 bytes of data: expected \d+"):
        to_array(tensor, buffers)


@pytest.mark.parametrize(
    ("kind", "rest", "message"),
    [
        ("int8", {"scale": -1.0}, "'t': the scales of .* must be finite and above zero"),
        ("int8", {"scale": [1, 2, 3]}, "'t': the axis 0 of .* has size 2, but there are 3 scales"),
        ("int8", {"scale": [1, 2], "axis": 9}, "'t': the quantization axis 9 is not an axis"),
        ("int8", {"scale": 0.5, "zero_point": 2**40}, "'t': the zero points .* must fit 32 bits"),
    ],
)
def test_malformed_scales_are_refused(
    lite: Any, kind: str, rest: dict[str, Any], message: str
) -> None:
    tensor, _ = _read(lite, lite.Tensor(kind, (2, 2), **rest))
    with pytest.raises(ParseError, match=message):
        info_of(tensor)


DATA = np.float32([1, 2, 3, 4])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    (inside / "data.bin").write_bytes(b"pad!" + DATA.tobytes())
    (inside / "sub" / "data.bin").write_bytes(b"pad!" + DATA.tobytes())
    (tmp_path / "secret.bin").write_bytes(b"pad!" + DATA.tobytes())
    return inside


def _added(lite: Any, edit: Any) -> bytes:
    data: bytes = lite.build(
        lite.Op("ADD", ["x", "w"]),
        {
            "x": lite.Tensor(shape=(4,)),
            "w": lite.constant(DATA),
            "y": lite.Tensor(shape=(4,)),
        },
        edit=edit,
    )
    return data


def _external(lite: Any, location: str = "data.bin", **fields: Any) -> bytes:
    """Return a model whose weights are in another file."""

    def edit(model: Any) -> None:
        group, buffer = lite.schema.ExternalBufferGroupT(), lite.schema.ExternalBufferT()
        group.name = location
        buffer.id, buffer.group, buffer.offset, buffer.length = 7, 0, 4, 16
        buffer.packing = "unpacked"
        for name, value in fields.items():
            setattr(buffer, name, value)
        model.externalBufferGroups, model.externalBuffers = [group], [buffer]
        model.subgraphs[0].tensors[1].externalBuffer = 7
        model.subgraphs[0].tensors[1].buffer = 0

    return _added(lite, edit)


@pytest.mark.parametrize(("count", "is_view"), [(4096, False), (4097, True)])
def test_only_large_data_keeps_the_file(lite: Any, count: int, is_view: bool) -> None:
    data = np.arange(count, dtype=np.float32)
    info = {"x": lite.Tensor(shape=(count,)), "w": lite.constant(data)}
    source = lite.build(lite.Op("ADD", ["x", "w"]), {**info, "y": lite.Tensor(shape=(count,))})
    constant = parse(source).find("w").data
    assert constant is not None
    assert np.array_equal(constant, data)
    assert np.shares_memory(constant, np.frombuffer(source, np.uint8)) == is_view


def _weights(source: Any) -> list[float]:
    constant = parse(source).find("w").data
    assert constant is not None
    numbers: list[float] = constant.tolist()
    return numbers


def _behind(lite: Any, offset: int, size: int = 16) -> bytes:
    """Return a model with weights placed behind its tables."""

    def edit(model: Any) -> None:
        model.buffers[1].data = None
        model.buffers[1].offset, model.buffers[1].size = offset, size

    return _added(lite, edit)


def test_data_behind_the_tables(lite: Any) -> None:
    length = len(_behind(lite, 1 << 20))
    data = _behind(lite, length + 8) + bytes(8) + DATA.tobytes()
    assert _weights(data) == [1, 2, 3, 4]
    with pytest.raises(ParseError, match=rf"buffer 1 spans the bytes {length + 8} to"):
        parse(data[:-1])


def test_unaligned_data_is_copied(lite: Any) -> None:
    length = len(_behind(lite, 1 << 20))
    data = _behind(lite, length + 1) + bytes(1) + DATA.tobytes()
    assert _weights(data) == [1, 2, 3, 4]


def test_data_in_another_file(lite: Any, folder: Path) -> None:
    for location in ("data.bin", "sub/data.bin"):
        path = folder / "m.tflite"
        path.write_bytes(_external(lite, location))
        assert _weights(path) == [1, 2, 3, 4]
        read = {name: status.st_ino for name, status in parse(path).external_files.items()}
        assert read == {location: (folder / location).stat().st_ino}


def test_a_cached_model_is_not_parsed_until_data_in_another_file_changes(
    lite: Any, folder: Path
) -> None:
    path = folder / "m.tflite"
    path.write_bytes(_external(lite))
    for factor, is_new in (1, True), (1, False), (2, True), (2, False):
        if is_new:
            (folder / "data.bin").write_bytes(b"pad!" + (factor * DATA).tobytes())
        loaded = armnn.load_model(path, backends=["CpuRef"], cache_dir=folder / "cache")
        made = loaded.run({"x": np.zeros(4, np.float32)})["y"]
        np.testing.assert_array_equal(made, factor * DATA)
        assert (loaded.load_times["parse"] > 0) == is_new


@pytest.mark.parametrize(
    ("location", "fields", "message"),
    [
        ("data.bin", {"length": 8}, "'w' has 8 bytes of data: expected 16"),
        ("data.bin", {"offset": 8}, "'w' spans the bytes 8 to 24 of '.*data.bin', which has 20"),
        ("data.bin", {"offset": 2**63}, "'w' spans the bytes 9223372036854775808 to"),
        ("data.bin", {"packing": "int4"}, "'w' is packed as 'int4': expected unpacked data"),
        ("data.bin", {"id": 8}, "'w' is in the external buffer 7, which the file lacks"),
        ("data.bin", {"group": 1}, "it names the external group 1 of 1"),
        ("absent.bin", {}, "'w' cannot be read: .*absent.bin'"),
        ("sub", {}, "'w' cannot be read:|'w' is not in a regular file"),
        ("../secret.bin", {}, r"'w' has the location '../secret.bin': expected a path below"),
        (r"..\secret.bin", {}, "expected a path below the model's folder"),
        ("sub/../../secret.bin", {}, "expected a path below the model's folder"),
        ("/etc/passwd", {}, "expected a path below the model's folder"),
        (r"C:\data.bin", {}, "expected a path below the model's folder"),
        ("", {}, "expected a path below the model's folder"),
        ("a\0b", {}, "expected a path below the model's folder"),
    ],
)
def test_what_does_not_lead_to_data_is_refused(
    lite: Any, folder: Path, location: str, fields: dict[str, Any], message: str
) -> None:
    path = folder / "m.tflite"
    path.write_bytes(_external(lite, location, **fields))
    with pytest.raises(ParseError, match=message):
        parse(path)


def test_links_out_of_the_folder_are_refused(lite: Any, folder: Path) -> None:
    (folder / "link.bin").symlink_to(folder.parent / "secret.bin")
    path = folder / "m.tflite"
    path.write_bytes(_external(lite, "link.bin"))
    with pytest.raises(ParseError, match=r"'link\.bin', which leads out of the model's folder"):
        parse(path)


def test_bytes_have_the_folder_that_is_said_only(lite: Any, folder: Path) -> None:
    with pytest.raises(ParseError, match="a model given as bytes has no folder: say folder="):
        parse(_external(lite))
    constant = parse(_external(lite), folder=folder).find("w").data
    assert constant is not None
    assert constant.tolist() == [1, 2, 3, 4]


def test_tensors_that_share_unaligned_data_do_not_fill_the_memory(lite: Any) -> None:
    """Each copy counts against the size of the file."""
    elements = 25_000
    names = [f"w{index}" for index in range(400)]
    tensors = {name: lite.Tensor("float32", (elements,)) for name in ("x", *names, "y")}

    def tables(offset: int) -> bytes:
        def edit(model: Any) -> None:
            buffer = lite.schema.BufferT()
            buffer.offset, buffer.size = offset, 4 * elements
            model.buffers.append(buffer)
            for tensor in model.subgraphs[0].tensors[1:-1]:
                tensor.buffer = 1

        data: bytes = lite.build(lite.Op("ADD_N", ["x", *names]), tensors, edit=edit)
        return data

    length = len(tables(1 << 20))
    with pytest.raises(ParseError, match="its vectors are longer than the file"):
        parse(tables(length + 1) + bytes(1 + 4 * elements))


MATRIX = np.float32([[0, 0, 5, 0], [0, 0, 0, 0], [1, 0, 0, 7]])
ROWS = np.float32([5, 1, 7])


def _vector(lite: Any, level: Any, field: str, numbers: list[int], kind: str) -> None:
    vector = getattr(lite.schema, kind + "T")()
    vector.values = numbers
    setattr(level, field, vector)
    setattr(level, field + "Type", getattr(lite.schema.SparseIndexVector, kind))


def _dense_level(lite: Any, size: int) -> Any:
    level = lite.schema.DimensionMetadataT()
    level.format, level.denseSize = 0, size
    return level


def _sparse_level(
    lite: Any, segments: list[int], indices: list[int], kind: str = "Uint8Vector"
) -> Any:
    level = lite.schema.DimensionMetadataT()
    level.format = 1
    _vector(lite, level, "arraySegments", segments, kind)
    _vector(lite, level, "arrayIndices", indices, kind)
    return level


def _model(
    lite: Any,
    stored: NDArray[Any],
    shape: tuple[int, ...],
    order: list[int],
    levels: list[Any],
    blocks: list[int] | None = None,
) -> bytes:
    """Return a model that adds a sparse constant."""

    def edit(model: Any) -> None:
        sparsity = lite.schema.SparsityParametersT()
        sparsity.traversalOrder, sparsity.dimMetadata = order, levels
        sparsity.blockMap = [] if blocks is None else blocks
        model.subgraphs[0].tensors[1].sparsity = sparsity

    data: bytes = lite.build(
        [lite.Op("DENSIFY", ["w"], ["d"]), lite.Op("ADD", ["x", "d"])],
        {
            "x": lite.Tensor(shape=shape),
            "w": lite.Tensor("float32", shape, stored),
            "d": lite.Tensor(shape=shape),
            "y": lite.Tensor(shape=shape),
        },
        edit=edit,
    )
    return data


def _sparse_weights(data: bytes) -> NDArray[Any]:
    constant = parse(data).find("w").data
    assert constant is not None
    return constant


@pytest.mark.parametrize("kind", ["Int32Vector", "Uint16Vector", "Uint8Vector"])
def test_compressed_rows(lite: Any, kind: str) -> None:
    levels = [_dense_level(lite, 3), _sparse_level(lite, [0, 1, 1, 3], [2, 0, 3], kind)]
    np.testing.assert_array_equal(
        _sparse_weights(_model(lite, ROWS, (3, 4), [0, 1], levels)), MATRIX
    )


def test_compressed_columns(lite: Any) -> None:
    levels = [_dense_level(lite, 4), _sparse_level(lite, [0, 1, 1, 2, 3], [2, 0, 2])]
    data = _model(lite, np.float32([1, 5, 7]), (3, 4), [1, 0], levels)
    np.testing.assert_array_equal(_sparse_weights(data), MATRIX)


def test_blocks_of_an_axis(lite: Any) -> None:
    """One block of 2 is stored per row of 4."""
    levels = [
        _dense_level(lite, 2),
        _sparse_level(lite, [0, 1, 2], [1, 0]),
        _dense_level(lite, 2),
    ]
    data = _model(lite, np.float32([1, 2, 3, 4]), (2, 4), [0, 1, 2], levels, [1])
    np.testing.assert_array_equal(_sparse_weights(data), [[0, 0, 1, 2], [3, 4, 0, 0]])


def test_densify_is_what_litert_makes_of_it(lite: Any) -> None:
    levels = [_dense_level(lite, 3), _sparse_level(lite, [0, 1, 1, 3], [2, 0, 3])]
    data = _model(lite, ROWS, (3, 4), [0, 1], levels)
    feeds = {"x": np.ones((3, 4), np.float32)}
    np.testing.assert_array_equal(lite.run(data, feeds)["y"], lite.run_litert(data, feeds)["y"])


@pytest.mark.parametrize(
    ("order", "segments", "indices", "blocks", "message"),
    [
        ([0, 0], [0, 1, 1, 3], [2, 0, 3], [], "levels are not those of its axes and blocks"),
        ([0, 1, 2], [0, 1, 1, 3], [2, 0, 3], [], "levels are not those of its axes and blocks"),
        ([0, 1], [0, 1, 1, 3], [2, 0, 3], [5], "levels are not those of its axes and blocks"),
        ([0, 1], [0, 1], [2, 0, 3], [], "a level of it has 2 segments"),
        ([0, 1], [0, 1, 1, 4], [2, 0, 3], [], "a segment of it is outside of its level"),
        ([0, 1], [0, 3, 1, 3], [2, 0, 3], [], "a segment of it is outside of its level"),
        ([0, 1], [0, 1, 1, 3], [2, 0, 4], [], "an element of it is outside of its dimensions"),
    ],
)
def test_trees_that_do_not_fit_are_refused(
    lite: Any,
    order: list[int],
    segments: list[int],
    indices: list[int],
    blocks: list[int],
    message: str,
) -> None:
    levels = [_dense_level(lite, 3), _sparse_level(lite, segments, indices)]
    with pytest.raises(ParseError, match=f"the sparse tensor 'w' is malformed: .*{message}"):
        parse(_model(lite, ROWS, (3, 4), order, levels, blocks))


def test_a_level_below_zero_is_refused(lite: Any) -> None:
    levels = [_dense_level(lite, -3), _sparse_level(lite, [0, 1, 1, 3], [2, 0, 3])]
    with pytest.raises(ParseError, match="a level of it has -3 indices"):
        parse(_model(lite, ROWS, (3, 4), [0, 1], levels))


def test_zeros_that_would_fill_the_memory_are_refused(lite: Any) -> None:
    levels = [_dense_level(lite, 3), _sparse_level(lite, [0, 1, 1, 3], [2, 0, 3])]
    with pytest.raises(ParseError, match="its vectors are longer than the file"):
        parse(_model(lite, ROWS, (2**15, 2**15), [0, 1], levels))
    levels = [_dense_level(lite, 2**30), _dense_level(lite, 2**30)]
    with pytest.raises(ParseError, match="its vectors are longer than the file"):
        parse(_model(lite, ROWS, (3, 4), [0, 1], levels))


def test_a_level_without_its_vectors_is_refused(lite: Any) -> None:
    level = lite.schema.DimensionMetadataT()
    level.format = 1
    with pytest.raises(ParseError, match="a level of it has 0 segments"):
        parse(_model(lite, ROWS, (3, 4), [0, 1], [_dense_level(lite, 3), level]))
