# SPDX-License-Identifier: MIT
"""Inputs and outputs in the memory of other libraries, by DLPack."""

from __future__ import annotations

import ctypes
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from dlpack_producer import BFLOAT16, FLOAT32, FLOAT64, OldProducer, Producer

import armnn
from armnn.backends import ArrayHandle
from armnn.errors import InvalidArgumentError, MemoryImportError
from armnn_backend_ref.backend import RefBackend
from fakes.backends import DeviceBackend, DeviceFactory


class Device(DeviceBackend):
    """Computes in device memory."""

    def __init__(self) -> None:
        super().__init__(inner=RefBackend())


X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2


def doubled(data_type: str = "Float32") -> armnn.Network:
    """Return y = x + x over [2,3]."""
    network = armnn.Network("doubled")
    x = network.add_input("x", armnn.TensorInfo((2, 3), data_type))
    network.add_output("y", network.add_addition(x, x, name="add"))
    return network


def tensor(array: Any = X, **fields: Any) -> Producer:
    return Producer(array.tobytes(), array.shape, **fields)


def floats(producer: Producer, count: int = 6) -> list[float]:
    return np.frombuffer(producer.read(4 * count), np.float32).tolist()


class Torch(Producer):
    """Has PyTorch's name for a conversion."""

    __module__ = "torch._tensor"

    def to(self, dtype: object) -> None:
        raise AssertionError(dtype)


@pytest.fixture
def load(make_backend, make_runtime) -> Any:
    """Return a function that loads a network on one backend."""

    def load(network: Any = None, backend: Any = None, **options: Any) -> Any:
        kind = make_backend("Fake") if backend is None else backend
        return make_runtime(kind).load_model(network or doubled(), [kind.id], **options)

    return load


@pytest.mark.parametrize("version", [(1, 0), None], ids=["versioned", "unversioned"])
def test_run_reads_and_writes_tensors(load, version: Any) -> None:
    model = load()
    x, y = tensor(version=version), tensor(0 * X, version=version)
    for _ in range(3):
        made = model.run({"x": x}, outputs={"y": y})
        assert floats(y) == (2 * X).ravel().tolist()
        assert made["y"].ctypes.data == y.content
    assert model.run({"x": y})["y"].tolist() == (4 * X).tolist()
    del made
    assert (x.deleted, y.deleted) == (3, 4)  # after each call


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"strides": (1, 2)}, [[-2, 0, 2], [-1, 1, 3]]),
        ({"strides": (-3, -1), "first": 20}, [[3, 2, 1], [0, -1, -2]]),
        ({"flags": 1}, X.tolist()),
    ],
    ids=["transposed", "negative", "read-only"],
)
def test_run_reads_any_strides(load, fields: Any, expected: list[list[float]]) -> None:
    made = load().run({"x": tensor(**fields)})["y"]
    assert made.tolist() == (2 * np.array(expected)).tolist()


class Recording(Producer):
    """As a tensor of PyTorch that records gradients: another one shares its memory."""

    requires_grad = True

    def __dlpack__(self, **_: Any) -> Any:
        raise RuntimeError("Can't export tensors that require gradient, use tensor.detach()")

    def detach(self) -> Producer:
        return self.plain


def recording() -> Recording:
    made = Recording(X.tobytes(), (2, 3))
    made.plain = tensor()
    return made


def test_inputs_that_record_gradients_are_read(load) -> None:
    model = load()
    assert model.run({"x": recording()})["y"].tolist() == (2 * X).tolist()
    given = recording()
    call = model.bind({"x": given})
    assert call.copied == ()
    assert call.inputs["x"].ctypes.data == given.plain.content
    with pytest.raises(
        InvalidArgumentError, match=r"the output 'y' is a Recording that does not gi"
    ):
        model.run({"x": X}, {"y": recording()})


def test_bfloat16(load) -> None:
    x = Producer(X.astype(ml_dtypes.bfloat16).tobytes(), (2, 3), BFLOAT16)
    y = Producer(bytes(12), (2, 3), BFLOAT16)
    model = load(doubled("BFloat16"))
    made = model.run({"x": x}, outputs={"y": y})["y"]
    assert made.dtype == ml_dtypes.bfloat16
    assert y.read(12) == (2 * X).astype(ml_dtypes.bfloat16).tobytes()


