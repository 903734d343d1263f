# SPDX-License-Identifier: MIT
"""Memory by DLPack, from a producer made by hand and to consumers that know nothing of armnn."""

from __future__ import annotations

import copy
import ctypes
import gc
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dlpack_producer import BFLOAT16, BOOL, OldProducer, Producer

import armnn
from armnn.buffer import HOST, Buffer, Device, device_of, overlap
from armnn.errors import InvalidArgumentError, MemoryImportError

SIX = np.arange(6, dtype=np.float32)
BOTH = pytest.mark.parametrize("version", [(1, 0), None], ids=["versioned", "unversioned"])


@BOTH
def test_the_memory_of_a_tensor_is_not_copied_and_freed_once(version: Any) -> None:
    producer = Producer(SIX.tobytes(), (2, 3), version=version)
    buffer = Buffer.from_dlpack(producer)
    assert (buffer.device, buffer.nbytes, buffer.shape) == (HOST, 24, (2, 3))
    assert (buffer.dtype, buffer.strides, buffer.data) == (np.float32, (12, 4), producer.content)
    array = buffer.numpy()
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    array[1, 2] = 7
    assert producer.read(24)[20:] == np.float32(7).tobytes()
    assert producer.deleted == 0
    del buffer
    view = array[1]
    del array
    assert producer.deleted == 0
    del view
    assert producer.deleted == 1


@BOTH
def test_a_tensor_is_asked_for_the_newest_version(version: Any) -> None:
    producer = Producer(b"", (0,), version=version)
    Buffer.from_dlpack(producer)
    Buffer.from_dlpack(Producer(b"", (0,), version=version), copy=None)
    assert producer.asked == [{"max_version": (1, 1)}]
    wished = Producer(SIX.tobytes(), (6,), flags=2)
    assert Buffer.from_dlpack(wished, copy=True).is_copy
    assert wished.asked == [{"max_version": (1, 1), "copy": True}]


def test_a_tensor_of_the_time_before_the_keywords_is_asked_again() -> None:
    producer = OldProducer(SIX.tobytes(), (6,), version=None)
    assert Buffer.from_dlpack(producer, copy=False).numpy().tolist() == SIX.tolist()
    with pytest.raises(MemoryImportError, match="an OldProducer cannot make a copy"):
        Buffer.from_dlpack(OldProducer(b"", (0,), version=None), copy=True)


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({"strides": None}, [[0, 1, 2], [3, 4, 5]]),
        ({"shape": (3, 2), "strides": (1, 3)}, [[0, 3], [1, 4], [2, 5]]),
        ({"shape": (3,), "strides": (-2,), "first": 20}, [5, 3, 1]),
        ({"shape": (2, 2), "strides": (0, 1), "byte_offset": 8}, [[2, 3], [2, 3]]),
        ({"shape": (2,), "first": 4, "byte_offset": 12}, [4, 5]),
        ({"shape": (), "first": 8}, 2),
    ],
    ids=["null", "transposed", "negative", "repeated, offset", "both offsets", "scalar"],
)
@BOTH
def test_strides_and_offsets(version: Any, keywords: dict[str, Any], expected: Any) -> None:
    given = {"shape": (2, 3), **keywords}
    buffer = Buffer.from_dlpack(Producer(SIX.tobytes(), version=version, **given))
    assert buffer.numpy().tolist() == expected


@pytest.mark.parametrize(
    ("kind", "content", "dtype", "expected"),
    [
        (BFLOAT16, b"\x80\x3f\x00\xc0", ml_dtypes.bfloat16, [1, -2]),
        (BOOL, b"\x01\x00", np.bool_, [True, False]),
        ((10, 8), b"\x38\xc0", ml_dtypes.float8_e4m3fn, [1, -2]),
        ((12, 8), b"\x3c\xc0", ml_dtypes.float8_e5m2, [1, -2]),
        ((14, 8), b"\x7f\x80", ml_dtypes.float8_e8m0fnu, [1, 2]),
        ((0, 16), b"\x01\x00\xfe\xff", np.int16, [1, -2]),
        ((1, 64), b"\x01" + bytes(14) + b"\x01", np.uint64, [1, 1 << 56]),
    ],
)
def test_types(kind: Any, content: bytes, dtype: Any, expected: list[Any]) -> None:
    array = Buffer.from_dlpack(Producer(content, (2,), kind)).numpy()
    assert (array.dtype, array.tolist()) == (dtype, expected)


