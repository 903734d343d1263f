# SPDX-License-Identifier: MIT
"""Networks on a device that the host does not reach, with a queue that returns before its work."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import armnn
from armnn import CreationOptions, LoadedNetwork, Network, Runtime, TensorInfo
from armnn.backends import (
    BackendContext,
    Event,
    ModelContext,
    OptionValue,
    ProfilingContext,
    ProfilingSink,
    TensorHandle,
    TensorHandleFactories,
)
from armnn.errors import (
    BackendError,
    CancelledError,
    ClosedError,
    DeadlineExceededError,
    MemoryImportError,
    ResourceExhaustedError,
)
from armnn.types import DataType
from armnn_conformance.cases import cases_of
from armnn_conformance.checks import devices
from armnn_conformance.checks.by_name import Checks, NotSupportedError
from armnn_conformance.checks.correctness import CaseResult, check_case
from armnn_conformance.checks.device_memory import check_device_memory
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from fakes.devices import (
    Counts,
    Device,
    PositionsOnHost,
    QueuedBackend,
    QueuedFactory,
    QueuedHandle,
    QueueOfContext,
    SecondFactory,
    SecondQueue,
    UnplacedBackend,
)

KINDS = (QueuedBackend, UnplacedBackend)
WIDE = 64
X = np.linspace(-1, 1, 2 * WIDE, dtype=np.float32).reshape(2, WIDE)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    for kind in KINDS:
        armnn.register_backend(kind.id, kind)
    yield
    for kind in KINDS:
        armnn.unregister_backend(kind.id)
        kind.device.seconds = 0


def layered(rows: int | None = 2) -> Network:
    """Return relu(x @ w + b) + x, three times, and a softmax that stays on the host."""
    network = Network("layered")
    value = network.add_input("x", TensorInfo((rows, WIDE)))
    for number in range(3):
        made = network.add_fully_connected(
            value, weights(number), np.full(WIDE, 0.25, np.float32), transpose_weight_matrix=True
        )
        made = network.add_activation(made, function="ReLu")
        value = network.add_addition(made, value)
    network.add_output("y", value)
    return network


def weights(number: int) -> np.ndarray:
    return np.random.default_rng(number).normal(0, 0.05, (WIDE, WIDE)).astype(np.float32)


def expected(x: np.ndarray) -> np.ndarray:
    for number in range(3):
        x = np.maximum(x.astype(np.float64) @ weights(number).T + 0.25, 0) + x
    return x


def counted(kind: type[QueuedBackend]) -> Counts:
    return replace(kind.device.counts)


def check(model: LoadedNetwork, x: np.ndarray = X) -> None:
    np.testing.assert_allclose(model.run({"x": x})["y"], expected(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_network_runs_on_the_device_alone(kind: type[QueuedBackend]) -> None:
    with Runtime() as runtime:
        model = runtime.load_model(layered(), [kind.id])
        assert dict(model.report.layers_by_backend) == {kind.id: 9}
        for x in (X, -X, X):
            check(model, x)


def test_one_block_holds_the_tensors_of_a_context_by_their_lifetimes() -> None:
    sizes = {}
    for kind in KINDS:
        with Runtime() as runtime:
            before = counted(kind)
            model = runtime.load_model(layered(), [kind.id])
            check(model)
            made = kind.device.counts.since(before)
            sizes[kind] = model.memory[f"{kind.id}.memory"]
            constants = sizes[kind]["constants"]
            assert constants == 3 * 4 * (WIDE * WIDE + WIDE)
            assert made.bytes == sizes[kind]["working"] + constants
            assert made.buffers == 6 + (1 if kind.alignment else 10)
    tensor = X.nbytes
    # Ten tensors, of which at most three live at once: the input of a block, and two of its layers.
    assert sizes[QueuedBackend]["working"] == 3 * tensor
    assert sizes[UnplacedBackend]["working"] == 10 * tensor


@pytest.mark.parametrize("kind", KINDS)
def test_a_steady_run_makes_no_buffer_and_copies_its_ends_only(kind: type[QueuedBackend]) -> None:
    with Runtime() as runtime:
        model = runtime.load_model(layered(), [kind.id])
        check(model)
        before = counted(kind)
        for _ in range(5):
            check(model)
        assert kind.device.counts.since(before) == Counts(uploads=5, downloads=5, kernels=45)


@pytest.fixture
def second_queue() -> Iterator[None]:
    armnn.register_backend(SecondQueue.id, SecondQueue)
    yield
    SecondQueue.device.seconds = 0
    armnn.unregister_backend(SecondQueue.id)


@pytest.mark.usefixtures("second_queue")
@pytest.mark.parametrize("slow", [QueuedBackend, SecondQueue])
@pytest.mark.parametrize(
    "without",
    [(), ((QueueOfContext, "wait_for"),), ((QueuedHandle, "written"),)],
    ids=["by events", "by the host", "as before Backend API 1.3"],
)
def test_backends_with_queues_of_their_own_wait_for_each_other(
    slow: type[QueuedBackend],
    without: tuple[tuple[type, str], ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for owner, method in without:
        monkeypatch.delattr(owner, method)
    with Runtime() as runtime:
        model = runtime.load_model(layered(), ["SecondQueue", "Queued"])
        assert dict(model.report.layers_by_backend) == {"Queued": 6, "SecondQueue": 3}
        slow.device.seconds = 0.005
        for x in (X, -X, 2 * X):
            before = [counted(kind) for kind in (QueuedBackend, SecondQueue)]
            check(model, x)
            waits = sum(
                kind.device.counts.since(earlier).waits
                for kind, earlier in zip((QueuedBackend, SecondQueue), before, strict=True)
            )
            assert (waits == 1) == (not without)  # the output; and where the queues meet


@pytest.mark.parametrize("slow", [QueuedBackend, SecondFactory])
def test_two_factories_of_one_device_share_its_memory(slow: type[QueuedBackend]) -> None:
    both = (QueuedBackend, SecondFactory)
    armnn.register_backend(SecondFactory.id, SecondFactory)
    try:
        with Runtime() as runtime:
            model = runtime.load_model(layered(), [SecondFactory.id, "Queued"])
            assert dict(model.report.layers_by_backend) == {"Queued": 6, SecondFactory.id: 3}
            check(model)
            slow.device.seconds = 0.005
            for x in (X, -X, 2 * X):
                before = [counted(kind) for kind in both]
                check(model, x)
                pairs = zip(both, before, strict=True)
                made = [kind.device.counts.since(earlier) for kind, earlier in pairs]
                assert sum(each.uploads for each in made) == 1
                assert sum(each.downloads for each in made) == 1
                assert sum(each.buffers for each in made) == 0
    finally:
        SecondFactory.device.seconds = 0
        armnn.unregister_backend(SecondFactory.id)


@pytest.mark.usefixtures("second_queue")
def test_a_deadline_ends_a_run_on_two_queues() -> None:
    with Runtime() as runtime:
        model = runtime.load_model(layered(), ["SecondQueue", "Queued"])
        check(model)
        SecondQueue.device.seconds = 0.2
        begin = time.monotonic()
        with pytest.raises(DeadlineExceededError):
            model.run({"x": X}, timeout=0.05)
        assert time.monotonic() - begin < 0.2
        SecondQueue.device.seconds = 0
        check(model, -X)


def test_constants_go_up_once_per_network() -> None:
    with Runtime() as runtime:
        model = runtime.load_model(layered(rows=None), ["Queued"])
        before = counted(QueuedBackend)
        for rows in (1, 2, 3, 1):
            check(model, np.repeat(X[:1], rows, axis=0))
        made = QueuedBackend.device.counts.since(before)
        assert made.uploads == 6 + 4  # three weights and three biases, and an input per run


def test_copies_to_a_backend_of_the_host_write_nothing_back() -> None:
    network = layered()
    (y,) = network.outputs
    value = y.inputs[0]
    assert value is not None
    network.remove(y)
    network.add_output("y", network.add_softmax(value))
    with Runtime() as runtime:
        model = runtime.load_model(network, ["Queued", "CpuRef"])
        model.run({"x": X})
        before = counted(QueuedBackend)
        found = model.run({"x": X})["y"]
        powers = np.exp(expected(X) - expected(X).max(axis=1, keepdims=True))
        np.testing.assert_allclose(found, powers / powers.sum(axis=1, keepdims=True), rtol=1e-4)
        assert QueuedBackend.device.counts.since(before) == Counts(
            uploads=1, downloads=1, kernels=9
        )


@pytest.mark.parametrize("kind", KINDS)
def test_a_deadline_and_a_token_reach_the_wait_for_the_queue(kind: type[QueuedBackend]) -> None:
    with Runtime() as runtime:
        model = runtime.load_model(layered(), [kind.id])
        check(model)
        kind.device.seconds = 0.05  # nine kernels take 0.45 s
        begin = time.monotonic()
        with pytest.raises(DeadlineExceededError):
            model.run({"x": X}, timeout=0.05)
        assert time.monotonic() - begin < 0.35
        token = threading.Event()
        threading.Timer(0.05, token.set).start()
        begin = time.monotonic()
        with pytest.raises(CancelledError):
            model.run({"x": X}, cancel=token)
        assert time.monotonic() - begin < 0.35
        kind.device.seconds = 0
        check(model, -X)


def test_threads_have_blocks_of_their_own() -> None:
    with Runtime() as runtime:
        model = runtime.load_model(layered(), ["Queued"])
        wrong: list[BaseException] = []

        def work(factor: float) -> None:
            try:
                for _ in range(5):
                    check(model, X * np.float32(factor))
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(n / 4,)) for n in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert wrong == []


@pytest.fixture
def device_memory() -> Iterator[Callable[[int], None]]:
    """Return a function that limits the memory of a device to so many bytes beyond those in use."""
    device = QueuedBackend.device

    def limit(further: int) -> None:
        gc.collect()
        device.limit = device.used + further

    yield limit
    device.limit = 0


CONTEXT_BYTES = 3 * X.nbytes


def test_threads_wait_for_memory_that_others_use(device_memory: Callable[[int], None]) -> None:
    with Runtime() as runtime:
        model = runtime.load_model(layered(), ["Queued"])
        model.prepare({"x": X})
        device_memory(2 * CONTEXT_BYTES)
        QueuedBackend.device.seconds = 0.002
        with ThreadPoolExecutor(6) as threads:
            list(threads.map(lambda factor: check(model, X * np.float32(factor)), range(18)))
        QueuedBackend.device.seconds = 0.05
        with ThreadPoolExecutor(3) as threads:
            running = [threads.submit(check, model) for _ in range(2)]
            time.sleep(0.1)
            with pytest.raises(DeadlineExceededError):
                model.run({"x": X}, timeout=0.05)
            for each in running:
                each.result()


def test_runs_wait_for_their_turn_where_a_backend_limits_contexts() -> None:
    class Limited(QueuedBackend):
        id = "Limited"

        def create_model_context(self, options: Mapping[str, OptionValue]) -> ModelContext:
            made = super().create_model_context(options)
            made.context_limit = options.get("Contexts")  # type: ignore[assignment]  # tests give 0, too
            return made

    def load(limit: int) -> LoadedNetwork:
        options = {"Limited": {"Contexts": limit}}
        return runtime.load_model(layered(), ["Limited"], backend_options=options)

    with armnn.register_backend("Limited", Limited), Runtime() as runtime:
        model, before = load(2), QueuedBackend.device.counts.buffers
        QueuedBackend.device.seconds = 0.002
        with ThreadPoolExecutor(6) as threads:
            list(threads.map(lambda factor: check(model, X * np.float32(factor)), range(12)))
        blocks = QueuedBackend.device.counts.buffers - before
        assert 1 <= blocks <= 2
        QueuedBackend.device.seconds = 0.05
        with ThreadPoolExecutor(2) as threads:
            running = [threads.submit(check, model) for _ in range(2)]
            time.sleep(0.1)
            with pytest.raises(DeadlineExceededError):
                model.run({"x": X}, timeout=0.05)
            for each in running:
                each.result()
        check(model)
        with pytest.raises(
            BackendError, match="context_limit of the model context of backend 'Limited' is 0"
        ):
            load(0)


def test_without_a_run_to_wait_for_memory_is_said_to_lack(
    device_memory: Callable[[int], None],
) -> None:
    with Runtime() as runtime:
        model = runtime.load_model(layered(), ["Queued"])
        model.prepare({"x": X})
        device_memory(CONTEXT_BYTES - 1)
        with pytest.raises(ResourceExhaustedError, match=r"the device has \d+ bytes left"):
            model.run({"x": X})
        device_memory(CONTEXT_BYTES)
        check(model)


def test_memory_kept_for_later_is_given_back(device_memory: Callable[[int], None]) -> None:
    trimmed = []

    class Pooling(BackendContext):
        def trim(self) -> None:
            trimmed.append(self)

    class Trimmed(QueuedBackend):
        id = "Trimmed"

        def create_context(self, options: CreationOptions) -> BackendContext:
            return Pooling()

    with armnn.register_backend("Trimmed", Trimmed), Runtime() as runtime:
        first, second = [runtime.load_model(layered(), [each]) for each in ("Trimmed", "Queued")]
        check(first)
        second.prepare({"x": X})
        device_memory(0)
        check(second)  # in the memory that the first network kept
        assert len(trimmed) == 1
        used = QueuedBackend.device.used
        runtime.trim()
        assert QueuedBackend.device.used == used - CONTEXT_BYTES
        assert len(trimmed) == 2
        check(first)


def test_closing_a_runtime_frees_the_memory_of_a_device_at_once() -> None:
    gc.collect()
    used = QueuedBackend.device.used
    gc.disable()
    try:
        runtime = Runtime()
        model = runtime.load_model(layered(rows=None), ["Queued"])
        for rows in (1, 2):
            check(model, X[:rows])
        call = model.bind({"x": X})
        call()
        kept = runtime.load_model(layered(), ["Queued"], states={"y": "x"})
        stream = kept.stream()
        stream.set_states({"x": X})
        for each in (kept, stream):
            each.run({})
        assert QueuedBackend.device.used > used
        runtime.close()
        assert QueuedBackend.device.used == used
        assert call.inputs.keys() == {"x"}  # these are still referred to
        with pytest.raises(ClosedError, match=r"'Queued', which was given back .* call states\(\)"):
            stream.states()
    finally:
        gc.enable()


@pytest.mark.parametrize("isolate", [(), ("PositionsOnHost",)])
def test_a_layer_may_have_inputs_and_outputs_on_the_host(isolate: tuple[str, ...]) -> None:
    network = Network("positions")
    x = network.add_input("x", TensorInfo((4, WIDE)))
    rows = network.add_input("rows", TensorInfo((3,), DataType.SIGNED32))
    chosen = network.add_gather(network.add_addition(x, x), rows)
    largest = network.add_arg_min_max(chosen, function="Max", axis=1)
    network.add_output("largest", largest)  # of each row, in host memory
    network.add_output("y", network.add_gather(chosen, largest))
    constant = network.add_constant(np.int32([1, 0]))
    network.add_output("z", network.add_gather(chosen, constant))
    data = np.zeros((4, WIDE), np.float32)
    data[np.arange(4), [0, 2, 1, 0]] = 1, 2, 3, 4
    with (
        armnn.register_backend("PositionsOnHost", PositionsOnHost),
        Runtime(CreationOptions(isolate=isolate)) as runtime,
    ):
        model = runtime.load_model(network, ["PositionsOnHost"])
        assert dict(model.report.layers_by_backend) == {"PositionsOnHost": 5}
        for given in ([3, 1, 2], [0, 0, 1]):
            before = counted(PositionsOnHost)
            made = model.run({"x": data, "rows": np.int32(given)})
            expected = 2 * data[given]
            np.testing.assert_array_equal(made["largest"], expected.argmax(1))
            np.testing.assert_array_equal(made["y"], expected[expected.argmax(1)])
            np.testing.assert_array_equal(made["z"], expected[[1, 0]])
            if not isolate:
                counts = PositionsOnHost.device.counts.since(before)
                assert (counts.uploads, counts.downloads) == (1, 2)  # x; y and z


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_hands_tensors_of_the_device_to_an_isolated_backend(
    kind: type[QueuedBackend],
) -> None:
    with Runtime(CreationOptions(isolate=[kind.id])) as runtime:
        model = runtime.load_model(layered(), [kind.id])
        for x in (X, -X):
            check(model, x)
        assert model.faults == ()
        call = model.bind({"x": (2, WIDE)})
        call.inputs["x"][...] = X
        np.testing.assert_allclose(call()["y"], expected(X), rtol=1e-4, atol=1e-5)


def test_runs_read_and_write_tensors_of_the_device() -> None:
    device = QueuedBackend.device
    with Runtime() as runtime:
        model = runtime.load_model(layered(), ["Queued"])
        check(model)
        x, y = device.tensor(X), device.tensor(0 * X)
        before = counted(QueuedBackend)
        np.testing.assert_allclose(model.run({"x": x})["y"], expected(X), rtol=1e-4, atol=1e-5)
        made = device.counts.since(before)
        assert (made.uploads, made.downloads, made.kernels) == (0, 1, 9)
        before = counted(QueuedBackend)
        assert model.submit({"x": x}, {"y": y}).result()["y"] is y
        made = device.counts.since(before)
        assert (made.uploads, made.downloads, made.kernels) == (0, 0, 9)
        np.testing.assert_allclose(device.read(y), expected(X), rtol=1e-4, atol=1e-5)
        device.seconds = 0.05  # nine kernels take 0.45 s
        begin = time.monotonic()
        with pytest.raises(DeadlineExceededError):
            model.run({"x": x}, {"y": y}, timeout=0.05)
        assert time.monotonic() - begin < 0.35
        device.seconds = 0
        model.run({"x": device.tensor(-X)}, {"y": y})
        np.testing.assert_allclose(device.read(y), expected(-X), rtol=1e-4, atol=1e-5)


def test_an_isolated_backend_does_not_reach_tensors_of_the_device() -> None:
    x, y = (QueuedBackend.device.tensor(value * X) for value in (1, 0))
    with Runtime(CreationOptions(isolate=["Queued"])) as runtime:
        model = runtime.load_model(layered(), ["Queued"])
        for call in (model.run, model.bind, lambda *given: model.submit(*given).result()):
            with pytest.raises(MemoryImportError, match=r"'x' is on opencl:9, .* from Queued: "):
                call({"x": x}, {"y": y})
        check(model)


@pytest.mark.parametrize("kind", KINDS)
def test_the_kit_passes_it_and_sees_a_kernel_that_fails(kind: type[QueuedBackend]) -> None:
    with Subject(kind.id) as subject:
        cases = [case for case in cases_of("Addition") if case.data_type is DataType.FLOAT32]
        assert {check_case(subject, case).result for case in cases} == {CaseResult.PASSED}
        checks = Checks(subject)
        checks.handles(["Addition"])
        for name in ("events", "foreign event", "trim"):
            checks.device(name, ["Addition"])


def faulty_wait(self: QueueOfContext, event: Event) -> None:
    """Wait for no event of another device."""


class Impatient(Event):
    """One whose wait ends before the work."""

    is_done = False

    def wait(self) -> None:
        pass


def of_no_layer(self: QueuedBackend, sink: ProfilingSink) -> ProfilingContext:
    class Reporting(ProfilingContext):
        def end_run(self, network_id: int) -> None:
            now = time.perf_counter_ns()
            sink.event("nobody", now, now, category="device", backend="Queued")

    return Reporting()


@pytest.mark.parametrize(
    ("check", "owner", "method", "fault", "message"),
    [
        ("events", QueuedHandle, "written", lambda _: 7, r"written\(\) returned 7: expected an Ev"),
        (
            "events",
            QueuedHandle,
            "written",
            lambda _: Impatient(),
            r"wait\(\) of an event returned, but its is_done is False",
        ),
        (
            "foreign event",
            QueueOfContext,
            "wait_for",
            faulty_wait,
            "did not wait until it was done",
        ),
        (
            "device times",
            QueuedBackend,
            "create_profiling_context",
            of_no_layer,
            "2 of 2 events of the device have no layer of their name",
        ),
        ("fork", None, "", None, "was forked from a process with the backend hangs: if it cannot"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the fake device is a thread
def test_the_kit_sees_faults_of_queues(
    check: str,
    owner: type | None,
    method: str,
    fault: object,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "_FORK_SECONDS", 1)
    with Subject("Queued") as subject:
        checks = Checks(subject)
        if check == "device times":
            with pytest.raises(NotSupportedError, match="it reports no times of a device"):
                checks.device(check, ["Addition"])
        elif owner is not None:
            checks.device(check, ["Addition"])
        if owner is not None:
            monkeypatch.setattr(owner, method, fault)
        with pytest.raises(NonconformityError, match=message):
            checks.device(check, ["Addition"])


class CopyingHandle(QueuedHandle):
    """A tensor that is copied by its device's queue."""

    def copy_on_device(self, source: TensorHandle) -> bool:
        if not isinstance(source, CopyingHandle):
            return False
        self._device.enqueue(partial(np.copyto, self.inside, source.inside))
        return True