def test_buffers_and_runs_with_limits(load) -> None:
    model = load()
    x, y = armnn.Buffer.from_numpy(X), armnn.Buffer.from_numpy(np.zeros_like(X))
    for _ in range(2):  # the second looks for the memory of the first
        model.run({"x": x}, {"y": y}, timeout=60)
        assert y.numpy().tolist() == (2 * X).tolist()


def test_a_buffer_is_no_truth_value(load) -> None:
    flags = armnn.Network("not")
    given = flags.add_input("x", armnn.TensorInfo((3,), "Boolean"))
    flags.add_output("y", flags.add_elementwise_unary(given, operation="LogicalNot"))
    model = load(flags, RefBackend)
    bits = np.array([True, False, True])
    for _ in range(2):
        made = model.run({"x": armnn.Buffer.from_numpy(bits)})["y"]
        assert made.tolist() == [False, True, False]


def test_a_bound_call_stays_on_the_memory(load) -> None:
    x, y = tensor(), tensor(0 * X)
    call = load().bind({"x": x}, {"y": y})
    assert call.copied == ()
    for value in (1, 5):
        ctypes.memmove(x.content, (value * X).tobytes(), X.nbytes)
        call()
        assert floats(y) == (2 * value * X).ravel().tolist()
    assert (len(x.asked), len(y.asked)) == (1, 1)
    assert (x.deleted, y.deleted) == (0, 0)
    call.close()
    del call
    gc.collect()
    assert (x.deleted, y.deleted) == (1, 1)


def test_imported_memory_and_runs_without_copies(load) -> None:
    model = load()
    x, y = tensor(), tensor(0 * X)
    ids = [*model.import_inputs({"x": x}, source="Malloc").values()]
    ids += model.import_outputs({"y": y}, source="Malloc").values()
    assert model.run({}, imported=ids)["y"].ctypes.data == y.content
    assert floats(y) == (2 * X).ravel().tolist()
    model.forget_imports(ids)
    direct = load(import_enabled=True, export_enabled=True)
    direct.run({"x": y}, outputs={"y": x})
    assert floats(x) == (4 * X).ravel().tolist()
    with pytest.raises(MemoryImportError, match="'x' is not contiguous"):
        direct.run({"x": tensor(strides=(1, 2))})


def test_submitted_runs(load) -> None:
    x, y = tensor(), tensor(0 * X)
    load().submit({"x": x}, {"y": y}).result()
    assert floats(y) == (2 * X).ravel().tolist()


def test_real_values_of_a_quantized_network(load) -> None:
    network = armnn.Network("quantized")
    info = armnn.TensorInfo((2, 3), "QAsymmU8", 0.5, 10)
    x = network.add_input("x", info)
    network.add_output("y", network.add_addition(x, x, output=info))
    model = load(network, RefBackend, quantize=True)
    y = tensor(0 * X)
    model.run({"x": tensor()}, {"y": y})
    assert floats(y) == (2 * X).ravel().tolist()


def test_data_that_decides_about_shapes(load) -> None:
    network = armnn.Network("reshaped")
    x = network.add_input("x", armnn.TensorInfo((None, 3)))
    network.add_output("y", network.add_addition(x, x, name="add"))
    model = load(network)
    model.prepare({"x": tensor()})
    assert model.run({"x": tensor()})["y"].shape == (2, 3)
    assert len(model.planned_report) == 1


