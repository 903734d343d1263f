# SPDX-License-Identifier: MIT
"""The checked arguments of ``optimize`` and ``load_model``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from armnn._arguments import file_path, flag, mapping, refused, text, texts
from armnn._installing import FAST, REFERENCE
from armnn.optimizer import OptimizerOptions

if TYPE_CHECKING:
    from armnn.backends import CreationOptions, OptionValue
    from armnn.parsing import ParserOptions
    from armnn.runtime.inputs import InputShapes
    from armnn.storage.source import ModelSource


BackendOptions: TypeAlias = "Mapping[str, Mapping[str, OptionValue]]"
"""Options by backend id."""


@dataclass(frozen=True, slots=True)
class OptimizationRequest:
    """How a caller of ``optimize`` wants a network prepared.

    Attributes:
        backends: Ids in the order of preference; None for all that can be used.
        backend_options: Options of backends for this network.
        options: The decisions about its layers.
        cache_dir: The folder of the cache, if there is one.
    """

    backends: Sequence[str] | None
    backend_options: BackendOptions
    options: OptimizerOptions
    cache_dir: str | None

    @property
    def cache_key(self) -> str:
        """The fields that a preparation depends on, as text."""
        return repr(replace(self, cache_dir=None))


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """A model file and its options, for any process.

    Attributes:
        source: The file.
        request: How it is prepared.
        shapes: The input shapes that are prepared at once.
        quantize: Whether inputs and outputs are real values.
        creation_options: The options of the runtime.
        parser_options: The options of the parser.
    """

    source: ModelSource
    request: OptimizationRequest
    shapes: Sequence[InputShapes]
    quantize: bool
    creation_options: CreationOptions
    parser_options: ParserOptions


def checked_request(
    backends: object,
    backend_options: object,
    layer_backends: object,
    strict: object,
    cache_dir: object,
) -> OptimizationRequest:
    """Return the checked arguments of ``optimize``.

    Raises:
        InvalidArgumentError: One is of another kind.
    """
    return OptimizationRequest(
        _backend_ids(backends),
        _options(backend_options),
        OptimizerOptions(
            strict=flag(strict, "strict"), layer_backends=_layer_backends(layer_backends)
        ),
        None if cache_dir is None else file_path(cache_dir, "the cache_dir"),
    )


def check_profiler(profiler: object) -> None:
    """Raise InvalidArgumentError unless events can be given to it."""
    if profiler is not None and not _has_method(profiler, "event"):
        raise refused("the profiler", profiler, "a ProfilingSink such as armnn.profiling.Recorder")


def check_token(cancel: object) -> None:
    """Raise InvalidArgumentError unless it can be asked whether to stop."""
    if cancel is not None and not _has_method(cancel, "is_set"):
        raise refused("cancel", cancel, "an object with is_set(), such as a threading.Event")


def _has_method(value: object, name: str) -> bool:
    return not isinstance(value, type) and callable(getattr(value, name, None))


def _backend_ids(backends: object) -> tuple[str, ...] | str | None:
    if backends is None or isinstance(backends, str):  # the registry knows what to say of a text
        return backends
    return texts(backends, "the backends", f"a list of ids such as {[REFERENCE]}")


def _options(options: object) -> Mapping[str, Mapping[str, Any]]:
    expected = f"a mapping from backend ids to their options, such as {{{FAST!r}: {{...}}}}"
    if options is None:
        return {}
    for backend, given in mapping(options, "the backend_options", expected).items():
        what = f"the options for backend {text(backend, 'a backend id in backend_options')!r}"
        for name, value in mapping(given, what).items():
            option = f"the option {text(name, f'a name in {what}')!r} for backend {backend!r}"
            if not isinstance(value, (bool, int, float, str)):
                raise refused(option, value, "a text, a number, True or False")
    return mapping(options, "the backend_options")


def _layer_backends(layer_backends: object) -> dict[str, str]:
    expected = "a mapping from names of layers to backend ids"
    return {
        text(name, "the name of a layer in layer_backends"): text(
            backend, f"the backend of layer {name!r}"
        )
        for name, backend in mapping(
            {} if layer_backends is None else layer_backends, "the layer_backends", expected
        ).items()
    }