class CopyingFactory(QueuedFactory):
    def create_in(self, info: TensorInfo, block: object, offset: int) -> TensorHandle:
        made = super().create_in(info, block, offset)
        made.__class__ = CopyingHandle
        return made


class Copying(QueuedBackend):
    """Queued, with copies on the device."""

    id = "Copying"
    device = Device()

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        registry.register(CopyingFactory("Copying.memory", self.device, self.alignment))


class Deaf(Event):
    """The event of a device whose wait asks nobody whether to stop."""

    def __init__(self, inner: Event) -> None:
        self._inner = inner

    @property
    def is_done(self) -> bool:
        return self._inner.is_done

    def wait(self) -> None:
        while not self.is_done:
            time.sleep(0.001)


def test_the_kit_sees_a_wait_that_outlasts_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Copying.device, "limit", 1 << 24)
    with armnn.register_backend("Copying", Copying), Subject("Copying") as subject:
        check_device_memory(subject, "dropped while in use")
        monkeypatch.setattr(Copying.device, "seconds", 0.1)
        check_device_memory(subject, "deadlines")
        usual = Copying.device.event
        monkeypatch.setattr(Copying.device, "event", lambda: Deaf(usual()))
        with pytest.raises(NonconformityError, match=r"written\(\)\.wait\(\) ended .* without an"):
            check_device_memory(subject, "deadlines")
