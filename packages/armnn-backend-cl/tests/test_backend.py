# SPDX-License-Identifier: MIT
"""GpuAcc on the first OpenCL device of this machine: networks, memory, queues, refusals."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import armnn
from armnn import CreationOptions, DataLayout, DataType, Network, Runtime, TensorInfo
from armnn.backends import ModelContext, Support
from armnn.errors import (
    ArmnnError,
    BackendUnavailableError,
    DeadlineExceededError,
    DeviceLostError,
    ExecutionError,
    InvalidArgumentError,
    MemoryImportError,
    ResourceExhaustedError,
    WorkerLostError,
)
from armnn.graph import Layer
from armnn.profiling import Recorder, layer_times, timed_runs
from armnn_backend_cl import device as devices
from armnn_backend_cl.backend import GpuAccBackend
from armnn_backend_cl.device import Queue, QueueEvent, all_devices, open_device
from armnn_backend_cl.memory import OPENCL, DeviceMemory

ONLY = ["GpuAcc"]


def classifier(layout: DataLayout = DataLayout.NHWC, batch: int | str = 2) -> Network:
    """Return a CNN with the layers that CNNs are made of."""
    rng = np.random.default_rng(0)
    first = layout is DataLayout.NCHW

    net = Network("classifier")

    def constant(*shape: int) -> Any:
        scale = np.float32(1 / np.sqrt(max(np.prod(shape[1:]), 1)))
        return net.add_constant(scale * rng.standard_normal(shape).astype(np.float32))

    shape = (batch, 3, 16, 16) if first else (batch, 16, 16, 3)
    x = net.add_input("x", TensorInfo(shape))
    options: dict[str, Any] = {"data_layout": layout}
    pads = {"pad_left": 1, "pad_right": 1, "pad_top": 1, "pad_bottom": 1}
    y = net.add_convolution2d(
        x, constant(12, 3, 3, 3), constant(12), stride_x=2, stride_y=2, **pads, **options
    )
    y = net.add_activation(y, function="BoundedReLu", a=6.0)
    z = net.add_depthwise_convolution2d(y, constant(1, 3, 3, 12), constant(12), **pads, **options)
    z = net.add_activation(z, function="HardSwish")
    z = net.add_addition(z, y)
    z = net.add_concat([z, y], axis=1 if first else 3)
    z = net.add_pooling2d(
        z, pool_type="Max", pool_width=2, pool_height=2, stride_x=2, stride_y=2, **options
    )
    z = net.add_mean(z, axis=(2, 3) if first else (1, 2))
    z = net.add_fully_connected(z, constant(24, 5), constant(5))
    net.add_output("y", net.add_softmax(z))
    return net


def picture(batch: int = 2, layout: DataLayout = DataLayout.NHWC) -> dict[str, Any]:
    shape = (batch, 3, 16, 16) if layout is DataLayout.NCHW else (batch, 16, 16, 3)
    return {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}


def expected(net: Network, inputs: dict[str, Any]) -> np.ndarray:
    return armnn.load_model(net, backends=["CpuRef"]).run(inputs)["y"]


@pytest.mark.parametrize("layout", [DataLayout.NHWC, DataLayout.NCHW])
def test_a_cnn_runs_whole(layout: DataLayout) -> None:
    net = classifier(layout)
    model = armnn.load_model(net, backends=ONLY)
    made = model.run(picture(layout=layout))["y"]
    np.testing.assert_allclose(
        made, expected(classifier(layout), picture(layout=layout)), atol=1e-6
    )
    assert set(model.report.layers_by_backend) == {"GpuAcc"}
    assert sum(row.compiled_into != "" for row in model.report) >= 3


class Calls:
    """Counts what is asked of OpenCL."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        for name in ("Buffer", "Program", "Kernel", "enqueue_copy"):
            monkeypatch.setattr(cl, name, self._counting(name, getattr(cl, name)))
        for name in ("enqueue_nd_range_kernel", "enqueue_barrier"):
            monkeypatch.setattr(cl, name, self._counting(name, getattr(cl, name)))

        wait = QueueEvent.wait

        def waiting(event: QueueEvent) -> None:
            self.counts["wait"] += not event.is_done
            wait(event)

        monkeypatch.setattr(QueueEvent, "wait", waiting)

    def _counting(self, name: str, function: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            self.counts[name] += 1
            self.counts["wait"] += name == "enqueue_copy" and named.get("is_blocking", True)
            return function(*arguments, **named)

        return call


def test_a_steady_run_only_copies_and_enqueues(monkeypatch: pytest.MonkeyPatch) -> None:
    model = armnn.load_model(classifier(), backends=ONLY)
    first = model.run(picture())["y"]
    calls = Calls(monkeypatch)
    second = model.run(picture())["y"]
    assert calls.counts.keys() <= {"enqueue_copy", "enqueue_nd_range_kernel", "wait"}
    assert calls.counts["enqueue_copy"] == 2  # the input and the output
    assert calls.counts["wait"] == 1  # for the output
    assert first.tobytes() == second.tobytes()


class Activations(GpuAccBackend):
    """A second backend on the same device, whose queue runs the activations."""

    id = "Activations"

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        return super().supports(layer, model) if layer.type == "Activation" else Support.no("no")


def test_two_queues_of_a_device_wait_for_each_other_there(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Network("alternating")
    y = net.add_input("x", TensorInfo((4, 256)))
    for _ in range(8):
        y = net.add_activation(net.add_addition(y, y), function="ReLu")
    net.add_output("y", y)
    data = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(4, 256)
    with armnn.register_backend("Activations", Activations):
        model = armnn.load_model(net, backends=["Activations", "GpuAcc"])
        assert model.report.layers_by_backend == {"Activations": 8, "GpuAcc": 8}
        model.run({"x": data})
        calls = Calls(monkeypatch)
        made = model.run({"x": data})["y"]
    np.testing.assert_array_equal(made, np.maximum(data, 0) * 256)
    assert calls.counts["enqueue_barrier"] >= 15
    assert calls.counts["wait"] == 1


def test_a_profile_has_the_times_of_the_device() -> None:
    model = armnn.load_model(classifier(), backends=ONLY)
    recorder = Recorder()
    first = model.run(picture())["y"]
    for _ in range(2):
        np.testing.assert_array_equal(model.run(picture(), profiler=recorder)["y"], first)
    runs = timed_runs(recorder.events)
    assert len(runs) == 2
    for run in runs:
        kernels = [kernel for layer in run.layers for kernel in layer.on_device]
        assert {kernel.details["kernel"] for kernel in kernels} >= {"convolve", "depthwise"}
        assert all(layer.on_device for layer in run.layers)
        for before, after in pairwise(kernels):  # one queue, in order
            assert before.start_ns < before.end_ns <= after.start_ns
    times = layer_times(recorder.events, model.report)
    assert {time.type for time in times} >= {"Convolution2d", "DepthwiseConvolution2d", "Softmax"}
    assert sum(time.share for time in times) < 1
    count = len(recorder.events)
    with pytest.raises(DeadlineExceededError):
        model.run(picture(), profiler=recorder, timeout=1e-6)
    model.run(picture())
    assert not any(each.details["category"] == "run" for each in recorder.events[count:])


def test_another_batch_builds_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    model = armnn.load_model(classifier(batch="N"), backends=ONLY)
    model.run(picture(2))
    calls = Calls(monkeypatch)
    made = model.run(picture(5))["y"]
    assert calls.counts["Program"] == 0
    np.testing.assert_allclose(made, expected(classifier(batch=5), picture(5)), atol=1e-6)


def test_weights_are_on_the_device_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    allocate = cl.Buffer

    def counted(*arguments: Any, **named: Any) -> Any:
        sizes.append((made := allocate(*arguments, **named)).size)
        return made

    rng = np.random.default_rng(2)
    weights = [rng.standard_normal(shape, np.float32) for shape in ((40, 3, 3, 64), (300, 40))]
    net = Network("weights")
    x = net.add_input("x", TensorInfo(("N", 8, 8, 64)))
    y = net.add_convolution2d(x, net.add_constant(weights[0]), data_layout="NHWC")
    y = net.add_activation(y, function="ReLu")
    product = net.add_constant(weights[1].T)
    net.add_output("y", net.add_batch_mat_mul(net.add_mean(y, axis=(1, 2)), product))
    monkeypatch.setattr(cl, "Buffer", counted)
    model = armnn.load_model(net, backends=ONLY)
    for batch in (1, 2, 3):
        model.run({"x": rng.standard_normal((batch, 8, 8, 64), np.float32)})
    (memory,) = (used for name, used in model.memory.items() if name.startswith("opencl"))
    arenas = 3 * memory["working"]  # at most: that of the largest batch, once for each
    assert memory["constants"] == 0  # packed weights are not tensors of the network
    assert sum(sizes) <= 1.3 * sum(each.nbytes for each in weights) + arenas


def test_threads_make_the_same_bits() -> None:
    model = armnn.load_model(classifier(), backends=ONLY)
    made: list[bytes] = []

    def work() -> None:
        made.extend(model.run(picture())["y"].tobytes() for _ in range(3))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 12
    assert len(set(made)) == 1


def test_memory_of_the_device_goes_in_and_out() -> None:
    device = open_device()
    model = armnn.load_model(classifier(), backends=ONLY)
    inputs = picture()
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    source = cl.Buffer(device.context, flags, hostbuf=inputs["x"])
    target = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 40)
    place = (OPENCL, device.index)
    x = armnn.Buffer(place, source.size, source, data=source.int_ptr).tensor(
        TensorInfo((2, 16, 16, 3))
    )
    y = armnn.Buffer(place, target.size, target, data=target.int_ptr).tensor(TensorInfo((2, 5)))
    model.run({"x": x}, outputs={"y": y})
    made = np.empty((2, 5), np.float32)
    cl.enqueue_copy(cl.CommandQueue(device.context), made, target)
    np.testing.assert_array_equal(made, model.run(inputs)["y"])


def test_memory_that_is_not_as_was_said_is_refused() -> None:
    device = open_device()
    model = armnn.load_model(classifier(), backends=ONLY)
    memory = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 43)
    place, info = (OPENCL, device.index), TensorInfo((2, 5))
    for offset, data, words in (
        (4, memory.int_ptr, "has 43 bytes, expected at least 44: 40 from byte 4 on"),
        (3, memory.int_ptr, "begins at byte 3 of its OpenCL buffer: expected a multiple of 4"),
        (0, 0, "data of .* is 0x0, which OpenCL does not know as a buffer"),
    ):
        y = armnn.Buffer(place, 40, memory, data=data, offset=offset).tensor(info)
        with pytest.raises(MemoryImportError, match=words):
            model.run(picture(), outputs={"y": y})


