# SPDX-License-Identifier: MIT
"""The checked arguments of ``optimize`` and ``load_model``, and their needs.

A request needs backends, a cache, memory strategies and sinks beside the network.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os.path import splitext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from armnn._files import file_sha256
from armnn._load_times import phase
from armnn.arguments import file_path, texts
from armnn.backends import CreationOptions, OptionValue, ProfilingSink
from armnn.backends.cache import StaleEntryError
from armnn.backends.options import DEFAULT_STRATEGY
from armnn.backends.registry import BackendRegistry
from armnn.errors import InvalidArgumentError, ModelFileError
from armnn.installing import CPU_REF
from armnn.optimizer.options import OptimizerOptions, checked_options
from armnn.parsing import ParserOptions, parse, parse_folded
from armnn.runtime.calls.control import NetworkProperties, check_profiler
from armnn.runtime.calls.inputs import InputShapes
from armnn.runtime.observed import TensorSink
from armnn.runtime.planner import MemoryStrategies
from armnn.runtime.states import States
from armnn.storage.folder import CacheFolder, stamp_of
from armnn.storage.model import ExternalFiles

if TYPE_CHECKING:
    from armnn.graph import Network

AUTO: Final = "auto"
"""In place of backends: those that an earlier measurement found the fastest."""

PREPARED: Final = ".armnn-prepared"
"""The suffix of models that :meth:`armnn.Runtime.compile_network` wrote."""

BackendOptions: TypeAlias = "Mapping[str, Mapping[str, OptionValue]]"
"""Options by backend id."""


@dataclass(frozen=True, slots=True)
class OptimizationRequest:
    """How a caller of ``optimize`` wants a network prepared.

    Attributes:
        backends: Ids in the order of preference; None for all that can be used.
        options: The decisions about its layers.
        cache_dir: The folder of the cache, if there is one.
        without: The backends that layers may not ask for by hints.
        choice: Why these backends were chosen, if they were measured.
        states: The outputs that are the next values of inputs.
    """

    backends: Sequence[str] | None
    options: OptimizerOptions
    cache_dir: str | None
    without: frozenset[str] = frozenset()
    choice: str = ""
    states: States = None

    def avoiding(self, lost: str, candidates: Sequence[str]) -> OptimizationRequest | None:
        """Return this request without a backend, if another is left.

        Args:
            lost: The backend.
            candidates: The backends that take part, in the order of preference.
        """
        others = tuple(each for each in candidates if each != lost)
        if not others:
            return None
        options = replace(
            self.options,
            layer_backends={k: v for k, v in self.options.layer_backends.items() if v != lost},
            model_options={k: v for k, v in self.options.model_options.items() if k != lost},
        )
        return replace(self, backends=others, options=options, without=self.without | {lost})

    @property
    def is_automatic(self) -> bool:
        """Whether a measurement chooses the backends."""
        return self.backends == AUTO

    @property
    def cache_key(self) -> str:
        """The fields that a preparation depends on, as text."""
        without = f" without {sorted(self.without)}" if self.without else ""
        states = "" if self.states is None else f" states {self.states!r}"
        return f"{self.backends!r}{without}{states} {self.options.cache_key}"


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model file as it was when it was loaded, or the content that was loaded.

    Attributes:
        path: The absolute path, for other processes; "" for content.
        stamp: The file's number, size and time of change; empty in another process.
        content: The content; None for a file.
        folder: The folder of content; None if none was given.
        given: The path as it was given, for this process.
        known_sha256: The sha256 of its bytes, once it was computed.
        read: The status of each file beside it that was read, by its name below the folder.
        digests: The sha256 of such files, once they were computed.
    """

    path: str
    stamp: tuple[int, ...] = ()
    content: bytes | None = None
    folder: str | None = None
    given: str = field(default="", compare=False)
    known_sha256: list[str] = field(default_factory=list, compare=False)
    read: dict[str, os.stat_result] = field(default_factory=dict, compare=False)
    digests: dict[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, path: str) -> ModelSource:
        """Return the source of a model file."""
        # The path of a link stays, as files beside the model are found from there.
        return cls(os.path.abspath(path), _stamp_of(path), given=path)

    @property
    def title(self) -> str:
        """The name of the model in errors."""
        return f"the model {self.path!r}" if self.content is None else "the model given as bytes"

    @property
    def is_prepared(self) -> bool:
        """Whether it is a file that was compiled before."""
        return splitext(self.path)[1] == PREPARED

    @property
    def sha256(self) -> str:
        """The sha256 of the file or of the content, computed at the first access.

        Raises:
            ModelFileError: The file is gone or has changed.
        """
        if self.content is not None and not self.known_sha256:
            self.known_sha256.append(hashlib.sha256(self.content).hexdigest())
        if not self.known_sha256:
            path = self.path
            digest = file_sha256(path) if _stamp_of(path) == self.stamp else ""
            if not digest or _stamp_of(path) != self.stamp:
                raise ModelFileError(
                    f"{self.title} is gone or has changed since it was loaded: load it again"
                )
            self.known_sha256.append(digest)
        return self.known_sha256[0]

    def files_beside(self) -> dict[str, str]:
        """Return the sha256 of each file beside it that was read, by its name below the folder.

        Raises:
            ModelFileError: One is gone or has changed.
        """
        self._check_beside("it was loaded")
        return dict(self.digests)

    def check(self) -> None:
        """Check that no file changed since it was pickled.

        Raises:
            ModelFileError: One is gone or has changed.
        """
        if self.content is None:
            path, sha256 = self.path, self.sha256
            if not os.path.isfile(path) or file_sha256(path) != sha256:
                raise ModelFileError(
                    f"{self.title} is gone or has changed since it was pickled: expected "
                    f"sha256 {sha256}"
                )
        self._check_beside("it was pickled")

    def __reduce__(self) -> tuple[Any, ...]:
        self._check_beside("it was loaded")
        sha256 = [self.sha256] if self.content is None else []
        path, content = self.path, self.content
        return ModelSource, (path, (), content, self.folder, path, sha256, {}, self.digests)

    def _check_beside(self, event: str) -> None:
        """Check the files beside it, and complete their digests."""
        if not self.read and not self.digests:
            return
        try:
            files = ExternalFiles(self.path, file_sha256, self.folder or "")
            files.complete(self.digests, self.read)
        except StaleEntryError as error:
            raise ModelFileError(f"{self.title} has changed since {event}: {error}") from error