@pytest.mark.parametrize(
    ("kind", "content", "expected"),
    [
        ((0, 4), b"\xf7\x08", [7, -1, -8]),
        ((1, 4), b"\xf7\x08", [7, 15, 8]),
        ((1, 2), b"\xe4", [0, 1, 2]),
        ((17, 4), b"\x92\x0f", [1.0, -0.5, -6.0]),
    ],
    ids=["int4", "uint4", "uint2", "float4"],
)
def test_packed_elements_become_bytes(kind: Any, content: bytes, expected: list[Any]) -> None:
    producer = Producer(content, (3,), kind)
    buffer = Buffer.from_dlpack(producer)
    assert buffer.numpy().astype(np.float32).tolist() == expected
    assert buffer.is_copy
    assert producer.deleted == 1  # they are in other memory
    refused = Producer(content, (3,), kind)
    with pytest.raises(MemoryImportError, match=r"holds packed .*copy=False refuses"):
        Buffer.from_dlpack(refused, copy=False)
    assert refused.deleted == 1


def test_elements_with_a_byte_each_are_not_copied() -> None:
    producer = Producer(b"\x07\x0f", (2,), (0, 4), flags=4, version=(1, 1))
    buffer = Buffer.from_dlpack(producer, copy=False)
    assert buffer.numpy().tolist() == [7, -1]
    assert buffer.data == producer.content


def test_memory_that_must_not_be_written() -> None:
    buffer = Buffer.from_dlpack(Producer(SIX.tobytes(), (6,), flags=1))
    assert buffer.is_readonly
    with pytest.raises(ValueError, match="read-only"):
        buffer.numpy()[0] = 1


@pytest.mark.parametrize("shape", [(0,), (2, 0, 3)])
@BOTH
def test_no_elements(version: Any, shape: tuple[int, ...]) -> None:
    producer = Producer(b"", shape, version=version)
    buffer = Buffer.from_dlpack(producer)
    assert (buffer.data, buffer.nbytes, buffer.numpy().shape) == (0, 0, shape)
    assert np.from_dlpack(buffer).shape == shape
    del buffer
    assert producer.deleted == 1


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"version": (2, 0)}, r"described by DLPack 2\.0: expected version 1"),
        ({"kind": (5, 64)}, "holds complex numbers of 64 bits"),
        ({"kind": (2, 80)}, "type 2 of 80 bits"),
        ({"kind": (99, 8)}, "type 99 of 8 bits"),
        ({"lanes": 4}, "of 32 bits, 4 at once"),
        ({"shape": (-1,)}, r"the shape \[-1\]"),
        ({"shape": (2**62, 2**62)}, "which no memory has"),
        ({"shape": (2**62, 2**62, 0)}, "which no memory has"),
        ({"has_shape": False}, "has 1 axes and no shape"),
        ({"has_shape": False, "version": None}, "has 1 axes and no shape"),
        ({"strides": (2**62,)}, rf"has strides of \[{2**64}\] bytes, which no memory has"),
        ({"strides": (-(2**63),)}, rf"has strides of \[-{2**65}\] bytes"),
        ({"axes": 65}, "has 65 axes"),
        ({"axes": -1}, "has -1 axes"),
        ({"kind": (0, 4), "shape": (2, 2), "strides": (1, 2)}, r"with strides \[1, 2\]: expected"),
        ({"kind": (0, 4), "device": (2, 0)}, "packed int4 on cuda:0"),
    ],
)
def test_what_buffers_are_not(keywords: dict[str, Any], message: str) -> None:
    producer = Producer(SIX.tobytes(), **{"shape": (2,), **keywords})
    with pytest.raises(MemoryImportError, match=message):
        Buffer.from_dlpack(producer)
    gc.collect()  # a traceback keeps the capsule
    assert producer.deleted == 1


