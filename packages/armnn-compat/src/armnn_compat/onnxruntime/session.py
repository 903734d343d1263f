# SPDX-License-Identifier: MIT
"""``InferenceSession`` and ``IOBinding``: a model run with checked inputs, and its profile."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from armnn import TensorInfo, parse
from armnn.errors import CancelledError, InvalidArgumentError
from armnn.profiling import Event, Recorder
from armnn.runtime import LoadedNetwork, default_runtime
from armnn_compat.onnxruntime import model
from armnn_compat.onnxruntime.errors import Fail, InvalidArgument, refusing, translated
from armnn_compat.onnxruntime.model import ModelMetadata, NodeArg, Operator
from armnn_compat.onnxruntime.options import Providers, RunOptions, SessionOptions, choose
from armnn_compat.onnxruntime.values import (
    OrtValue,
    array_at,
    check_on_processor,
    element_number,
    type_name,
)


class _Feeds:
    """Checks the inputs of the runs of one session.

    Args:
        inputs: The inputs that the runs give, as the model declares them.
        infos: The inputs of the network by name.
    """

    def __init__(self, inputs: Sequence[NodeArg], infos: Mapping[str, TensorInfo]) -> None:
        self._inputs = tuple((each, infos[each.name]) for each in inputs)

    def checked(self, given: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Return an array for each input.

        Raises:
            TypeError: The inputs are not given by name.
            ValueError: An input is missing.
            InvalidArgument: There is no input of a name, or one has a wrong type or shape.
        """
        if not isinstance(given, Mapping):
            raise TypeError(
                f"the inputs are given as {type(given).__name__}: expected arrays by name"
            )
        missing = [each.name for each, _ in self._inputs if each.name not in given]
        if missing:
            raise InvalidArgumentError(
                f"Required inputs ({missing}) are missing from input feed ({list(given)})."
            )
        if len(given) != len(self._inputs):
            self._refuse_others(given)
        return {each.name: _array(each, info, given[each.name]) for each, info in self._inputs}

    def _refuse_others(self, given: Mapping[str, Any]) -> None:
        names = [each.name for each, _ in self._inputs]
        for name in given:
            if name not in names:
                raise InvalidArgument(f"Invalid input name: {name}; the model has {names}")


def _array(declared: NodeArg, info: TensorInfo, value: Any) -> NDArray[Any]:
    dtype = info.data_type.numpy_dtype
    if isinstance(value, OrtValue):
        value = value.numpy()
    if not isinstance(value, (np.ndarray, np.generic)):
        try:
            value = np.asarray(value, dtype)
        except (TypeError, ValueError) as error:
            raise RuntimeError(
                "Input must be a list of dictionaries or a single numpy array for input "
                f"'{declared.name}': {error}"
            ) from error
    array = np.asarray(value)
    if array.dtype != dtype:
        raise InvalidArgument(
            f"Unexpected input data type for {declared.name}. Actual: ({_kind(array)}) , "
            f"expected: ({declared.type})"
        )
    if info.shape == () and array.size == 1:
        return array.reshape(())  # onnxruntime takes one element of any rank for a scalar
    _check_shape(declared, array.shape)
    return array


def _kind(array: NDArray[Any]) -> str:
    try:
        return type_name(element_number(array.dtype))
    except RuntimeError:
        return str(array.dtype)


def _check_shape(declared: NodeArg, shape: tuple[int, ...]) -> None:
    """Refuse the shapes that onnxruntime refuses."""
    expected = declared.shape
    advice = "Please fix either the inputs/outputs or the model."
    if not expected and shape:
        return  # no shape and a scalar look alike in onnxruntime's descriptions
    if len(expected) != len(shape):
        raise InvalidArgument(
            f"Invalid rank for input: {declared.name} Got: {len(shape)} Expected: {len(expected)} "
            f"{advice}"
        )
    wrong = [
        f" index: {index} Got: {got} Expected: {dim}"
        for index, (got, dim) in enumerate(zip(shape, expected, strict=True))
        if isinstance(dim, int) and dim != got
    ]
    if wrong:
        raise InvalidArgument(
            f"Got invalid dimensions for input: {declared.name} for the following indices\n"
            + "\n".join(wrong)
            + f"\n {advice}"
        )