def test_the_time_of_a_run_counts_while_it_waits() -> None:
    model = armnn.load_model(classifier(), backends=ONLY)
    made = model.run(picture())["y"]
    with pytest.raises(DeadlineExceededError):
        model.run(picture(), timeout=1e-6)
    np.testing.assert_array_equal(model.run(picture(), timeout=60)["y"], made)


def _run_in_child(model: Any, channel: Any) -> None:
    try:
        model.run(picture())
    except ArmnnError as error:
        channel.send(str(error))
    else:
        channel.send("ran")
    channel.close()
    os._exit(0)  # drivers hang when a child that was forked ends


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PoCL has threads
@pytest.mark.parametrize("has_run", [False, True])
def test_a_forked_child_is_refused_in_words(has_run: bool) -> None:
    model = armnn.load_model(classifier(), backends=ONLY)
    if has_run:  # its context waits for the next run
        model.run(picture())
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_run_in_child, args=(model, there))
    process.start()
    assert here.poll(60), "the child hangs"
    assert "was opened before this process was forked" in here.recv()
    process.join(60)


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> Iterator[weakref.WeakSet[Any]]:
    """Return the buffers and queues that exist; nothing is collected meanwhile."""
    found: weakref.WeakSet[Any] = weakref.WeakSet()

    def counted(kind: Any) -> Any:
        class Counted(kind):
            def __init__(self, *arguments: Any, **named: Any) -> None:
                super().__init__(*arguments, **named)
                found.add(self)

        return Counted

    for name in ("Buffer", "CommandQueue"):
        monkeypatch.setattr(cl, name, counted(getattr(cl, name)))
    gc.collect()
    gc.disable()
    yield found
    gc.enable()