@pytest.mark.parametrize("side", ["input", "output"])
def test_a_device_is_refused_by_name(load, side: str) -> None:
    model = load()
    far = tensor(device=(2, 0))
    inputs = {"x": far if side == "input" else X}
    outputs = {"y": far} if side == "output" else {}
    name = "'x'" if side == "input" else "'y'"
    message = f"the {side} {name} is on cuda:0, which is not reachable from Fake: copy it to the"
    for call in (model.run, model.bind, lambda *given: model.submit(*given).result()):
        with pytest.raises(MemoryImportError, match=message):
            call(inputs, outputs)
    far_import = model.import_inputs if side == "input" else model.import_outputs
    with pytest.raises(MemoryImportError, match=message):
        far_import(inputs if side == "input" else outputs, source="Malloc")
    assert far.asked == []  # nothing was moved for it
    assert model.run({"x": X})["y"].tolist() == (2 * X).tolist()
    lies = tensor(device=(2, 0))
    lies.device = (1, 0)  # what it says before it hands out memory of the device
    inputs = {"x": lies if side == "input" else X}
    outputs = {"y": lies} if side == "output" else {}
    for call in (model.run, model.bind, lambda *given: model.submit(*given).result()):
        with pytest.raises(MemoryImportError, match=message):
            call(inputs, outputs)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (Producer(bytes(48), (2, 3), FLOAT64), "the input 'x' is float64: expected float32"),
        (
            Torch(bytes(48), (2, 3), FLOAT64),
            r"the input 'x' is float64: expected .* \.to\(torch\.float32\)",
        ),
        (Producer(bytes(24), (3, 2)), r"the input 'x' has shape \[3,2\]: expected \[2,3\]"),
        (Producer(bytes(48), (2, 3), (5, 64)), "the input 'x': the memory of a Producer holds com"),
        (Producer(bytes(24), (2, 3), version=(2, 0)), "'x': .* described by DLPack 2.0"),
        (Producer(bytes(24), (2, 3), name=b"other"), "'x': what __dlpack__ of a Producer returned"),
    ],
)
def test_tensors_that_do_not_fit(load, x: Producer, message: str) -> None:
    model = load()
    for call in (model.run, model.bind):
        with pytest.raises((InvalidArgumentError, MemoryImportError), match=message):
            call({"x": x})


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (tensor(flags=1), "the array for the output 'y' is read-only"),
        (tensor(flags=2), "the output 'y': its memory is a copy, so the output would be lost"),
        (tensor(np.zeros((3, 2), np.float32)), r"'y' has shape \[3,2\]: expected \[2,3\]"),
        (
            Torch(bytes(48), (2, 3), FLOAT64),
            r"the output 'y' is float64: expected .* \.to\(torch\.float32\)",
        ),
        (Producer(bytes(3), (2, 3), (0, 4)), "the output 'y': .* holds packed int4"),
    ],
)
def test_tensors_that_cannot_be_written(load, y: Producer, message: str) -> None:
    model = load()
    for call in (model.run, model.bind):
        with pytest.raises((InvalidArgumentError, MemoryImportError), match=message):
            call({"x": X}, {"y": y})


def test_what_an_object_says_against_it_is_told(load) -> None:
    class Refusing:
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("it needs a gradient")

    message = "the input 'x' is a Refusing that does not give its memory: it needs a gradient"
    with pytest.raises(InvalidArgumentError, match=message):
        load().run({"x": Refusing()})


def test_tensors_of_old_libraries_are_written(load) -> None:
    x, y = (OldProducer(X.tobytes(), (2, 3), FLOAT32, version=None) for _ in range(2))
    load().run({"x": x}, {"y": y})
    assert floats(y) == (2 * X).ravel().tolist()


def test_a_backend_with_memory_of_its_own_copies(load) -> None:
    x, y = tensor(), tensor(0 * X)
    call = load(backend=Device).bind({"x": x}, {"y": y})
    assert call.copied == ("x", "y")
    assert call.copies == dict.fromkeys("xy", "Device has memory of its own")
    call()
    assert floats(y) == (2 * X).ravel().tolist()


OPENCL = (4, 0)
_memory: dict[int, np.ndarray] = {}
"""The memory of a device without addresses, by handle."""


def on_device(array: Any) -> armnn.Buffer:
    """Return an array in the middle of new memory of the device."""
    handle = 0x1000 + len(_memory)
    _memory[handle] = np.full(array.nbytes + 128, 0xEE, np.uint8)
    _memory[handle][64 : 64 + array.nbytes] = array.view(np.uint8).ravel()
    whole = armnn.Buffer(OPENCL, array.nbytes + 128, None, data=handle)
    return whole.tensor(armnn.tensor.info_of(array), 64)


def read(buffer: armnn.Buffer) -> list[Any]:
    raw = _memory[buffer.data][buffer.offset : buffer.offset + buffer.nbytes]
    return raw.view(buffer.dtype).reshape(buffer.shape).tolist()