_SESSION = "Session"
"""The category of events of a whole session."""

_RUN, _KERNEL, _LAYER = "run", "kernel", "layer"
"""The categories of our events that become rows; others have no counterpart."""


def write_profile(
    events: Iterable[Event], operators: Mapping[str, Operator], start_ns: int, path: str
) -> None:
    """Write a profile to a file, one event per line.

    Args:
        events: The recorded events.
        operators: The operators of the model, by the names of their layers.
        start_ns: When the session began, on the clock of the events.
        path: Where it goes.

    Raises:
        Fail: The file cannot be written.
    """
    rows = ",\n".join(json.dumps(row) for row in _rows(events, operators, start_ns))
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"[\n{rows}\n]\n")
    except OSError as error:
        raise Fail(f"the profile cannot be written to {path!r}: {error}") from error


def _rows(
    events: Iterable[Event], operators: Mapping[str, Operator], start_ns: int
) -> Iterator[dict[str, Any]]:
    process = os.getpid()
    kernels: dict[int, int] = {}  # when the last kernel of each thread began
    for event in events:
        if event.details.get("category") == _KERNEL:
            kernels[event.thread_id] = event.start_ns
        # A compiled layer is the sum of its kernels: rows of both would count their time twice.
        elif event.details.get("category") == _LAYER:
            last = kernels.get(event.thread_id)
            if last is not None and last >= event.start_ns:
                continue
        for category, name, args in _meanings(event, operators):
            yield {
                "cat": category,
                "pid": process,
                "tid": event.thread_id,
                "dur": event.duration_ns // 1000,
                "ts": (event.start_ns - start_ns) // 1000,
                "ph": "X",
                "name": name,
                "args": args,
            }


def _meanings(
    event: Event, operators: Mapping[str, Operator]
) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield category, name and arguments of onnxruntime's events."""
    kind = event.details.get("category")
    if kind == _SESSION:
        yield _SESSION, event.name, {}
    elif kind == _RUN:
        yield _SESSION, "SequentialExecutor::Execute", {}
        yield _SESSION, "model_run", {}
    elif kind in (_KERNEL, _LAYER):
        operator = operators.get(event.name)
        args = {
            "op_name": str(event.details.get("type", "")) if operator is None else operator.type,
            "provider": f"{event.details.get('backend', '')}ExecutionProvider",
        }
        if operator is not None:
            args["node_index"] = str(operator.index)
        yield "Node", f"{event.name if operator is None else operator.name}_kernel_time", args


