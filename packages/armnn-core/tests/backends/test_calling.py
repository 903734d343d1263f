# SPDX-License-Identifier: MIT
"""Slips of a backend's author, in each method of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import armnn
from armnn import Network, Runtime, TensorInfo
from armnn.backends import (
    SUPPORTED,
    Allocator,
    Backend,
    BackendContext,
    BackendVersion,
    CreationOptions,
    HostAllocator,
    MemoryManager,
    ModelContext,
    OptimizationViews,
    Step,
    SubgraphView,
    Substitution,
    Support,
    TensorHandle,
    TensorHandleFactories,
    TensorHandleFactory,
    Workload,
    contract,
    extensions,
    memory,
)
from armnn.backends.calling import RETURNS, blame, call, check_answer, explained, is_blamed
from armnn.backends.contract import CachingBackend, NetworkBackend, ProfilingContext, ProfilingSink
from armnn.backends.worker.worker import Served
from armnn.errors import (
    BackendError,
    BackendUnavailableError,
    ClosingError,
    ExecutionError,
    OptimizationError,
)
from armnn.profiling import Recorder
from armnn_backend_api.processes import text_of

if TYPE_CHECKING:
    from armnn.graph import Layer

X = np.array([1, 2, 3, 4], np.float32)
LAYER = r" of layer 'double' (Addition)"


class Work(Workload):
    def __init__(self, layer: Layer) -> None:
        self.layer = layer

    @property
    def scratch_bytes(self) -> int:
        return 64

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        def step() -> None:
            first, second = (each.map() for each in inputs if each is not None)
            outputs[0].map()[...] = first + second
            outputs[0].unmap()

        return step


class Device(TensorHandle):
    def __init__(self, info: TensorInfo) -> None:
        self.info = info
        self.array = np.zeros(info.static_shape, info.data_type.numpy_dtype)

    def map(self) -> Any:
        return self.array


class Factory(TensorHandleFactory):
    id = "Slip.memory"
    import_sources = frozenset((armnn.types.MemorySource.MALLOC,))

    def create(self, info: TensorInfo, memory: MemoryManager | None) -> TensorHandle:
        return Device(info)

    def import_memory(self, info: TensorInfo, handle: TensorHandle) -> TensorHandle | None:
        return None


class Manager(MemoryManager):
    def acquire(self) -> None:
        pass

    def release(self) -> None:
        pass


class Context(BackendContext):
    """Overrides nothing until a test does."""


class Profile(ProfilingContext):
    """The same."""


class OnHost(Backend):
    id = "Slip"
    api_version = BackendVersion(1, 2)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        return SUPPORTED

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        return Work(layer)

    def create_context(self, options: CreationOptions) -> BackendContext | None:
        return Context()

    def create_profiling_context(self, sink: ProfilingSink) -> ProfilingContext | None:
        return Profile()


class OnDevice(OnHost):
    @property
    def handle_factory_preferences(self) -> Sequence[str]:
        return (Factory.id,)

    def register_tensor_handle_factories(self, registry: TensorHandleFactories) -> None:
        registry.register(Factory())

    def create_memory_manager(self) -> MemoryManager | None:
        return Manager()


class AtOnce(NetworkBackend, OnHost):
    def query(self, view: SubgraphView, model: ModelContext) -> Sequence[Support]:
        return [SUPPORTED for _ in view.layers]


def network() -> Network:
    network = Network("sum")
    x = network.add_input("x", TensorInfo((4,)))
    two = network.add_constant(np.full(4, 2, np.float32), name="two")
    network.add_output("y", network.add_addition(x, two, name="double"))
    return network


@contextmanager
def loaded(kind: type[Backend], **options: Any) -> Iterator[Any]:
    backends = options.pop("backends", ["Slip"])
    registered = armnn.register_backend("Slip", kind)
    with registered, Runtime(CreationOptions(allowed_backends=["Slip"], **options)) as runtime:
        yield runtime.load_model(network(), backends)


def run(kind: type[Backend], **options: Any) -> None:
    with loaded(kind, **options) as model:
        assert model.run({"x": X})["y"].tolist() == [3, 4, 5, 6]


def profiled(kind: type[Backend]) -> None:
    with loaded(kind) as model:
        model.run({"x": X}, profiler=Recorder())


def bound(kind: type[Backend]) -> None:
    with loaded(kind) as model, model.bind({"x": X}) as call:
        call()


def unnamed(kind: type[Backend]) -> None:
    run(kind, backends=None)


def with_allocator(kind: type[Backend]) -> None:
    run(kind, custom_allocators={"Slip": HostAllocator()})


def protected(kind: type[Backend]) -> None:
    run(kind, protected_mode=True)


Journey = Callable[[type[Backend]], None]
WHERE: dict[str, tuple[type[Any], type[Backend], Journey, str]] = {
    "accepts_allocator": (OnHost, OnHost, with_allocator, ""),
    "bind_with_scratch": (Work, OnHost, run, LAYER),
    "capabilities": (OnHost, OnHost, protected, ""),
    "create": (Factory, OnDevice, run, " of tensor '"),
    "create_context": (OnHost, OnHost, run, ""),
    "create_memory_manager": (OnDevice, OnDevice, run, ""),
    "create_model_context": (OnHost, OnHost, run, ""),
    "create_profiling_context": (OnHost, OnHost, profiled, ""),
    "create_workload": (OnHost, OnHost, run, LAYER),
    "default_allocator": (OnHost, OnHost, run, ""),
    "extension": (OnHost, OnHost, bound, ""),
    "handle_factory_preferences": (OnDevice, OnDevice, run, ""),
    "import_memory": (Factory, OnDevice, bound, " of tensor 'x'"),
    "optimize_subgraph": (OnHost, OnHost, run, LAYER),
    "query": (AtOnce, AtOnce, run, " of network 'sum'"),
    "score": (OnHost, OnHost, unnamed, ""),
    "scratch_bytes": (Work, OnHost, run, LAYER),
    "supports": (OnHost, OnHost, run, LAYER),
}
"""Where each method is, on which way it is called, and what its errors are about."""

DIRECTLY = {
    *(
        "bind",
        "bind_in",
        "cached_program",
        "create_block",
        "create_in",
        "deserialize",
        "has_capability",
        "import_fd",
    ),
    *("host_inputs", "host_outputs", "import_in", "program_workload", "serialize"),
    *("submit", "written"),
}
"""The methods whose answers are judged without a way to them."""

IGNORED = {
    *("acquire", "assign", "close", "copy_from", "copy_to", "free", "map", "map_for", "release"),
    *("begin_run", "end_run", "register_tensor_handle_factories", "cache_file_count", "shared"),
    *("allocate", "array", "as_buffer", "copy_on_device", "export_fd", "trim", "wait", "wait_for"),
    *(f"{when}_{what}_network" for when in ("before", "after") for what in ("load", "unload")),
    *("after_enqueue_workload", "unmap"),
}
"""The methods that return nothing, and those whose callers judge what they return."""

MAY_BE_NONE = {
    *("create_context", "create_memory_manager", "create_profiling_context", "extension"),
    *("import_in", "import_memory", "serialize", "written"),
}
WRONG = {"None": None, "True": True, "'text'": "text", "[1]": [1], "a coroutine": None}


def put(monkeypatch: pytest.MonkeyPatch, part: type[Any], method: str, answer: Any) -> None:
    """Let a method answer as a function does."""

    def replaced(self: Any, *_: Any) -> Any:
        return answer()

    is_property = isinstance(getattr(part, method), property)
    monkeypatch.setattr(part, method, property(replaced) if is_property else replaced)


def words(error: BaseException) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def test_every_method_of_the_contract_is_judged_or_returns_nothing() -> None:
    kinds = (
        *(Backend, NetworkBackend, CachingBackend, contract.Workload, contract.BackendContext),
        *(
            contract.ModelContext,
            memory.TensorHandle,
            TensorHandleFactory,
            MemoryManager,
            Allocator,
        ),
        *(ProfilingContext, extensions.Task, extensions.AsyncExecution, extensions.SharedBuffer),
        extensions.SharedMemory,
    )
    methods = {
        name
        for kind in kinds
        for name, member in vars(kind).items()
        if not name.startswith("_") and (callable(member) or isinstance(member, property))
    }
    assert set(RETURNS) == methods - IGNORED
    assert set(RETURNS) == set(WHERE) | DIRECTLY


def test_a_backend_without_slips_runs() -> None:
    for kind in (OnHost, OnDevice, AtOnce):
        for journey in (run, profiled, bound, with_allocator) if kind is OnHost else (run, bound):
            journey(kind)


@pytest.mark.parametrize("method", RETURNS)
@pytest.mark.parametrize("got", WRONG)
def test_a_wrong_answer_is_named_with_what_was_expected(method: str, got: str) -> None:
    async def forgotten() -> None: ...

    answer = WRONG[got]
    if got == "a coroutine":
        answer = forgotten()
        answer.close()
    view = SubgraphView.of(network(), network().layers[:0])
    arguments = ("armnn.async/1",) if method == "extension" else (view,)
    is_right = (got == "None" and method in MAY_BE_NONE) or (
        (method, got) == ("has_capability", "True")
        or (method in ("host_inputs", "host_outputs") and got == "[1]")
        or (method in ("create_block", "deserialize") and answer is not None)
    )
    if is_right:
        check_answer("Slip", method, answer, arguments)
        return
    with pytest.raises((BackendError, OptimizationError)) as caught:
        check_answer("Slip", method, answer, arguments, "layer 'a'")
    told = str(caught.value)
    assert told.startswith("backend 'Slip' returned ")
    assert f" from {method} of layer 'a': expected {RETURNS[method].expected}" in told
    assert got in told or (method == "query" and "1 answers about 0 layers" in told)


@pytest.mark.parametrize("method", WHERE)
def test_a_forgotten_answer_is_named_where_it_was_called(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    part, kind, journey, about = WHERE[method]
    got = "True" if method in MAY_BE_NONE else "None"
    put(monkeypatch, part, method, lambda: WRONG[got])
    with pytest.raises((BackendError, OptimizationError)) as caught:
        journey(kind)
    assert f"backend 'Slip' returned {got}" in str(caught.value)
    assert f" from {method}{about}" in str(caught.value)
    assert f"expected {RETURNS[method].expected}" in str(caught.value)


LEFT_OUT = ("create_context", "score")
"""The methods by which a backend leaves itself out: the error is the cause of the host's."""