def test_objects_that_are_no_tensors() -> None:
    with pytest.raises(InvalidArgumentError, match=r"the object is \[1\], expected one with"):
        Buffer.from_dlpack([1])  # type: ignore[arg-type]
    nowhere = Producer(bytes(8), (2,), null=True)
    with pytest.raises(InvalidArgumentError, match="8 bytes on the host cannot be at address 0"):
        Buffer.from_dlpack(nowhere)
    gc.collect()
    assert nowhere.deleted == 1
    other = Producer(b"", (0,), name=b"arrow_array")
    with pytest.raises(InvalidArgumentError, match="a capsule of DLPack that was not consumed"):
        Buffer.from_dlpack(other)
    assert other.deleted == 0
    producer = Producer(b"", (0,))
    capsule = producer.capsule()
    producer.capsule = lambda: capsule  # type: ignore[method-assign]
    Buffer.from_dlpack(producer)
    with pytest.raises(InvalidArgumentError, match="that was not consumed"):
        Buffer.from_dlpack(producer)
    assert producer.deleted == 1


def test_an_error_of_the_object_passes() -> None:
    class Broken:
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("it needs a gradient")

    with pytest.raises(BufferError, match="it needs a gradient"):
        Buffer.from_dlpack(Broken())


def test_a_tensor_without_deleter_keeps_its_object() -> None:
    producer = Producer(SIX.tobytes(), (6,), has_deleter=False)
    buffer = Buffer.from_dlpack(producer)
    del producer
    gc.collect()
    assert buffer.numpy().tolist() == SIX.tolist()


def test_the_last_thread_frees_it() -> None:
    producer = Producer(SIX.tobytes(), (6,))
    held = [Buffer.from_dlpack(producer).numpy()]
    thread = threading.Thread(target=held.clear, name="last")
    thread.start()
    thread.join()
    assert (producer.deleted, producer.threads) == (1, ["last"])


def test_many_threads_take_and_drop_memory() -> None:
    producers = [Producer(SIX.tobytes(), (6,)) for _ in range(200)]

    def total(producer: Producer) -> float:
        return float(np.from_dlpack(Buffer.from_dlpack(producer)).sum())

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(total, producers)) == [15.0] * 200
    assert {producer.deleted for producer in producers} == {1}


def test_a_device_that_the_host_does_not_reach() -> None:
    buffer = Buffer.from_dlpack(Producer(SIX.tobytes(), (6,), device=(2, 1)))
    assert str(buffer) == "<Buffer of float32[6] on cuda:1>"
    with pytest.raises(MemoryImportError, match="the host does not reach cuda:1"):
        buffer.numpy()
    pinned = Buffer.from_dlpack(Producer(SIX.tobytes(), (6,), device=(3, 0)))
    assert pinned.numpy().tolist() == SIX.tolist()


def test_devices_have_names() -> None:
    assert str(HOST) == "cpu"
    assert str(Device(4, 2)) == "opencl:2"
    assert str(Device(77, 1)) == "device type 77:1"
    assert device_of(Producer(b"", (0,), device=(10, 3))) == (10, 3)
    assert device_of(np.zeros(1)) == HOST
    assert device_of([1]) is None
    odd = Producer(b"", (0,))
    odd.device = "cuda"  # type: ignore[assignment]
    with pytest.raises(InvalidArgumentError, match="the device of a buffer is 'cuda'"):
        device_of(odd)


# -- to consumers ---------------------------------------------------------------------------------