class OnDevice(ArrayHandle):
    """A tensor in a caller's memory of the device, counted when the host maps it."""

    copies = 0

    def copy_from(self, array: Any) -> None:
        OnDevice.copies += 1
        super().copy_from(array)

    def copy_to(self, array: Any) -> None:
        OnDevice.copies += 1
        super().copy_to(array)


class OpenClFactory(DeviceFactory):
    import_devices = frozenset({OPENCL})

    def import_memory(self, info: Any, handle: Any) -> Any:
        buffer = handle.as_buffer()
        if buffer.data not in _memory:
            return None
        raw = _memory[buffer.data][buffer.offset : buffer.offset + buffer.nbytes]
        return OnDevice(info, raw.view(buffer.dtype).reshape(buffer.shape))


class OpenClBackend(Device):
    id = "OpenCl"

    def register_tensor_handle_factories(self, registry: Any) -> None:
        registry.register(OpenClFactory("OpenCl.memory"))

    @property
    def handle_factory_preferences(self) -> Any:
        return ("OpenCl.memory",)


class Foreign:
    """A tensor of a library on the device."""

    def __init__(self, array: Any) -> None:
        self.buffer = on_device(array)

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.buffer.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.buffer.__dlpack_device__()


def test_a_bound_call_stays_on_a_device(load) -> None:
    x, y = Foreign(X), Foreign(0 * X)
    model = load(backend=OpenClBackend)
    call = model.bind({"x": x}, {"y": y})
    assert (call.copied, OnDevice.copies) == ((), 0)
    made = call()["y"]
    assert read(y.buffer) == (2 * X).tolist()
    assert made.__dlpack_device__() == OPENCL  # for the library's from_dlpack
    _memory[x.buffer.data][64:88] = (3 * X).view(np.uint8).ravel()
    call()
    assert read(y.buffer) == (6 * X).tolist()
    assert OnDevice.copies == 0
    assert set(_memory[y.buffer.data][:64]) == {0xEE}
    mixed = np.zeros_like(X)
    half = model.bind({"x": x}, {"y": mixed})
    assert half.copies == {"y": "OpenCl has memory of its own"}
    half()
    assert mixed.tolist() == (6 * X).tolist()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (armnn.Buffer(OPENCL, 24, None, data=1), "the input 'x' is on opencl:0, .* from OpenCl: "),
        (armnn.Buffer((4, 1), 24, None, data=1), "the input 'x' is on opencl:1, .* from OpenCl: "),
    ],
    ids=["unknown", "another"],
)
def test_memory_of_a_device_that_is_not_taken(load, x: armnn.Buffer, message: str) -> None:
    model = load(backend=OpenClBackend)
    with pytest.raises(MemoryImportError, match=message):
        model.bind({"x": x.tensor(armnn.TensorInfo((2, 3)))})
    if x.device == OPENCL:
        with pytest.raises(InvalidArgumentError, match=r"'x' is a Buffer, expected float32\["):
            model.bind({"x": x})


def test_memory_of_a_device_is_imported(load) -> None:
    model = load(backend=OpenClBackend)
    x, y, before = Foreign(X), Foreign(0 * X), OnDevice.copies
    ids = [*model.import_inputs({"x": x}).values()]  # the device says what it is
    ids += model.import_outputs({"y": y}, source="Malloc").values()
    for _ in range(2):
        assert model.run({}, imported=ids)["y"].__dlpack_device__() == OPENCL
        assert read(y.buffer) == (2 * X).tolist()
    assert OnDevice.copies == before
    with pytest.raises(MemoryImportError, match=r"on opencl:0, and this call .*: bind\(\) it"):
        model.run({"x": x}, imported=ids[1:])
    with pytest.raises(InvalidArgumentError, match=r"the memory of the input 'x' is a Buffer, exp"):
        model.import_inputs({"x": Foreign(X.T.copy())}, source="Malloc")
    with pytest.raises(InvalidArgumentError, match="the source of the memory of the input 'x'"):
        model.import_inputs({"x": x}, source="Mallocs")
    with pytest.raises(MemoryImportError, match=r"not loaded for imported inputs: give source="):
        model.import_inputs({"x": X})