class Fault(Exception):  # noqa: N818  # as the next
    """An error of a backend's author, which armnn does not know."""


class Speechless(Exception):  # noqa: N818  # an author may call it so
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize("planted", [Fault("planted"), Speechless()], ids=["Fault", "Speechless"])
@pytest.mark.parametrize("method", WHERE)
def test_an_error_of_a_backend_keeps_its_type(
    monkeypatch: pytest.MonkeyPatch, method: str, planted: Exception
) -> None:
    part, kind, journey, about = WHERE[method]
    planted.__notes__ = []

    def fail() -> None:
        raise planted

    put(monkeypatch, part, method, fail)
    with pytest.raises((Fault, Speechless, BackendUnavailableError)) as caught:
        journey(kind)
    told = "planted" if isinstance(planted, Fault) else "a Speechless whose __str__ raises Runtime"
    if method in LEFT_OUT:
        assert type(caught.value) is BackendUnavailableError
        assert "'Slip'" in str(caught.value)
        assert told in str(caught.value)
        return
    assert caught.value is planted
    (note,) = planted.__notes__
    assert note.startswith(f"raised by {method}{about}")
    assert note.endswith("of backend 'Slip'")
    assert explained(planted) == f"{type(planted).__name__}: {text_of(planted)} ({note})"
    assert told in text_of(planted)


