# SPDX-License-Identifier: MIT
"""``InferenceSession``: a loaded model with onnxruntime's methods."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy.typing import DTypeLike, NDArray

from armnn import parse
from armnn.errors import CancelledError
from armnn.profiling import Recorder
from armnn.runtime import default_runtime
from armnn_compat.onnxruntime import model
from armnn_compat.onnxruntime.binding import IOBinding
from armnn_compat.onnxruntime.errors import Fail, InvalidArgument, translated
from armnn_compat.onnxruntime.feeds import Feeds
from armnn_compat.onnxruntime.model import ModelMetadata, NodeArg
from armnn_compat.onnxruntime.options import RunOptions, SessionOptions
from armnn_compat.onnxruntime.profile import SESSION, write_profile
from armnn_compat.onnxruntime.providers import Providers, choose
from armnn_compat.onnxruntime.refused import refusing
from armnn_compat.onnxruntime.values import OrtValue

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
            :func:`armnn_compat.onnxruntime.providers.choose`.
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
            parsed = parse(self._source, suffix="onnx")
            model.set_input_sizes(parsed, described.inputs)
            self._record(f"model_loading_{'uri' if self._model_path else 'array'}", began)
            began = time.perf_counter_ns()
            network = default_runtime().load_model(
                parsed, choice.backends, backend_options=choice.options, profiler=self._recorder
            )
            parsed.clear()  # the runtime has a copy; else the weights stay until they are collected
            self._record("session_initialization", began)
        self._network = network
        self._providers = choice.providers
        self._inputs = described.inputs
        self._overridable = described.overridable
        self._feeds = Feeds(described, network.inputs)
        self._outputs = model.completed(described.outputs, network.outputs)
        self._metadata = described.metadata

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
        """Return what the file says about itself."""
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
        feed = self._feeds.checked(input_feed)
        try:
            with translated():
                results = self._network.run(feed, cancel=run_options, profiler=self._recorder)
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
        """Run the model from and to what is bound."""
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

    def _record(self, name: str, start_ns: int) -> None:
        if self._recorder is not None:
            self._recorder.event(name, start_ns, time.perf_counter_ns(), category=SESSION)

    def _output_names(self, wanted: Sequence[str] | None) -> list[str]:
        known = [output.name for output in self._outputs]
        if isinstance(wanted, str):
            raise TypeError(f"output_names is the text {wanted!r}: expected a list of names")
        for name in wanted or ():
            if name not in known:
                raise InvalidArgument(f"Invalid output name: {name}; the model has {known}")
        return list(wanted or known)