@pytest.mark.parametrize("options", [{}, {"import_enabled": True, "export_enabled": True}])
def test_runs_stay_on_a_device(load, options: Any) -> None:
    model = load(backend=OpenClBackend, **options)
    x, y, before = Foreign(X), Foreign(0 * X), OnDevice.copies
    for value in (1, 3):
        _memory[x.buffer.data][64:88] = (value * X).view(np.uint8).ravel()
        made = model.run({"x": x}, {"y": y})["y"]
        assert read(y.buffer) == (2 * value * X).tolist()
        assert made.__dlpack_device__() == OPENCL
        model.submit({"x": y}, {"y": x}).result()
        assert read(x.buffer) == (4 * value * X).tolist()
    assert OnDevice.copies == before
    assert set(_memory[y.buffer.data][:64]) == {0xEE}
    _memory[x.buffer.data][64:88] = X.view(np.uint8).ravel()
    assert model.run({"x": x}, timeout=60)["y"].tolist() == (2 * X).tolist()
    host = np.zeros_like(X)
    assert model.run({"x": x}, {"y": host})["y"] is host
    assert host.tolist() == (2 * X).tolist()
    for _ in range(2):  # the second meets the context of the first
        model.run({"x": 3 * X}, {"y": y})
        assert read(y.buffer) == (6 * X).tolist()
        assert model.run({"x": -X})["y"].tolist() == (-2 * X).tolist()
    why = "OpenCl has memory of its own"  # that of the host, which was to be used where it is
    assert set(model.report.copied) == ({f"x: {why}", f"y: {why}"} if options else set())


def test_a_run_keeps_no_memory_of_a_device(load) -> None:
    class Freed:
        """Frees memory of the device."""

    model = load(backend=OpenClBackend)
    x = on_device(X)
    x.owner = Freed()
    gone = weakref.ref(x.owner)
    assert model.run({"x": x})["y"].tolist() == (2 * X).tolist()
    del x
    gc.collect()
    assert gone() is None


def test_threads_run_on_tensors_of_a_device(load) -> None:
    model = load(backend=OpenClBackend)

    def work(value: float) -> list[Any]:
        x, y = on_device(np.float32(value) * X), on_device(0 * X)
        for _ in range(5):
            model.run({"x": x}, {"y": y})
        return read(y)

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(work, range(8)))
    assert made == [(2 * value * X).tolist() for value in range(8)]


def test_runs_that_memory_of_a_device_does_not_fit(load) -> None:
    model = load(backend=OpenClBackend)
    x, y = on_device(X), on_device(0 * X)
    wrong: list[tuple[Any, Any, type[Exception], str]] = [
        ({"x": on_device(X.astype(np.float64))}, {"y": y}, InvalidArgumentError, "'x' is float64"),
        ({"x": on_device(X.T.copy())}, {"y": y}, InvalidArgumentError, r"'x' has shape \[3,2\]"),
        ({"x": x}, {"y": on_device(X.T.copy())}, InvalidArgumentError, r"'y' has shape \[3,2\]"),
        ({"x": x}, {"y": on_device(X.astype(np.int32))}, InvalidArgumentError, "'y' is a Buf"),
        ({"x": Producer(bytes(24), (2, 3), strides=(1, 2), device=OPENCL)}, {"y": y},
         InvalidArgumentError, "'x', <Buffer .*, is not contiguous"),
        ({"x": armnn.Buffer(OPENCL, 24, None, data=1).tensor(armnn.TensorInfo((2, 3)))}, {"y": y},
         MemoryImportError, "'x' is on opencl:0, .* not reachable from OpenCl"),
        ({"x": x}, {"y": x}, MemoryImportError,
         "'y' cannot be written on opencl:0, as the layer that writes it reads an input in its"),
    ]  # fmt: skip
    for inputs, outputs, error, message in wrong:
        with pytest.raises(error, match=message):
            model.run(inputs, outputs)
    assert read(y) == (0 * X).tolist()
    model.run({"x": x}, {"y": y})
    assert read(y) == (2 * X).tolist()