def test_an_error_that_is_raised_again_has_its_note_once() -> None:
    planted = Fault("planted")

    class Raising:
        def supports(self) -> None:
            raise planted

    for _ in range(2):
        with pytest.raises(Fault):
            call("Slip", Raising(), "supports", about="layer 'a'")
    assert planted.__notes__ == ["raised by supports of layer 'a' of backend 'Slip'"]
    assert is_blamed(planted)
    assert not is_blamed(Fault("of nobody"))


def test_an_error_of_armnn_keeps_its_words() -> None:
    planted = BackendError("no driver")
    assert explained(planted) == "no driver"
    blame(planted, "Slip", "close")
    assert explained(planted) == "no driver (raised by close of backend 'Slip')"


def test_a_step_whose_text_of_an_error_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise Speechless

    monkeypatch.setattr(Work, "bind", lambda *_: fail)
    with pytest.raises(ExecutionError, match=r"layer 'double' .* failed on Slip: a Speechless who"):
        run(OnHost)


def test_a_step_that_runs_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def generator() -> Iterator[None]:
        yield

    async def coroutine() -> None: ...

    async def both() -> Any:
        yield

    class Stepping:
        def method(self) -> Iterator[None]:
            yield

    for step in (generator, coroutine, both, Stepping().method):
        monkeypatch.setattr(Work, "bind", lambda *_, step=step: step)
        with pytest.raises(BackendError, match=r"returned a generator or .* nothing from bind"):
            run(OnHost)


