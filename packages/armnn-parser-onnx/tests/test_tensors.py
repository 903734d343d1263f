# SPDX-License-Identifier: MIT
"""Tensors are read as the package ``onnx`` reads them, in the file and beside it."""

from __future__ import annotations

import io
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import armnn
from armnn._process_memory import trim_memory
from armnn.errors import InvalidArgumentError, ModelFileError, ParseError
from armnn.types import DataType
from armnn_parser_onnx.messages import Entry, Tensor, encoded
from armnn_parser_onnx.parser import parse
from armnn_parser_onnx.protobuf import Span
from armnn_parser_onnx.tensors import ExternalData, data_type_of, onnx_type_name, to_array

NOWHERE = ExternalData(None)
NUMPY_TYPES = [
    np.float32, np.float64, np.float16, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16,
    np.uint32, np.uint64, np.bool_,
]  # fmt: skip
NARROW_TYPES = [
    ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn,
]  # fmt: skip


def ours(proto: TensorProto) -> Tensor:
    """Return a tensor as the reader decodes it."""
    data = proto.SerializeToString()
    return Tensor.at(Span(data, 0, len(data)), "m")


@pytest.mark.parametrize("dtype", NUMPY_TYPES)
@pytest.mark.parametrize("raw", [True, False])
def test_both_storage_forms_of_every_plain_type_are_read(dtype: type, raw: bool) -> None:
    data = np.array([[0, 1, 2], [3, 100, 1]]).astype(dtype)
    element = helper.np_dtype_to_tensor_dtype(data.dtype)
    values = data.tobytes() if raw else data.ravel().tolist()
    tensor = helper.make_tensor("t", element, data.shape, values, raw=raw)
    result = to_array(ours(tensor), NOWHERE)
    assert result.dtype == data.dtype
    np.testing.assert_array_equal(result, data)


@pytest.mark.parametrize("dtype", NARROW_TYPES)
@pytest.mark.parametrize("raw", [True, False])
def test_both_storage_forms_of_every_narrow_type_are_read(dtype: type, raw: bool) -> None:
    data = np.array([0, 1, 2, 3, 1.0, 4, 6]).astype(dtype)
    tensor = numpy_helper.from_array(data, "t")
    if not raw:
        width = 2 if data.dtype.name == "bfloat16" else 1
        stored = np.frombuffer(tensor.raw_data, f"uint{8 * width}")
        tensor.ClearField("raw_data")
        tensor.int32_data.extend(int(number) for number in stored)
    result = to_array(ours(tensor), NOWHERE)
    assert result.dtype == data.dtype
    np.testing.assert_array_equal(result.astype(np.float32), data.astype(np.float32))


def test_negative_nibbles_keep_their_sign() -> None:
    tensor = TensorProto(data_type=TensorProto.INT4, dims=[3], raw_data=bytes([0x8F, 0x07]))
    assert to_array(ours(tensor), NOWHERE).astype(np.int32).tolist() == [-1, -8, 7]


def test_a_scalar_and_an_empty_tensor_are_read() -> None:
    scalar = numpy_helper.from_array(np.float32(2.5), "t")
    assert to_array(ours(scalar), NOWHERE) == np.float32(2.5)
    empty = TensorProto(data_type=TensorProto.FLOAT, dims=[2, 0])
    assert to_array(ours(empty), NOWHERE).shape == (2, 0)


@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (TensorProto(data_type=1, dims=[2], raw_data=b"1234"), "has 4 bytes of data: expected 8"),
        (TensorProto(data_type=1, dims=[2], float_data=[1.0]), "has 1 values: expected 2"),
        (TensorProto(data_type=1, dims=[-1]), "no tensor can be that large"),
        (TensorProto(data_type=1, dims=[2**40, 2**40]), "no tensor can be that large"),
        (TensorProto(data_type=1, dims=[2**60]), "no tensor can be that large"),
        (TensorProto(data_type=1, dims=[2**40], raw_data=b"1234"), "expected 4398046511104"),
        (TensorProto(data_type=8, dims=[0]), "tensors of string are not supported"),
        (TensorProto(data_type=14, dims=[0]), "tensors of complex64 are not supported"),
        (TensorProto(data_type=99, dims=[0]), "type number 99"),
        (TensorProto(data_type=0, dims=[0]), "type number 0"),
    ],
)
def test_malformed_tensors_are_refused(tensor: TensorProto, message: str) -> None:
    tensor.name = "weights"
    with pytest.raises(ParseError, match=f"'weights'.*{message}"):
        to_array(ours(tensor), NOWHERE)