def test_runs_on_states_refuse_devices_and_bound_calls_take_them(load) -> None:
    network = armnn.Network("sum")
    x, total = (network.add_input(name, armnn.TensorInfo((2, 3))) for name in ("x", "total"))
    network.add_output("total_out", network.add_addition(x, total))
    model = load(network, OpenClBackend, states={"total_out": "total"})
    far = on_device(X)
    with pytest.raises(MemoryImportError, match=r"'x' is on opencl:0, and this call .*: bind\(\)"):
        model.run({"x": far})
    stream = model.stream()
    call = stream.bind({"x": far})
    call()
    call()
    assert stream.states()["total"].tolist() == (2 * X).tolist()


def test_outputs_on_a_device_are_apart_and_can_be_written(load) -> None:
    network = doubled()
    network.add_output("z", network.outputs[0].inputs[0])
    model = load(network, OpenClBackend)
    y = on_device(np.zeros((4, 3), np.float32))
    info = armnn.TensorInfo((2, 3))
    shared = {"y": y.tensor(info), "z": y.tensor(info, 12)}
    constant = on_device(X)
    constant.is_readonly = True
    for call in (model.run, model.bind):
        with pytest.raises(InvalidArgumentError, match="output 'y' and the output 'z' share mem"):
            call({"x": X}, shared)
        with pytest.raises(InvalidArgumentError, match="'y': its memory on opencl:0 is read-only"):
            call({"x": X}, {"y": constant})
        with pytest.raises(MemoryImportError, match=r"'z' cannot .* as it is the output 'y': give"):
            call({"x": X}, {"y": on_device(X), "z": on_device(X)})


def test_runs_that_data_decides_about_refuse_devices(load) -> None:
    network = armnn.Network("reshaped")
    x = network.add_input("x", armnn.TensorInfo((2, 3)))
    shape = network.add_input("shape", armnn.TensorInfo((2,), "Signed64"))
    network.add_output("y", network.add_reshape(x, shape))
    model = load(network, OpenClBackend)
    sizes = np.array([3, 2])
    assert model.run({"x": X, "shape": sizes})["y"].shape == (3, 2)
    message = "'x' is on opencl:0, which is not reachable from the host: .*; data decides"
    with pytest.raises(MemoryImportError, match=message):
        model.run({"x": on_device(X), "shape": sizes})


def test_the_report_says_what_was_copied_and_why(load) -> None:
    model = load(backend=Device)
    model.run({"x": tensor()}, {"y": tensor(0 * X)})
    assert model.report.copied == ()  # as every run into working memory
    model.bind({"x": tensor()})
    why = "Device has memory of its own"
    assert model.report.copied == (f"x: {why}", f"y: {why}")
    assert str(model.report).endswith(f"\ncopied x: {why}\ncopied y: {why}")
    assert f"copied nevertheless:\n  x: {why}" in str(model)
    assert model.planned_report.copied == ()


def test_runs_that_were_to_copy_nothing_report_what_they_copy(load) -> None:
    model = load(backend=Device, import_enabled=True)
    model.run({"x": tensor()})
    assert model.report.copied == ("x: Device has memory of its own",)


def test_a_copy_that_the_library_makes_is_reported(load) -> None:
    network = armnn.Network("cast")
    x = network.add_input("x", armnn.TensorInfo((4,), "Int4"))
    network.add_output("y", network.add_cast(x, output="Float32"))
    model = load(network, RefBackend)
    made = model.run({"x": Producer(b"\xf7\x08", (4,), (0, 4))})["y"]
    assert made.tolist() == [7, -1, -8, 0]
    assert model.report.copied == ("x: a Producer hands over a copy of its elements",)


def test_bound_calls_that_copy_everything_refuse_devices(load) -> None:
    info = armnn.TensorInfo((2, 3), "QAsymmU8", 0.5, 10)
    network = armnn.Network("quantized")
    x = network.add_input("x", info)
    network.add_output("y", network.add_addition(x, x, output=info))
    model = load(network, OpenClBackend, quantize=True)
    far = on_device(np.zeros((2, 3), np.uint8))
    with pytest.raises(MemoryImportError, match=r"'x' is on opencl:0.*; quantize=True converts"):
        model.bind({"x": far})
    with pytest.raises(MemoryImportError, match=r"'y' is on opencl:0.*; quantize=True converts"):
        model.run({"x": X}, {"y": far})
    copied = model.bind({"x": X}).copies
    assert copied == dict.fromkeys("xy", "quantize=True converts")