@pytest.mark.parametrize(
    ("method", "about", "is_given_an_array"),
    [
        ("copy_from", "copy_from of tensor 'x'", False),
        ("copy_to", "copy_to of tensor 'y'", True),
        ("unmap", "map of tensor 'y'", False),
    ],
)
def test_an_error_of_a_tensor_names_the_tensor_and_its_backend(
    monkeypatch: pytest.MonkeyPatch, method: str, about: str, is_given_an_array: bool
) -> None:
    planted = ValueError("planted")

    class Read(Work):
        def bind(self, *_: Any) -> Step:
            return lambda: None

        bind_with_scratch = bind

    def fail(*_: Any) -> None:
        raise planted

    monkeypatch.setattr(OnDevice, "create_workload", lambda _, layer, __: Read(layer))
    with loaded(OnDevice) as model:
        monkeypatch.setattr(Device, "copy_from", lambda *_: None)
        monkeypatch.setattr(Device, method, fail)
        with pytest.raises(ValueError, match="planted") as caught:
            model.run({"x": X}, {"y": np.empty(4, np.float32)} if is_given_an_array else None)
    assert caught.value is planted
    assert words(planted) == f"planted\nraised by {about} of backend 'Slip'"


def test_an_error_of_a_bound_calls_copy_names_the_tensor_and_its_backend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("planted")

    with loaded(OnDevice) as model, model.bind({"x": X}) as call:
        call()
        monkeypatch.setattr(Device, "map", fail)
        with pytest.raises(ExecutionError) as caught:
            call()
    assert str(caught.value) == (
        "the copy of the input 'x' into a tensor of backend 'Slip' failed: planted"
    )
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("mapped", [None, True, [1.0, 2.0, 3.0, 4.0], "text"])
@pytest.mark.parametrize("targets", [None, {"y": np.empty(4, np.float32)}])
def test_what_is_mapped_in_the_place_of_an_array_is_named(
    monkeypatch: pytest.MonkeyPatch, mapped: Any, targets: Any
) -> None:
    class Read(Work):
        def bind(self, *_: Any) -> Step:
            return lambda: monkeypatch.setattr(Device, "map", lambda _: mapped)

        bind_with_scratch = bind

    monkeypatch.setattr(OnDevice, "create_workload", lambda _, layer, __: Read(layer))
    with loaded(OnDevice) as model, pytest.raises(BackendError) as caught:
        model.run({"x": X}, targets)
    assert f"map() returned {mapped!r}: expected an array Float32[4]" in str(caught.value)
    assert "of tensor 'y' of backend 'Slip'" in words(caught.value)


@pytest.mark.parametrize("method", ["acquire", "release"])
def test_an_error_of_a_memory_manager_names_the_backend(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    planted = ValueError("planted")

    def fail(_: Manager) -> None:
        raise planted

    monkeypatch.setattr(Manager, method, fail)
    with loaded(OnDevice) as model, pytest.raises(ValueError, match="planted") as caught:
        model.run({"x": X})
    assert words(caught.value) == f"planted\nraised by {method} of backend 'Slip'"


def test_a_copy_between_backends_that_fails_names_both_and_the_tensor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Other(OnHost):
        id = "Other"

    def refuse(self: OnDevice, layer: Layer, _: ModelContext) -> Support:
        return SUPPORTED if layer.name == "double" else Support.no("not mine")

    def fail(self: Device) -> Any:
        raise ValueError("planted")

    monkeypatch.setattr(OnDevice, "supports", refuse)
    monkeypatch.setattr(Work, "bind", lambda *_: lambda: None)
    net = network()
    double = net.find("double").output
    net.add_output("z", net.add_addition(double, double, name="b"))
    with armnn.register_backend("Slip", OnDevice), armnn.register_backend("Other", Other):
        options = CreationOptions(allowed_backends=["Slip", "Other"])
        with Runtime(options) as runtime:
            model = runtime.load_model(net, ["Slip", "Other"])
            monkeypatch.setattr(Device, "map", fail)
            monkeypatch.setattr(Device, "copy_from", lambda *_: None)
            with pytest.raises(ExecutionError) as caught:
                model.run({"x": X})
    assert str(caught.value) == (
        "the copy of tensor 'double' of backend 'Slip' into a tensor of backend 'Other' failed: "
        "planted"
    )


def test_a_factory_that_is_none_is_refused_when_it_is_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        OnDevice, "register_tensor_handle_factories", lambda _, registry: registry.register(Factory)
    )
    with pytest.raises(BackendError, match="is the class Factory: expected a Tensor") as caught:
        run(OnDevice)
    assert "raised by register_tensor_handle_factories of backend 'Slip'" in words(caught.value)