class IOBinding:
    """Arrays by name, which runs read and write.

    Args:
        session: The session; ``InferenceSession.io_binding()`` makes one, too.
    """

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, NDArray[Any]] = {}
        self._outputs: dict[str, NDArray[Any] | None] = {}
        self._results: dict[str, OrtValue] = {}

    def bind_cpu_input(self, name: str, arr_on_cpu: NDArray[Any]) -> None:
        """Bind an input to an array.

        Raises:
            RuntimeError: The model has no such input.
        """
        self._check_name(name, [*self._session.get_inputs()])
        self._inputs[name] = arr_on_cpu

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: int | DTypeLike,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Bind an input to the memory at an address.

        Raises:
            RuntimeError: The model has no such input, or the memory is not the processor's.
        """
        del device_id
        check_on_processor(device_type, f"the input {name!r}")
        self.bind_cpu_input(name, array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Bind an input to a value.

        Raises:
            RuntimeError: The model has no such input.
        """
        self.bind_cpu_input(name, ortvalue.numpy())

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: int | DTypeLike | None = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Request an output, in new or in given memory.

        Raises:
            RuntimeError: The model has no such output, or the memory is not the processor's.
            ValueError: There is an address but no type or shape.
        """
        del device_id
        check_on_processor(device_type, f"the output {name!r}")
        self._check_name(name, [*self._session.get_outputs()])
        if buffer_ptr is None:
            self._outputs[name] = None
        elif element_type is None or shape is None:
            raise ValueError(
                "`element_type` and `shape` are to be provided if pre-allocated memory is provided"
            )
        else:
            self._outputs[name] = array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Ask for an output in a value's memory.

        Raises:
            RuntimeError: The model has no such output.
        """
        self._check_name(name, [*self._session.get_outputs()])
        self._outputs[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Do nothing: all memory is the processor's."""

    def synchronize_outputs(self) -> None:
        """Do nothing: all memory is the processor's."""

    def get_outputs(self) -> list[OrtValue]:
        """Return the last run's outputs in the order of binding."""
        return list(self._results.values())

    def get_outputs_as_ortvaluevector(self) -> list[OrtValue]:
        """Return the same as :meth:`get_outputs`."""
        return self.get_outputs()

    def copy_outputs_to_cpu(self) -> list[NDArray[Any]]:
        """Return copies of the outputs of the last run."""
        return [value.numpy().copy() for value in self._results.values()]

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._outputs.clear()
        self._results.clear()

    def run(self, run_options: RunOptions | None) -> None:
        """Run the session; ``InferenceSession.run_with_iobinding`` calls it.

        Raises:
            RuntimeError: No output is bound, or one has other dimensions than its memory.
        """
        if not self._outputs:
            raise RuntimeError("no output is bound: call bind_output() for those that are wanted")
        arrays = self._session.run(list(self._outputs), self._inputs, run_options)
        for (name, target), array in zip(self._outputs.items(), arrays, strict=True):
            if target is not None:
                if target.shape != array.shape or target.dtype != array.dtype:
                    raise RuntimeError(
                        f"the output {name!r} is {array.dtype} {list(array.shape)}: the memory "
                        f"that is bound to it is {target.dtype} {list(target.shape)}"
                    )
                np.copyto(target, array)
            self._results[name] = OrtValue(array if target is None else target)

    def _check_name(self, name: str, known: Sequence[Any]) -> None:
        names = [each.name for each in known]
        if name not in names:
            raise RuntimeError(
                f"Failed to find NodeArg with name: {name} in the def list {', '.join(names)}"
            )


_NO_FALLBACK = "session.disable_cpu_ep_fallback"


@refusing(
    "get_input_epdevices",
    "get_input_memory_infos",
    "get_output_memory_infos",
    "get_provider_graph_assignment_info",
    "get_tuning_results",
    "release_captured_graph",
    "run_with_ortvaluevector",
    "set_ep_dynamic_options",
    "set_tuning_results",
)
class InferenceSession:
    """A loaded model.

    Args:
        path_or_bytes: The model, or its file; data in other files is found beside that.
        sess_options: See :class:`SessionOptions`.
        providers: Execution providers, the preferred one first; see
            :func:`armnn_compat.onnxruntime.options.choose`.
        provider_options: The options of each.
        options: Other arguments of onnxruntime, which have no effect.

    Raises:
        NoSuchFile: There is no such file.
        InvalidProtobuf: It is no ONNX file.
        InvalidGraph: It is malformed.
        NotImplemented: It uses operators that no layer computes.
        InvalidArgument: An option is wrong.
        Fail: No backend can run it, or it cannot be loaded for another reason, or the optimized
            model cannot be written where the options say.
        TypeError: ``path_or_bytes`` is neither.
        ValueError: ``providers`` is not a list of names.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Providers | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
        **options: object,
    ) -> None:
        del options
        if not isinstance(path_or_bytes, (str, bytes, os.PathLike)):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        self._sess_options = SessionOptions() if sess_options is None else sess_options
        self._source: str | bytes = os.fspath(path_or_bytes)  # which leaves bytes as they are
        self._model_path = None if isinstance(self._source, bytes) else self._source
        self._recorder = Recorder() if self._sess_options.enable_profiling else None
        self._loading = threading.Lock()
        self._start_ns, self._start_time_ns = time.perf_counter_ns(), time.time_ns()
        self._load(providers, provider_options)
        if self._sess_options.optimized_model_filepath:
            model.write(self._source, self._sess_options.optimized_model_filepath)

    def _load(
        self,
        providers: Providers | None,
        provider_options: Sequence[Mapping[str, object]] | None,
    ) -> None:
        given = self._sess_options
        if not providers and given.providers:
            providers = list(given.providers.items())
        sizes = model.Sizes(given.free_dimensions, given.free_denotations)
        described = model.describe(self._source, sizes)
        began = time.perf_counter_ns()
        with translated():
            choice = choose(
                providers,
                provider_options,
                threads=given.intra_op_num_threads,
                with_defaults=given.config_entries.get(_NO_FALLBACK) != "1",
            )
        self._described, self._choice = described, choice
        self._network, feeds = self._load_network((), began)
        self._loaded: dict[tuple[str, ...], tuple[LoadedNetwork, _Feeds]] = {
            (): (self._network, feeds)
        }
        self._providers = choice.providers
        self._inputs = described.inputs
        self._overridable = described.overridable
        self._outputs = model.completed(described.outputs, self._network.outputs)
        self._metadata = described.metadata

    def _load_network(
        self, overridden: Sequence[NodeArg], began: int
    ) -> tuple[LoadedNetwork, _Feeds]:
        """Return a network whose runs give these initializers, too, and the check of its feeds."""
        inputs = [*self._described.inputs, *overridden]
        names = ",".join(each.name for each in overridden)
        with translated():
            parsed = parse(
                self._source,
                suffix="onnx",
                parser_options={"overridable": names} if names else None,
            )
            model.set_input_sizes(parsed, inputs)
            self._record(f"model_loading_{'uri' if self._model_path else 'array'}", began)
            began = time.perf_counter_ns()
            network = default_runtime().load_model(
                parsed,
                self._choice.backends,
                backend_options=self._choice.options,
                profiler=self._recorder,
            )
            parsed.clear()  # the runtime has a copy; else the weights stay until they are collected
            self._record("session_initialization", began)
        return network, _Feeds(inputs, network.inputs)

    # -- what it is -----------------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        """Return the inputs that every run needs."""
        return self._inputs

    def get_outputs(self) -> list[NodeArg]:
        """Return the outputs."""
        return self._outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Return the inputs that have a value in the model."""
        return self._overridable

    def get_modelmeta(self) -> ModelMetadata:
        """Return the metadata of the model file."""
        return self._metadata

    def get_session_options(self) -> SessionOptions:
        """Return the options that the session was made with."""
        return self._sess_options

    def get_providers(self) -> list[str]:
        """Return the providers that take part."""
        return list(self._providers)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Return the providers that take part, with their options."""
        return {name: dict(options) for name, options in self._providers.items()}

    def set_providers(
        self,
        providers: Providers | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
    ) -> None:
        """Load the model again for other providers."""
        self._load(providers, provider_options)

    def enable_fallback(self) -> None:
        """Do nothing: refused layers go to the next backend anyway."""

    def disable_fallback(self) -> None:
        """Do nothing; the entry "session.disable_cpu_ep_fallback" keeps to the named backends."""

    # -- running --------------------------------------------------------------------------------

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[NDArray[Any]]:
        """Run the model, from any number of threads.

        Args:
            output_names: Which outputs are wanted; None or none for all of them.
            input_feed: An array, a list or an :class:`OrtValue` for each input.
            run_options: See :class:`RunOptions`.

        Returns:
            The outputs in the order of ``output_names``.

        Raises:
            ValueError: An input is missing.
            InvalidArgument: There is no input or output of a name, or an input has a wrong type or
                shape.
            Fail: The run failed, or was told to end.
        """
        names = self._output_names(output_names)
        network, feeds = self._loaded_for(input_feed)
        feed = feeds.checked(input_feed)
        try:
            with translated():
                results = network.run(feed, cancel=run_options, profiler=self._recorder)
        except Fail as error:
            if isinstance(error.__cause__, CancelledError):
                raise Fail("Exiting due to terminate flag being set to true.") from error
            raise
        return [results[name] for name in names]

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """Run the model as :meth:`run` does, from values to values."""
        return [OrtValue(a) for a in self.run(output_names, input_dict_ort_values, run_options)]

    def create_ortvalue_from_shape_and_type(
        self,
        shape: Sequence[int],
        element_type: int | DTypeLike,
        device_type: str,
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """Return a new value, as :meth:`OrtValue.ortvalue_from_shape_and_type` does."""
        return OrtValue.ortvalue_from_shape_and_type(
            shape, element_type, device_type, device_id, vendor_id
        )

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[NDArray[Any]], Any, str], object],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Run the model in another thread, which calls back."""
        feed = dict(input_feed)

        def work() -> None:
            try:
                results = self.run(output_names, feed, run_options)
            except Exception as error:
                callback([], user_data, str(error))
            else:
                callback(results, user_data, "")

        threading.Thread(target=work, name="armnn run_async").start()

    def io_binding(self) -> IOBinding:
        """Return a binding for :meth:`run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(
        self, iobinding: IOBinding, run_options: RunOptions | None = None
    ) -> None:
        """Run the model on the bound inputs and outputs."""
        iobinding.run(run_options)

    # -- profiling ------------------------------------------------------------------------------

    def end_profiling(self) -> str:
        """Write the profile and return its file's name.

        Returns:
            An empty text if the options did not enable profiling.

        Raises:
            Fail: The file cannot be written.
        """
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return ""
        now = time.time_ns()
        stamp = time.strftime("%Y-%m-%d_%H-%M-%S", time.localtime(now // 10**9))
        prefix = self._sess_options.profile_file_prefix
        path = f"{prefix}_{stamp}_{now // 10**6 % 1000:03}.json"
        nodes = model.operators(self._source)
        write_profile(recorder.events, nodes, self._start_ns, path)
        return path

    def get_profiling_start_time_ns(self) -> int:
        """Return when the session was made, by ``time.time_ns``."""
        return self._start_time_ns

    # -- inside ---------------------------------------------------------------------------------

    def _loaded_for(self, given: Mapping[str, Any]) -> tuple[LoadedNetwork, _Feeds]:
        """Return the network for a feed: initializers are constants where it has none of them.

        A run that gives some first loads the model again, with these as inputs.
        """
        if not self._overridable or not isinstance(given, Mapping):
            return self._loaded[()]
        overridden = [each for each in self._overridable if each.name in given]
        names = tuple(each.name for each in overridden)
        with self._loading:
            if names not in self._loaded:
                self._loaded[names] = self._load_network(overridden, time.perf_counter_ns())
            return self._loaded[names]

    def _record(self, name: str, start_ns: int) -> None:
        if self._recorder is not None:
            self._recorder.event(name, start_ns, time.perf_counter_ns(), category=_SESSION)

    def _output_names(self, wanted: Sequence[str] | None) -> list[str]:
        known = [output.name for output in self._outputs]
        if isinstance(wanted, str):
            raise TypeError(f"output_names is the text {wanted!r}: expected a list of names")
        for name in wanted or ():
            if name not in known:
                raise InvalidArgument(f"Invalid output name: {name}; the model has {known}")
        return list(wanted or known)