def test_closing_the_runtime_frees_buffers_and_queues_at_once(alive: weakref.WeakSet[Any]) -> None:
    runtime = Runtime()
    model = runtime.load_model(classifier(batch="N"), backends=ONLY)
    for batch in (1, 2):
        model.run(picture(batch))
    call = model.bind(picture())
    call()
    assert len(alive) > 8
    runtime.close()
    assert len(alive) == 0
    assert call.outputs.keys() == {"y"}  # it and the model are still referred to


def test_loads_leave_nothing_behind(alive: weakref.WeakSet[Any]) -> None:
    def opened() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    counts = []
    with Runtime() as runtime:
        for _ in range(10):
            with runtime.load_model(classifier(), backends=ONLY) as model:
                model.run(picture())
            assert len(alive) == 0
            counts.append(opened())
    assert counts[1:] == counts[:-1]


def test_a_worker_that_is_killed_is_replaced() -> None:
    net = Network("isolated")
    x = net.add_input("x", TensorInfo((2, 8)))
    net.add_output("y", net.add_activation(x, function="ReLu"))
    data = np.linspace(-1, 1, 16, dtype=np.float32).reshape(2, 8)
    with Runtime(CreationOptions(isolate=ONLY)) as runtime:
        model = runtime.load_model(net, ONLY)
        supervisor = runtime.registry.get("GpuAcc").supervisor  # type: ignore[attr-defined]  # it is isolated
        np.testing.assert_array_equal(model.run({"x": data})["y"], np.maximum(data, 0))
        os.kill(supervisor.link().pid, signal.SIGKILL)
        with pytest.raises(WorkerLostError, match="SIGKILL"):
            model.run({"x": data})
        assert supervisor.wait(60)
        np.testing.assert_array_equal(model.run({"x": data})["y"], np.maximum(data, 0))
        assert [fault for fault in model.faults if "SIGKILL" in fault]