def test_segments_are_refused() -> None:
    tensor = TensorProto(data_type=1, dims=[1], float_data=[1.0])
    tensor.segment.begin = 0
    with pytest.raises(ParseError, match="stored in segments"):
        to_array(ours(tensor), NOWHERE)


def test_every_type_that_onnx_numbers_is_known_or_refused_by_name() -> None:
    for name, number in TensorProto.DataType.items():
        if name in ("UNDEFINED", "STRING", "COMPLEX64", "COMPLEX128", "FLOAT6E2M3", "FLOAT6E3M2"):
            with pytest.raises(ParseError, match="not supported"):
                data_type_of(number)
        else:
            assert data_type_of(number) in DataType


def test_type_names_are_those_of_the_operator_schemas() -> None:
    spelled = set(onnx.defs.get_schema("Cast").type_constraints[0].allowed_type_strs)
    ours = {onnx_type_name(data_type) for data_type in DataType}
    assert spelled - ours <= {"tensor(string)", "tensor(float6e2m3)", "tensor(float6e3m2)"}


DATA = np.arange(4, dtype=np.float32)


def tensor(location: str | None = "data.bin", **entries: str) -> Tensor:
    if location is not None:
        entries = {"location": location, **entries}
    return Tensor(
        name="w",
        data_type=TensorProto.FLOAT,
        dims=[4],
        data_location=TensorProto.EXTERNAL,
        external_data=[Entry(key=key, value=value) for key, value in entries.items()],
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    (inside / "data.bin").write_bytes(b"pad!" + DATA.tobytes())
    (inside / "sub" / "data.bin").write_bytes(DATA.tobytes())
    (tmp_path / "secret.bin").write_bytes(DATA.tobytes())
    return inside


def test_bytes_at_an_offset_are_read(folder: Path) -> None:
    data = ExternalData(folder).read(tensor(offset="4", length="16"), 16)
    assert data == DATA.tobytes()


@pytest.mark.parametrize(("offset", "mapped"), [(0, True), (4112, True), (4097, False)])
def test_much_data_is_mapped_where_its_address_is_aligned(
    folder: Path, offset: int, mapped: bool
) -> None:
    data = np.random.default_rng(2).bytes(1 << 16)
    (folder / "data.bin").write_bytes(bytes(offset) + data)
    made = ExternalData(folder).read(tensor(offset=str(offset)), len(data))
    assert isinstance(made, memoryview) == mapped
    assert made == data
    assert np.frombuffer(made, np.float32).flags.aligned


def test_a_file_has_one_descriptor_for_all_its_tensors(folder: Path) -> None:
    size = 1 << 16
    (folder / "data.bin").write_bytes(bytes(range(9)) * size)
    before = len(os.listdir("/proc/self/fd"))
    external = ExternalData(folder)
    made = [external.read(tensor(offset=str(at * size)), size) for at in range(8)]
    assert len(os.listdir("/proc/self/fd")) == before + 1
    trim_memory()  # its pages come back
    assert b"".join(made) == (bytes(range(9)) * size)[: 8 * size]


@pytest.mark.parametrize("mapped", [False, True])
def test_weights_in_the_file_are_mapped_on_request(mapped: bool, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    weights = [
        random.integers(0, 255, 40_000, np.uint8),
        random.random(10_000, np.float32),
        random.random(10_001, np.float32),
    ]
    held = [numpy_helper.from_array(each, f"w{at}") for at, each in enumerate(weights)]
    nodes = [helper.make_node("Identity", [each.name], [f"y{each.name}"]) for each in held]
    outputs = [helper.make_tensor_value_info(each.output[0], 0, None) for each in nodes]
    graph = helper.make_graph(nodes, "weights", [], outputs, held)
    path = tmp_path / "weights.onnx"
    for extra in range(4):  # at every place in the words of the file
        model = helper.make_model(graph, producer_name="p" * extra)
        path.write_bytes(model.SerializeToString())
        network = armnn.parse(path, parser_options={"mapped": mapped})
        made = [layer.data for layer in network.layers if layer.data is not None]
        for each, expected in zip(made, weights, strict=True):
            assert each.flags.aligned
            np.testing.assert_array_equal(each, expected)
        assert (str(path) in Path("/proc/self/maps").read_text()) == mapped
        path.unlink()
    path.touch()
    with pytest.raises(InvalidArgumentError, match=r"mapped .*'yes'"):
        armnn.parse(path, parser_options={"mapped": "yes"})


def test_a_folder_below_the_model_is_read(folder: Path) -> None:
    assert ExternalData(folder).read(tensor("sub/data.bin"), 16) == DATA.tobytes()


def test_a_link_that_stays_inside_is_followed(folder: Path) -> None:
    (folder / "link.bin").symlink_to(folder / "sub" / "data.bin")
    assert ExternalData(folder).read(tensor("link.bin"), 16) == DATA.tobytes()


@pytest.mark.parametrize(
    "location",
    [
        "../secret.bin", "sub/../../secret.bin", "sub/../data.bin", "/etc/passwd", "C:\\x", "\\x",
        "..\\secret.bin", "", "a\0b",
    ],
)  # fmt: skip
def test_paths_that_may_lead_out_are_refused(folder: Path, location: str) -> None:
    with pytest.raises(ParseError, match=r"'w' has the location .*expected a path below"):
        ExternalData(folder).read(tensor(location), 16)


def test_a_missing_location_is_refused(folder: Path) -> None:
    with pytest.raises(ParseError, match="expected a path below the model's folder"):
        ExternalData(folder).read(tensor(None), 16)


@pytest.mark.parametrize("target", ["../secret.bin", "/dev/zero"])
def test_links_that_lead_out_are_refused(folder: Path, target: str) -> None:
    (folder / "link.bin").symlink_to(target)
    with pytest.raises(ParseError, match="which leads out of the model's folder"):
        ExternalData(folder).read(tensor("link.bin"), 16)


def test_a_folder_link_that_leads_out_is_refused(folder: Path) -> None:
    (folder / "out").symlink_to("..")
    with pytest.raises(ParseError, match="which leads out of the model's folder"):
        ExternalData(folder).read(tensor("out/secret.bin"), 16)


def test_a_pipe_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe.bin")
    with pytest.raises(ParseError, match="is not in a regular file"):
        ExternalData(folder).read(tensor("pipe.bin"), 16)


def test_a_directory_is_refused(folder: Path) -> None:
    with pytest.raises(ParseError, match="is not in a regular file"):
        ExternalData(folder).read(tensor("sub"), 16)


def test_a_missing_file_is_refused(folder: Path) -> None:
    with pytest.raises(ParseError, match=r"cannot be read: .*none\.bin"):
        ExternalData(folder).read(tensor("none.bin"), 16)


@pytest.mark.parametrize("entries", [{"offset": "8"}, {"offset": "9223372036854775807"}])
def test_data_beyond_the_file_is_refused(folder: Path, entries: dict[str, str]) -> None:
    with pytest.raises(ParseError, match=r"spans the bytes \d+ to \d+, but the file has 20"):
        ExternalData(folder).read(tensor(**entries), 16)


@pytest.mark.parametrize("text", ["-4", "4.0", "0x4", " 4", "4_0", "٤", "9" * 30])
@pytest.mark.parametrize("key", ["offset", "length"])
def test_numbers_that_are_none_are_refused(folder: Path, key: str, text: str) -> None:
    wanted = re.escape(f"has the {key} {text!r}: expected a number of bytes")
    with pytest.raises(ParseError, match=wanted):
        ExternalData(folder).read(tensor(**{key: text}), 16)


def test_a_length_that_does_not_fit_the_dimensions_is_refused(folder: Path) -> None:
    with pytest.raises(ParseError, match="has a length of 12 bytes: expected 16"):
        ExternalData(folder).read(tensor(length="12"), 16)


@pytest.fixture
def saved(folder: Path, model: Callable[..., onnx.ModelProto]) -> Path:
    made = model(helper.make_node("Add", ["x", "w"], ["y"]), {"x": DATA})
    made.graph.initializer.append(TensorProto.FromString(encoded(tensor(offset="4"))))
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def test_a_model_with_external_data_is_parsed(saved: Path) -> None:
    network = parse(saved)
    constant = network.find("w")
    read = {name: status.st_ino for name, status in network.external_files.items()}
    assert read == {"data.bin": (saved.parent / "data.bin").stat().st_ino}
    assert constant.data is not None
    np.testing.assert_array_equal(constant.data, DATA)


@pytest.mark.parametrize("take", [onnx.ModelProto.FromString, io.BytesIO, bytes])
def test_content_finds_its_data_in_the_folder_that_is_said(
    saved: Path, take: Callable[[bytes], Any]
) -> None:
    given = take(saved.read_bytes())
    with armnn.load_model(given, ["CpuRef"], format="onnx", folder=saved.parent) as model:
        again = pickle.loads(pickle.dumps(model))
        for each in (model, again):
            np.testing.assert_array_equal(each.run({"x": X})["y"], X + DATA)
    (saved.parent / "data.bin").write_bytes(bytes(20))
    with pytest.raises(
        ModelFileError, match=r"given as bytes has changed .* 'data\.bin' has changed"
    ):
        pickle.dumps(again)


def test_content_as_text_finds_its_data_too(saved: Path) -> None:
    text = onnx.serialization.registry.get("textproto")
    content = text.serialize_proto(onnx.load(saved, load_external_data=False))
    network = armnn.parse(content, format="textproto", folder=saved.parent)
    np.testing.assert_array_equal(network.find("w").data, DATA)


@pytest.fixture
def cached(saved: Path) -> Path:
    """The model in a cache of Hugging Face, in a folder of its repository."""
    repository = saved.parent / "models--acme--net"
    blobs, snapshot = repository / "blobs", repository / "snapshots" / "1a2b" / "onnx"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for name, blob in {"model.onnx": "0" * 64, "data.bin": "1" * 64}.items():
        (saved.parent / name).rename(blobs / blob)
        (snapshot / name).symlink_to(Path("../../../blobs") / blob)
    return snapshot / "model.onnx"


def test_data_in_a_cache_of_hugging_face_is_read(cached: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = (X + DATA).tolist()
    assert run(cached) == (expected, True)
    assert run(cached, cache_dir=cache) == (expected, True)
    assert run(cached, cache_dir=cache) == (expected, False)
    (cached.parent / "data.bin").resolve().write_bytes(b"pad!" + (2 * DATA).tobytes())
    assert run(cached, cache_dir=cache) == ((X + 2 * DATA).tolist(), True)
    again = pickle.loads(pickle.dumps(armnn.load_model(cached, ["CpuRef"])))
    np.testing.assert_array_equal(again.run({"x": X})["y"], X + 2 * DATA)


def _elsewhere(cached: Path) -> None:
    """Make the data a link to a file outside of the cache."""
    outside = cached.parents[4] / "outside"
    outside.write_bytes((cached.parent / "data.bin").read_bytes())
    (cached.parent / "data.bin").unlink()
    (cached.parent / "data.bin").symlink_to(outside)


def _elsewhere_by_the_blob(cached: Path) -> None:
    """Make the file among the blobs a link out of them."""
    blob = (cached.parent / "data.bin").resolve()
    outside = cached.parents[4] / "outside"
    blob.rename(outside)
    blob.symlink_to(outside)


def _other_blobs(cached: Path) -> None:
    """Make the data a link to the blobs of another repository."""
    other = cached.parents[4] / "other" / "blobs"
    other.mkdir(parents=True)
    (cached.parent / "data.bin").resolve().rename(other / "data")
    (cached.parent / "data.bin").unlink()
    (cached.parent / "data.bin").symlink_to(other / "data")


def _model_of_its_own(cached: Path) -> None:
    """Make the model a file, which only its data leads out of."""
    content = cached.read_bytes()
    cached.unlink()
    cached.write_bytes(content)


def _no_snapshot(cached: Path) -> None:
    """Rename the folder of snapshots."""
    cached.parents[2].rename(cached.parents[3] / "others")


def _by_a_folder(cached: Path) -> None:
    """Let the model name a file behind a link to the folder of blobs."""
    blobs = cached.resolve().parent
    made = onnx.load(cached, load_external_data=False)
    for entry in made.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = "blobs/" + "1" * 64
    cached.resolve().write_bytes(made.SerializeToString())
    (cached.parent / "blobs").symlink_to(blobs)


@pytest.mark.parametrize(
    "change",
    [
        _elsewhere,
        _elsewhere_by_the_blob,
        _other_blobs,
        _model_of_its_own,
        _no_snapshot,
        _by_a_folder,
    ],
)
def test_other_links_out_of_the_folder_stay_refused(
    cached: Path, change: Callable[[Path], None]
) -> None:
    parse(cached)
    change(cached)
    path = cached if cached.exists() else next(cached.parents[3].glob("others/*/*/model.onnx"))
    with pytest.raises(ParseError, match="which leads out of the model's folder"):
        parse(path)


def test_data_that_is_a_pointer_of_git_lfs_says_so(folder: Path) -> None:
    (folder / "data.bin").write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ParseError, match=r"the file has 43: it is a pointer of git-LFS.*lfs pull"):
        ExternalData(folder).read(tensor(offset="32"), 16)


def test_a_model_in_the_working_folder_is_parsed(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved.parent)
    assert parse("model.onnx").find("w").data is not None


def test_a_model_given_as_bytes_has_no_external_data(saved: Path) -> None:
    with pytest.raises(ParseError, match="a model given as bytes has no folder: say folder="):
        parse(saved.read_bytes())


def test_a_file_that_only_a_branch_reads_is_noticed_when_it_changes(folder: Path) -> None:
    made = helper.make_tensor_value_info
    value = TensorProto(name="value", data_type=TensorProto.FLOAT, dims=[1])
    value.data_location = TensorProto.EXTERNAL
    for key, text in {"location": "data.bin", "offset": "4", "length": "4"}.items():
        value.external_data.add(key=key, value=text)
    filled = helper.make_node("ConstantOfShape", ["shape"], ["filled"])
    filled.attribute.append(helper.make_attribute("value", value))
    kept = helper.make_node("Identity", ["x"], ["kept"])
    branches = {
        "then_branch": helper.make_graph([filled], "then", [], [made("filled", 1, [4])]),
        "else_branch": helper.make_graph([kept], "else", [], [made("kept", 1, [4])]),
    }
    choice = helper.make_node("If", ["choice"], ["y"], **branches)
    shape = helper.make_tensor("shape", TensorProto.INT64, [1], [4])
    inputs = [made("choice", TensorProto.BOOL, []), made("x", 1, [4])]
    graph = helper.make_graph([choice], "choosing", inputs, [made("y", 1, [4])], [shape])
    path = folder / "model.onnx"
    path.write_bytes(helper.make_model(graph).SerializeToString())
    cache = folder / "cache"
    for number in (2.5, 2.5, 7.5):
        (folder / "data.bin").write_bytes(np.array([0, number], np.float32).tobytes())
        loaded = armnn.load_model(path, backends=["CpuRef"], cache_dir=cache)
        made_of_it = loaded.run({"choice": np.bool_(True), "x": np.zeros(4, np.float32)})["y"]
        assert made_of_it.tolist() == [number] * 4


X = np.array([1, 20, 300, 4000], np.float32)


def run(path: Path, **arguments: Any) -> tuple[list[float], bool]:
    """Return a model's result, and whether it was parsed."""
    loaded = armnn.load_model(path, backends=["CpuRef"], **arguments)
    return loaded.run({"x": X})["y"].tolist(), loaded.load_times["parse"] > 0


def test_a_cached_model_is_not_parsed_until_its_data_changes(saved: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    expected = (X + DATA).tolist()
    assert run(saved, cache_dir=cache) == (expected, True)
    assert run(saved, cache_dir=cache) == (expected, False)
    (saved.parent / "data.bin").write_bytes(b"pad!" + (2 * DATA).tobytes())
    assert run(saved, cache_dir=cache) == ((X + 2 * DATA).tolist(), True)
    assert run(saved, cache_dir=cache) == ((X + 2 * DATA).tolist(), False)
    (saved.parent / "data.bin").write_bytes(b"pad!" + DATA.tobytes()[:-1])
    with pytest.raises(ParseError, match="spans the bytes 4 to 20, but the file has 19"):
        run(saved, cache_dir=cache)
    (saved.parent / "data.bin").unlink()
    with pytest.raises(ParseError, match=r"'w' cannot be read: .*data\.bin"):
        run(saved, cache_dir=cache)


def test_a_cached_model_needs_no_parser_where_its_data_is_beside_it(
    saved: Path, tmp_path: Path
) -> None:
    code = """if True:
        import sys, armnn, numpy

        loaded = armnn.load_model(sys.argv[1], backends=["CpuRef"], cache_dir=sys.argv[2])
        print(loaded.run({"x": numpy.array([1, 20, 300, 4000], "f4")})["y"].tolist())
        print([name for name in sys.modules if name.startswith(("armnn_parser_", "onnx"))])
        """
    expected, _ = run(saved, cache_dir=tmp_path / "cache")
    command = [sys.executable, "-c", code, str(saved), str(tmp_path / "cache")]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    assert done.stdout.splitlines() == [str(expected), "[]"]


def test_a_compiled_model_holds_data_that_was_beside_it(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    file = tmp_path / "other" / "model.armnn-prepared"
    with armnn.Runtime() as runtime:
        runtime.compile_network(parse(saved), file, ["CpuRef"])
    shutil.rmtree(saved.parent)
    assert run(file) == ((X + DATA).tolist(), False)