@pytest.mark.parametrize("devices", [5, None, [(2, 0)], {2}, {("cuda", 0)}])
def test_devices_of_a_factory_that_are_none_are_refused(
    monkeypatch: pytest.MonkeyPatch, devices: Any
) -> None:
    monkeypatch.setattr(Factory, "import_devices", devices)
    with pytest.raises(
        BackendError, match=r"'Slip\.memory' has .* as import_devices: exp"
    ) as caught:
        run(OnDevice)
    assert "raised by register_tensor_handle_factories of backend 'Slip'" in words(caught.value)


def test_a_block_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Factory, "block_alignment", 64)
    monkeypatch.setattr(Factory, "create_block", lambda *_: None)
    with pytest.raises(BackendError, match="'Slip' returned None from create_block: expected a"):
        run(OnDevice)


def test_a_preferred_factory_that_is_not_registered_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OnDevice, "register_tensor_handle_factories", lambda *_: None)
    with pytest.raises(BackendError, match=r"'Slip' returned 'Slip.memory' in handle_factory_pref"):
        run(OnDevice)


def test_a_context_that_cannot_be_closed_names_its_backend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_: Context) -> None:
        raise ValueError("planted")

    monkeypatch.setattr(Context, "close", fail)
    with pytest.raises(ClosingError, match=r"ValueError: planted \(raised by close of .* 'Slip'"):
        run(OnHost)


@pytest.mark.parametrize(
    ("views", "got"),
    [
        (lambda _: OptimizationViews(untouched=None), "None as untouched"),  # type: ignore[arg-type]  # a slip
        (lambda view: OptimizationViews(failed=view.layers), "a Layer in failed"),
        (
            lambda view: OptimizationViews(substitutions=[Substitution(view, None)]),  # type: ignore[arg-type]  # a slip
            "None as replacement",
        ),
        (lambda view: OptimizationViews(untouched=[view], reasons=["no"]), "['no'] as reasons"),  # type: ignore[arg-type]  # a slip
    ],
)
def test_views_of_other_things_are_named(
    monkeypatch: pytest.MonkeyPatch, views: Callable[[SubgraphView], OptimizationViews], got: str
) -> None:
    monkeypatch.setattr(OnHost, "optimize_subgraph", lambda _, view, __: views(view))
    with pytest.raises(OptimizationError) as caught:
        run(OnHost)
    assert f"{got} from optimize_subgraph{LAYER}" in str(caught.value)


def test_an_answer_too_few_to_a_query_is_not_asked_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(AtOnce, "query", lambda *_: [])
    with pytest.raises(BackendError, match=r"returned 0 answers about 1 layers from query"):
        run(AtOnce)


def test_the_layer_of_a_wrong_answer_to_a_query_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AtOnce, "query", lambda *_: [True])
    with pytest.raises(BackendError, match=r"returned True for layer 'double' \(Addition\) from q"):
        run(AtOnce)


@pytest.mark.parametrize(
    ("method", "expected"), [("capabilities", "a mapping"), ("score", "a whole number")]
)
def test_a_slip_in_a_worker_process_is_named_there(
    monkeypatch: pytest.MonkeyPatch, method: str, expected: str
) -> None:
    put(monkeypatch, OnHost, method, lambda: None)
    message = f"'Slip' returned None from {method}: expected {expected}"
    with pytest.raises(BackendError, match=message):
        Served(OnHost(), []).answer({"do": "describe"}, [])