def _stamp_of(path: str) -> tuple[int, ...]:
    """Return the numbers that change with a file; empty without one."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """A model and its options, for any process.

    Attributes:
        source: The file, or its content.
        request: How it is prepared.
        shapes: The input shapes that are prepared at once.
        quantize: Whether inputs and outputs are real values.
        creation_options: The options of the runtime.
        parser_options: The options of the parser.
        properties: The properties to load it with; None for those of its options.
    """

    source: ModelSource
    request: OptimizationRequest
    shapes: Sequence[InputShapes]
    quantize: bool
    creation_options: CreationOptions
    parser_options: ParserOptions
    properties: NetworkProperties | None = None


def checked_request(
    backends: object,
    options: object,
    keywords: Mapping[str, object],
    backend_options: object,
    cache_dir: object,
    function: Callable[..., object] | None = None,
    states: States = None,
) -> OptimizationRequest:
    """Return the checked arguments of ``optimize``.

    Args:
        backends: Ids in the order of preference.
        options: An OptimizerOptions, or None.
        keywords: Options by name, which take precedence.
        backend_options: The earlier name of the option ``model_options``.
        cache_dir: The folder of the cache, or None.
        function: Whose arguments they are: its parameters are suggested where an option is unknown.
        states: The outputs that are the next values of inputs; they are checked when it is loaded.

    Raises:
        InvalidArgumentError: One is of another kind.
        UnknownNameError: There is no such option.
    """
    if backend_options is not None:
        if keywords.get("model_options"):
            raise InvalidArgumentError(
                "backend_options and model_options are two names of one argument: expected one"
            )
        keywords = {**keywords, "model_options": backend_options}
    return OptimizationRequest(
        _backend_ids(backends),
        checked_options(options, keywords, function),
        None if cache_dir is None else file_path(cache_dir, "the cache_dir"),
        states=states,
    )


def profiler_of(profiler: ProfilingSink | None, options: OptimizerOptions) -> ProfilingSink | None:
    """Return where the phases of a preparation are recorded.

    It is a new Recorder if none is given and ``profiling_enabled`` is True.

    Raises:
        InvalidArgumentError: Events cannot be given to the profiler.
    """
    check_profiler(profiler)
    if profiler is not None or not options.profiling_enabled:
        return profiler
    from armnn.profiling.recorder import Recorder  # late: a prepared load does without

    return Recorder()


def _backend_ids(backends: object) -> tuple[str, ...] | str | None:
    if backends is None or isinstance(backends, str):  # the registry knows what to say of a text
        return backends
    ids = texts(backends, "the backends", f"a list of ids such as {[CPU_REF]}")
    return AUTO if ids == (AUTO,) else ids


def with_backends(
    request: OptimizationRequest,
    model: ModelSource | Network,
    registry: BackendRegistry,
    profiler: ProfilingSink | None,
) -> OptimizationRequest:
    """Return a request with backends in place of "auto".

    Args:
        request: How a caller wants the model prepared.
        model: Its source, or the network.
        registry: The backends of the runtime.
        profiler: Where the phase is recorded, if anywhere.

    Raises:
        PlacementError: See :func:`armnn.runtime.verdicts.choose`.
    """
    if not request.is_automatic:
        return request
    if isinstance(model, ModelSource) and model.is_prepared:
        return replace(request, backends=None)  # they were chosen when it was written
    from armnn.runtime.verdicts import choose  # late: a prepared load does without

    with phase(profiler, "choose backends"):
        if isinstance(model, ModelSource):
            named = Path(model.given) if model.content is None else model.content
            found = choose(named, request.options, registry)
        else:
            found = choose(model, request.options, registry)
    return replace(request, backends=found.backends, options=found.options, choice=found.text)


def parsed(
    source: ModelSource, request: OptimizationRequest, parser_options: ParserOptions | None
) -> tuple[Network, Callable[[], Network] | None]:
    """Return the network of a file or of content, and a function that parses it again.

    There is the latter where quantized operators may be layers on stored values already, because
    no decision of the caller is about the layers on floats for which these stand.
    """
    model = source.given if source.content is None else source.content
    if not request.options.rewrite or request.options.layer_backends or request.without:
        return parse(model, folder=source.folder, parser_options=parser_options), None
    stamp = None if source.content is not None else stamp_of(source.given)

    def again() -> Network:
        if stamp is not None and stamp_of(source.given) != stamp:
            raise ModelFileError(f"{source.title} changed while it was loaded: load it again")
        return parse(model, folder=source.folder, parser_options=parser_options)

    network = parse_folded(model, folder=source.folder, parser_options=parser_options)
    return network, again


def tensor_sink(options: OptimizerOptions) -> TensorSink | None:
    """Return the sink of intermediate tensors, None if they are not shown."""
    if not options.shows_tensors:
        return None
    return TensorSink(options)


def cache_folder(
    request: OptimizationRequest, profiler: ProfilingSink | None
) -> CacheFolder | None:
    """Return the cache of a request, if it has one."""
    if request.cache_dir is None:
        return None
    return CacheFolder(request.cache_dir, profiler)


def memory_strategies(options: CreationOptions) -> MemoryStrategies | None:
    """Return the memory strategies, None for the default.

    Raises:
        InvalidArgumentError: A name is unknown, or its object cannot be imported.
    """
    if options.memory_strategy == DEFAULT_STRATEGY and not options.memory_strategies:
        return None
    return MemoryStrategies(options.memory_strategy, options.memory_strategies)