class Struct(ctypes.Structure):
    """The tensor in a versioned capsule as far as the tests look at it."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("axes", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


def struct_of(capsule: object) -> Struct:
    point = ctypes.pythonapi.PyCapsule_GetPointer
    point.argtypes, point.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p
    return Struct.from_address(point(capsule, b"dltensor_versioned"))


@pytest.mark.parametrize("wished", [None, (0, 8), (1, 0), (1, 1), (2, 0)])
def test_numpy_takes_a_buffer(wished: Any) -> None:
    array = np.arange(24, dtype=np.int32).reshape(4, 6)[::2, ::-3]
    buffer = Buffer.from_numpy(array)
    name = "dltensor" if wished is None or wished < (1, 0) else "dltensor_versioned"
    assert f'"{name}"' in repr(buffer.__dlpack__(max_version=wished))
    taken = np.from_dlpack(buffer)
    assert taken.tolist() == array.tolist()
    assert taken.strides == array.strides
    assert np.shares_memory(taken, array)


@pytest.mark.parametrize(
    ("dtype", "code", "bits"),
    [
        (ml_dtypes.bfloat16, 4, 16),
        (ml_dtypes.float8_e4m3fn, 10, 8),
        (ml_dtypes.float8_e5m2fnuz, 13, 8),
        (ml_dtypes.int4, 0, 4),
        (ml_dtypes.float4_e2m1fn, 17, 4),
        (np.bool_, 6, 8),
    ],
)
def test_types_that_numpy_cannot_name(dtype: Any, code: int, bits: int) -> None:
    array = np.ones((2, 3), dtype).T
    capsule = Buffer.from_numpy(array).__dlpack__(max_version=(1, 1))
    made = struct_of(capsule)
    assert (made.code, made.bits, made.lanes) == (code, bits, 1)
    assert (made.major, made.minor) == (1, 1 if code > 6 or bits < 8 else 0)
    assert (made.data, made.axes, made.byte_offset) == (array.ctypes.data, 2, 0)
    assert (made.shape[:2], made.strides[:2]) == ([3, 2], [1, 3])
    assert made.flags == (4 if bits < 8 else 0)
    again = Buffer.from_dlpack(Buffer.from_numpy(array)).numpy()
    assert again.dtype == dtype
    assert np.shares_memory(again, array)


def test_every_data_type_is_a_type_of_dlpack() -> None:
    for data_type in armnn.types.DataType:
        array = np.zeros((2, 2), data_type.numpy_dtype)
        assert Buffer.from_dlpack(Buffer.from_numpy(array)).dtype == array.dtype


def test_what_old_consumers_cannot_be_told_is_refused() -> None:
    fixed = SIX.copy()
    fixed.flags.writeable = False
    buffer = Buffer.from_numpy(fixed)
    with pytest.raises(BufferError, match=r"read-only, which DLPack before 1\.0 cannot say"):
        buffer.__dlpack__()
    assert struct_of(buffer.__dlpack__(max_version=(1, 0))).flags == 1
    assert not np.from_dlpack(buffer).flags.writeable
    with pytest.raises(BufferError, match=r"a byte for each element, which DLPack before 1\.1"):
        Buffer.from_numpy(np.ones(2, ml_dtypes.int4)).__dlpack__(max_version=(1, 0))


def test_copies_are_made_on_demand_and_said() -> None:
    buffer = Buffer.from_numpy(SIX)
    assert struct_of(buffer.__dlpack__(max_version=(1, 0), copy=True)).flags == 2
    assert struct_of(buffer.__dlpack__(max_version=(1, 0), copy=False)).flags == 0
    copied = np.from_dlpack(buffer, copy=True)
    assert not np.shares_memory(copied, SIX)
    assert Buffer.from_dlpack(buffer, copy=True).is_copy
    assert not Buffer.from_dlpack(buffer).is_copy


def test_devices_and_streams_that_cannot_be_had() -> None:
    buffer = Buffer.from_numpy(SIX)
    assert buffer.__dlpack_device__() == (1, 0)
    assert struct_of(buffer.__dlpack__(max_version=(1, 0), dl_device=(1, 0))).device[:] == [1, 0]
    with pytest.raises(BufferError, match="cannot be exported to cuda:0"):
        buffer.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="takes no stream: got 1"):
        buffer.__dlpack__(stream=1)


def test_memory_of_a_device_is_handed_on() -> None:
    owner = Owner()
    buffer = Buffer((4, 1), 4096, owner, data=0xABC0, offset=64)
    part = buffer.tensor(armnn.TensorInfo((3, 5)), 128)
    assert (part.nbytes, part.offset, part.owner) == (60, 192, owner)
    assert part.__dlpack_device__() == (4, 1)
    capsule = part.__dlpack__(max_version=(1, 0))
    made = struct_of(capsule)
    assert (made.data, made.byte_offset, made.device[:]) == (0xABC0, 192, [4, 1])
    assert (made.shape[:2], made.strides[:2], made.code, made.bits) == ([3, 5], [5, 1], 2, 32)
    with pytest.raises(BufferError, match="cannot be exported to cpu"):
        part.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match="cannot be copied"):
        part.__dlpack__(copy=True)
    again = Buffer.from_dlpack(part)
    assert (again.data, again.offset, again.device) == (0xABC0, 192, (4, 1))
    del owner, buffer, part
    assert Owner.alive == 1
    del again, made
    assert Owner.alive == 1  # the capsule's
    del capsule
    assert Owner.alive == 0


class Owner:
    """Memory that counts how much of it there is."""

    alive = 0

    def __init__(self) -> None:
        Owner.alive += 1

    def __del__(self) -> None:
        Owner.alive -= 1


@pytest.mark.parametrize("is_consumed", [True, False])
def test_a_capsule_keeps_its_owner(is_consumed: bool) -> None:
    memory = (ctypes.c_float * 4)(1, 2, 3, 4)
    memory.owner = Owner()  # type: ignore[attr-defined]
    address = ctypes.addressof(memory)
    buffer = Buffer((1, 0), 16, memory, data=address).tensor(armnn.TensorInfo((4,)))
    kept: Any = np.from_dlpack(buffer) if is_consumed else buffer.__dlpack__(max_version=(1, 0))
    del buffer, memory
    assert Owner.alive == 1
    if is_consumed:
        assert kept.tolist() == [1, 2, 3, 4]
    del kept
    assert Owner.alive == 0


def test_memory_is_not_copied_behind_its_owner() -> None:
    producer = Producer(SIX.tobytes(), (6,))
    buffer = Buffer.from_dlpack(producer)
    array = buffer.numpy()
    for each in (buffer, buffer.owner, array.base.base):
        for duplicate in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="neither copied nor pickled"):
                duplicate(each)
    assert pickle.loads(pickle.dumps(array)).tolist() == copy.deepcopy(array).tolist()
    del buffer, array, each
    assert producer.deleted == 1


def test_parts_must_fit() -> None:
    buffer = Buffer.from_numpy(np.zeros(64, np.uint8))
    info = armnn.TensorInfo((4, 4))
    assert buffer.tensor(info).numpy().shape == (4, 4)
    with pytest.raises(InvalidArgumentError, match=r"no room for Float32\[4,4\], 64 bytes at 4"):
        buffer.tensor(info, 4)
    with pytest.raises(InvalidArgumentError, match="the offset of a tensor is -4"):
        buffer.tensor(info, -4)
    every_second = Buffer.from_numpy(np.zeros(128, np.uint8)[::2])
    with pytest.raises(InvalidArgumentError, match="expected contiguous memory"):
        every_second.tensor(info)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cpu", 4, None), "the device of a buffer is 'cpu'"),
        (((1, 0), -4, None), "the nbytes of a buffer is -4"),
        (((1, 0), "4", None), "the nbytes of a buffer is '4'"),
        (((1, 0), 4, None), "4 bytes on the host cannot be at address 0"),
    ],
)
def test_arguments_that_describe_no_memory(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        Buffer(*arguments, data=0)


def test_addresses_end_with_64_bits() -> None:
    with pytest.raises(InvalidArgumentError, match=r"no address: expected less than 2\*\*64"):
        Buffer((1, 0), 4, None, data=2**64 - 4, offset=4)


def test_arrays_that_dlpack_has_no_name_for() -> None:
    with pytest.raises(InvalidArgumentError, match="an array of complex64 cannot be a buffer"):
        Buffer.from_numpy(np.zeros(1, np.complex64))
    with pytest.raises(InvalidArgumentError, match="an array of >f4 cannot be a buffer"):
        Buffer.from_numpy(np.zeros(1, ">f4"))
    with pytest.raises(InvalidArgumentError, match=r"the array is \[1\]"):
        Buffer.from_numpy([1])  # type: ignore[arg-type]


AT_EXIT = """
import ctypes, sys
import ml_dtypes, numpy as np
from armnn.buffer import Buffer
{setup}
libc = ctypes.CDLL(None)
api = ctypes.pythonapi
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
api.PyCapsule_SetName.argtypes = (ctypes.py_object, ctypes.c_char_p)
used = b"used_dltensor_versioned"
capsule = Buffer.from_numpy(np.ones(3, ml_dtypes.bfloat16)).__dlpack__(max_version=(1, 1))
managed = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
api.PyCapsule_SetName(capsule, used)
api.Py_IncRef(ctypes.py_object(used))
deleter = ctypes.c_void_p.from_address(managed + 16).value
"""
# The C library calls it when the interpreter has gone; a destructor of a thread's own value, when
# the interpreter does not know the thread any more.
AFTER_PYTHON = (
    "assert libc.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(managed), None) == 0"
)
IN_A_FOREIGN_THREAD = """
key = ctypes.c_uint()
assert libc.pthread_key_create(ctypes.byref(key), ctypes.c_void_p(deleter)) == 0
import threading
thread = threading.Thread(target=libc.pthread_setspecific, args=(key, ctypes.c_void_p(managed)))
thread.start(); thread.join()
"""
KEPT_TO_THE_END = """
from dlpack_producer import Producer
producer = Producer(bytes(8), (2,))
array = Buffer.from_dlpack(producer).numpy()
second = Producer(bytes(8), (2,))
cycle = [Buffer.from_dlpack(second)]
cycle.append(cycle)
"""


@pytest.mark.parametrize(
    ("setup", "last"),
    [("", AFTER_PYTHON), ("", IN_A_FOREIGN_THREAD), (KEPT_TO_THE_END, "")],
    ids=["after Python", "in a foreign thread", "kept to the end"],
)
def test_memory_outlives_the_interpreter(setup: str, last: str) -> None:
    program = AT_EXIT.format(setup=setup) + last
    tests = str(Path(__file__).parent)
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        cwd=tests,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("kind", "data", "offset", "nbytes", "expected"),
    [
        (2, 92, 0, 8, False),  # addresses: one has those from 100 to 103
        (2, 92, 0, 9, True),
        (2, 96, 4, 5, True),
        (2, 103, 0, 1, True),
        (2, 104, 0, 8, False),
        (2, 100, 0, 0, False),
        (4, 96, 4, 9, False),  # handles
        (4, 99, 1, 4, True),
        (4, 99, 5, 4, False),
    ],
)
def test_overlaps(kind: int, data: int, offset: int, nbytes: int, expected: bool) -> None:
    one = Buffer((kind, 0), 4, None, data=99, offset=1)
    other = Buffer((kind, 0), nbytes, None, data=data, offset=offset)
    assert overlap(one, other) is overlap(other, one) is expected
    assert not overlap(one, Buffer((kind, 1), 4, None, data=99, offset=1))


@pytest.mark.parametrize("value", ["x", (1,), 7, ("a", "b")])
def test_versions_and_devices_that_are_none_are_refused(value: Any) -> None:
    buffer = Buffer.from_numpy(SIX)
    for name in ("max_version", "dl_device"):
        with pytest.raises(InvalidArgumentError, match=f"the {name} .* expected two whole numbers"):
            buffer.__dlpack__(**{name: value})


def test_a_tensor_of_a_buffer_is_described_by_an_info() -> None:
    nothing: Any = None
    with pytest.raises(InvalidArgumentError, match="is None, expected a TensorInfo"):
        Buffer.from_numpy(SIX).tensor(nothing)