class DriverError(cl.RuntimeError):
    """An error of a driver, with a code that a test chooses."""

    code = -5  # out of resources


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what lets a function of OpenCL fail within a block."""

    @contextlib.contextmanager
    def fails(place: str, code: int) -> Iterator[None]:
        def fail(*_: Any, **__: Any) -> Any:
            raise DriverError(place)

        with monkeypatch.context() as patch:
            patch.setattr(DriverError, "code", code)
            patch.setattr(cl, place, fail)
            yield

    return fails


def in_two_queues() -> Any:
    net = Network("two queues")
    x = net.add_input("x", TensorInfo((4,)))
    net.add_output("y", net.add_addition(net.add_activation(x, function="ReLu"), x))
    return armnn.load_model(net, backends=["Activations", "GpuAcc"], min_part=1)


def test_a_driver_that_fails_at_a_border_of_two_queues_is_told(failing: Any) -> None:
    given = {"x": np.float32([-1, 0, 1, 2])}
    with armnn.register_backend("Activations", Activations):
        model = in_two_queues()
        with failing("enqueue_barrier", -36), pytest.raises(DeviceLostError, match="is lost"):
            model.run(given)
        assert model.run(given)["y"].tolist() == [-1, 0, 2, 4]


@pytest.mark.parametrize("place", ["enqueue_nd_range_kernel", "enqueue_copy", "CommandQueue"])
def test_a_lost_device_has_an_error_of_its_own(place: str, failing: Any) -> None:
    model = armnn.load_model(classifier(), backends=ONLY)
    made = model.run(picture())["y"]
    again = armnn.load_model(classifier(), backends=ONLY)
    with failing(place, -9999), pytest.raises(DeviceLostError, match=r"is lost .* start a new pro"):
        again.run(picture())
    with failing(place, -5):
        with pytest.raises(ExecutionError, match=r"failed: .*error -5") as caught:
            again.run(picture())
        assert not isinstance(caught.value, DeviceLostError)
    np.testing.assert_array_equal(model.run(picture())["y"], made)


@pytest.mark.parametrize("place", ["Buffer", "enqueue_migrate_mem_objects"])
def test_a_device_without_memory_says_so_when_a_context_is_made(place: str, failing: Any) -> None:
    model = armnn.load_model(classifier(), backends=ONLY)
    model.prepare(picture())
    no_memory = pytest.raises(ResourceExhaustedError, match="has no memory for a buffer of")
    with failing(place, -4), no_memory:
        model.run(picture())
    with failing(place, -9999), pytest.raises(DeviceLostError):
        model.run(picture())
    with failing("Buffer", -4), no_memory:  # for weights
        armnn.load_model(classifier(), backends=ONLY)
    np.testing.assert_allclose(
        model.run(picture())["y"], expected(classifier(), picture()), atol=1e-6
    )


@pytest.fixture
def no_devices(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    all_devices.cache_clear()
    yield
    all_devices.cache_clear()


def test_no_driver_is_a_reason(monkeypatch: pytest.MonkeyPatch, no_devices: None) -> None:
    def none() -> list[Any]:
        raise cl.LogicError("clGetPlatformIDs", -1001)

    monkeypatch.setattr(devices.cl, "get_platforms", none)
    with pytest.raises(BackendUnavailableError, match=r"there is no OpenCL driver: .*install the"):
        all_devices()
    monkeypatch.setattr(devices.cl, "get_platforms", list)
    with pytest.raises(BackendUnavailableError, match="no OpenCL platform has a device: got no"):
        all_devices()


class Platform:
    """A platform with devices of one name."""

    version = "OpenCL 1.2"

    def __init__(self, name: str, count: int, code: int = 0) -> None:
        self.name, self._code = name, code
        self._devices = [
            SimpleNamespace(name=f"{name} 9", type=cl.device_type.GPU) for _ in range(count)
        ]

    def get_devices(self) -> list[Any]:
        if self._code:
            raise DriverError(f"{self.name} fails")
        return self._devices


def test_all_devices_of_a_name_count_and_drivers_that_fail_do_not(
    monkeypatch: pytest.MonkeyPatch, no_devices: None, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Platform("Broken", 1, code=-6)
    two, other = Platform("Twins", 2), Platform("Other", 1)
    given = [broken, two, other, Platform("Twins", 2)]  # a second loader lists the driver again
    monkeypatch.setattr(devices.cl, "get_platforms", lambda: given)
    assert all_devices() == [*two.get_devices(), *other.get_devices()]
    assert "an OpenCL driver is left out: Broken fails" in caplog.text
    all_devices.cache_clear()
    given[:] = [broken, Platform("Empty", 0)]
    with pytest.raises(BackendUnavailableError, match="a device: got Broken fails, Empty; install"):
        all_devices()


def test_a_device_that_cannot_be_opened_is_unavailable(failing: Any) -> None:
    real = open_device().device
    with (
        failing("Context", -6),
        pytest.raises(BackendUnavailableError, match="cannot open it: Context; the option Dev"),
    ):
        devices.Device(0, real)
    small = SimpleNamespace(
        name="Small", platform=SimpleNamespace(name="Fake"), max_work_group_size=32
    )
    with pytest.raises(BackendUnavailableError, match="Fake: Small has groups of at most 32 work"):
        devices.Device(0, small)  # type: ignore[arg-type]  # a fake


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"Device": "quantum"}, "there is no OpenCL device 'quantum': expected an index, gpu, cpu"),
        ({"Device": 99}, "there is no OpenCL device 99"),
        ({"Device": True}, "the option Device of backend 'GpuAcc' is True: expected an index or"),
        (
            {"Devices": 0},
            "does not know the option 'Devices' of a runtime: expected Device or Kernel",
        ),
        (
            {"KernelProfilingEnabled": 1},
            "KernelProfilingEnabled of backend 'GpuAcc' is 1: expected t",
        ),
        (
            {"FastMathEnabled": True},
            "option 'FastMathEnabled' of a runtime, as it is one of a model",
        ),
        (
            {"MLGOTuningFilePath": "x"},
            "'MLGOTuningFilePath' of a runtime, as its rules are for the kernels of Arm's library",
        ),
    ],
)
def test_wrong_options_are_told(option: dict[str, Any], words: str) -> None:
    with (
        pytest.raises(InvalidArgumentError, match=words),
        Runtime(CreationOptions(backend_options={"GpuAcc": option})) as runtime,
    ):
        runtime.load_model(classifier(), backends=ONLY)


@pytest.mark.parametrize("option", [0, "", all_devices()[0].name[:6].upper()])
def test_a_device_is_named_by_index_or_part_of_its_name(option: int | str) -> None:
    assert open_device(option) is open_device()


def test_a_record_names_device_and_driver() -> None:
    with Runtime() as runtime, runtime.load_model(classifier(), backends=ONLY) as model:
        stated = model.record().document["backends"]["GpuAcc"]["capabilities"]
    device = open_device().device
    assert device.name.strip() in stated["Device"]
    assert stated["Platform"].startswith(device.platform.name.strip())
    assert stated["Extensions"].split() == device.extensions.split()
    assert stated["Driver"] == f"{device.driver_version.strip()}, {device.version.strip()}"


def test_nan_is_no_small_sum_and_crossed_bounds_are_those_of_the_formula() -> None:
    data = np.float32([[[[3, 4], [np.nan, 1]]]])
    net = Network("normalized")
    x = net.add_input("x", TensorInfo(data.shape))
    net.add_output("y", net.add_l2_normalization(x, data_layout="NHWC"))
    # min(a, max(b, x)) with a below b
    net.add_output("z", net.add_activation(x, function="BoundedReLu", a=0.1, b=1.0))
    made = armnn.load_model(net, backends=ONLY).run({"x": data})
    np.testing.assert_allclose(made["y"], np.float32([[[[0.6, 0.8], [np.nan, np.nan]]]]))
    np.testing.assert_array_equal(made["z"], np.float32([[[[0.1, 0.1], [np.nan, 0.1]]]]))


@pytest.mark.parametrize("function", ["Gelu", "GeluTanH"])
def test_large_negative_numbers_have_no_gelu(function: str) -> None:
    # Formulas with 1 + erf(x) or 1 + tanh(x) depend on drivers that round these to exactly -1.
    data = np.float32([-1e30, -1e4, -100, 100, 1e30])
    net = Network("gelu")
    x = net.add_input("x", TensorInfo(data.shape))
    net.add_output("y", net.add_activation(x, function=function))
    made = armnn.load_model(net, backends=ONLY).run({"x": data})["y"]
    np.testing.assert_array_equal(made, np.maximum(data, 0))


def test_refusals_say_why() -> None:
    net = Network("doubles")
    x = net.add_input("x", TensorInfo((4,), DataType.FLOAT64))
    net.add_output("y", net.add_addition(x, x, name="sum"))
    model = armnn.load_model(net, backends=["GpuAcc", "CpuRef"])
    assert model.report.layers_by_backend == {"CpuRef": 1}
    assert (
        "the input 'input' is Float64, expected Float32, Float16, BFloat16, a quantized type or an "
        "integer" in str(model.report)
    )


def table(kind: DataType) -> Any:
    """Return a model that looks up rows by computed indices."""
    net = Network("table")
    ids = net.add_input("ids", TensorInfo((3,), kind))
    rows = net.add_constant(np.float32([[0, 1], [2, 3], [4, 5], [6, 7]]))
    net.add_output("y", net.add_gather(rows, ids, name="lookup"))
    return armnn.load_model(net, backends=ONLY)


@pytest.mark.parametrize("kind", [DataType.SIGNED32, DataType.SIGNED64])
def test_an_index_outside_of_its_axis_is_an_error_of_that_run(kind: DataType) -> None:
    model = table(kind)
    dtype = kind.numpy_dtype
    rows = [[2, 3], [6, 7], [6, 7]]
    for wrong in (4, -5):
        with pytest.raises(
            ExecutionError,
            match=f"layer 'lookup' .Gather.: the index {wrong} is outside of axis 0: expected -4 "
            "to 3",
        ):
            model.run({"ids": np.array([1, wrong, 3], dtype)})
        np.testing.assert_array_equal(model.run({"ids": np.array([1, -1, 3], dtype)})["y"], rows)


def test_an_index_is_checked_where_another_queue_goes_on() -> None:
    net = Network("table")
    ids = net.add_input("ids", TensorInfo((2,), DataType.SIGNED32))
    found = net.add_gather(net.add_constant(np.float32([3, 4])), ids)
    net.add_output("y", net.add_activation(found, function="ReLu"))
    with armnn.register_backend("Activations", Activations):
        model = armnn.load_model(net, backends=["Activations", "GpuAcc"], min_part=1)
        assert model.report.layers_by_backend == {"Activations": 1, "GpuAcc": 1}
        for _ in range(2):
            with pytest.raises(ExecutionError, match="the index 2 is outside of axis 0"):
                model.run({"ids": np.int32([2, 0])})
        assert model.run({"ids": np.int32([1, 0])})["y"].tolist() == [4, 3]


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(("count", "wrong"), [(4, 4), (4, -5), (0, 0)])
def test_indices_are_checked_where_nothing_is_read(*, rows: bool, count: int, wrong: int) -> None:
    net = Network("nothing")
    x = net.add_input("x", TensorInfo((count, 0)))
    ids = net.add_input("ids", TensorInfo((2, 1) if rows else (2,), DataType.SIGNED32))
    net.add_output("y", net.add_gather_nd(x, ids) if rows else net.add_gather(x, ids))
    model = armnn.load_model(net, backends=ONLY)
    given = {"x": np.zeros((count, 0), np.float32), "ids": np.int32([0, wrong])}
    room = "expected -4 to 3" if count else "it has no elements"
    with pytest.raises(ExecutionError, match=f"the index {wrong} is outside of .*: {room}"):
        model.run({**given, "ids": given["ids"].reshape(ids.info.static_shape)})
    if count:
        made = model.run({**given, "ids": np.zeros(ids.info.static_shape, np.int32)})
        assert made["y"].shape == (2, 0)


def test_an_index_of_a_run_that_was_stopped_is_no_error_of_the_next() -> None:
    model = table(DataType.SIGNED32)
    with pytest.raises(DeadlineExceededError):
        model.run({"ids": np.int32([1, 9, 3])}, timeout=1e-6)
    model.run({"ids": np.int32([1, 2, 3])})


def test_a_run_behind_one_that_was_stopped_keeps_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = open_device()
    stuck = cl.UserEvent(device.context)
    is_over = threading.Event()
    launch = cl.enqueue_nd_range_kernel

    def behind(commands: Any, *arguments: Any) -> Any:
        if not is_over.is_set():
            cl.enqueue_barrier(commands, [stuck])
        return launch(commands, *arguments)

    def let_go() -> None:
        is_over.set()
        stuck.set_status(cl.command_execution_status.COMPLETE)

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", behind)
    model = table(DataType.SIGNED32)
    late = threading.Timer(60, let_go)
    late.start()
    for timeout in (0.05, 0.05, 0):
        with pytest.raises(DeadlineExceededError):
            model.run({"ids": np.int32([1, 2, 3])}, timeout=timeout)
        assert not is_over.is_set()
    late.cancel()
    let_go()
    np.testing.assert_array_equal(model.run({"ids": np.int32([0, 0, 0])})["y"], [[0, 1]] * 3)


@pytest.mark.parametrize("shape", [(1_000_003,), (3, 1500), (2, 1024, 2)])
def test_long_rows_lose_little_to_rounding(shape: tuple[int, ...]) -> None:
    data = np.random.default_rng(5).random(shape, np.float32)
    data.flat[777] = -3
    axis = min(1, len(shape) - 1)
    net = Network("long")
    x = net.add_input("x", TensorInfo(shape))
    wanted = {"Sum": np.sum, "Max": np.max}
    for name in wanted:
        net.add_output(name, net.add_reduce(x, axis=(axis,), reduce_operation=name))
    made = armnn.load_model(net, backends=ONLY).run({"x": data})
    for name, reduce in wanted.items():
        np.testing.assert_allclose(made[name], reduce(data.astype(np.float64), axis), rtol=4e-7)
    data.flat[1234] = np.nan
    made = armnn.load_model(net, backends=ONLY).run({"x": data})
    for values in made.values():
        assert np.isnan(values).sum() == 1


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_mirrored_edges_are_those_of_numpy(mode: Any) -> None:
    data = np.arange(24, dtype=np.int64).reshape(2, 3, 4)
    pads = ((0, 1), (2, 0), (3, 2))
    net = Network("mirrored")
    x = net.add_input("x", TensorInfo(data.shape, DataType.SIGNED64))
    net.add_output("y", net.add_pad(x, pad_list=pads, padding_mode=mode.capitalize()))
    made = armnn.load_model(net, backends=ONLY).run({"x": data})["y"]
    np.testing.assert_array_equal(made, np.pad(data, pads, mode))


def test_integers_wrap_around_and_divide_as_numbers_do() -> None:
    x = np.int32([2**31 - 1, -(2**31), -7, 7, 5])
    y = np.int32([1, -1, 2, -2, 0])
    net = Network("integers")
    a, b = (net.add_input(name, TensorInfo((5,), DataType.SIGNED32)) for name in "ab")
    for name in ("Add", "Div", "FloorDiv", "Mod", "ShiftRight"):
        net.add_output(name, net.add_elementwise_binary(a, b, operation=name))
    made = armnn.load_model(net, backends=ONLY).run({"a": x, "b": y})
    assert made["Add"].tolist() == [-(2**31), 2**31 - 1, -5, 5, 5]
    assert made["Div"].tolist() == [2**31 - 1, -(2**31), -3, -3, 0]
    assert made["FloorDiv"].tolist() == [2**31 - 1, -(2**31), -4, -4, 0]
    assert made["Mod"].tolist() == [0, 0, 1, -1, 0]
    assert made["ShiftRight"].tolist() == [2**30 - 1, -1, -2, 0, 5]


def test_halves_and_steps_are_rounded_to_the_nearest() -> None:
    data = np.float32([1 + 2**-11, 1 + 3 * 2**-11, 65519.9, 65520, np.nan, 2**-25, -0.5, 2.5])
    net = Network("converted")
    x = net.add_input("x", TensorInfo(data.shape))
    net.add_output("half", net.add_cast(x, output=TensorInfo(data.shape, DataType.FLOAT16)))
    steps = TensorInfo(data.shape, DataType.QASYMM_S8, 1.0, -3)
    net.add_output("steps", net.add_quantize(x, output=steps))
    net.add_output("whole", net.add_cast(x, output=TensorInfo(data.shape, DataType.UNSIGNED8)))
    made = armnn.load_model(net, backends=ONLY).run({"x": data})
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(made["half"], data.astype(np.float16))
    assert made["steps"].tolist() == [-2, -2, 127, 127, -3, -3, -4, 0]
    assert made["whole"].tolist() == [1, 1, 255, 255, 0, 0, 0, 2]


def test_a_tensor_may_begin_far_behind_the_begin_of_its_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = []

    class Kernel(cl.Kernel):
        def set_arg(self, place: int, value: Any) -> None:
            super().set_arg(place, value)
            starts.extend([int(value)] if isinstance(value, np.uint64) else [])

    monkeypatch.setattr(cl, "Kernel", Kernel)
    device, backend = open_device(), GpuAccBackend()
    queue, memory = Queue(device), DeviceMemory(device)
    info = TensorInfo((4,))
    net = Network("far")
    y = net.add_activation(net.add_input("x", info), function="ReLu")
    block = memory.create_block(64, queue)
    x, z = (memory.create_in(info, block, 4 * start) for start in (2**33, 2**32))
    model = backend.create_model_context({})
    backend.create_workload(y.producer, model).bind_in([x], [z], queue)
    assert starts == [2**33, 2**32]


def test_large_tensors_are_refused() -> None:
    net = Network("large")
    x = net.add_input("x", TensorInfo((2**31,)))
    net.add_output("y", net.add_activation(x, function="ReLu", name="large"))
    with pytest.raises(ArmnnError, match="2147483648 elements, expected at most 2147483647"):
        armnn.load_model(net, backends=ONLY)
