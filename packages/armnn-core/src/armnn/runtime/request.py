# SPDX-License-Identifier: MIT
"""What a caller of ``optimize`` and ``load_model`` wishes, checked before anything is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from armnn._arguments import file_path, flag, mapping, refused, text, texts
from armnn._installing import FAST, REFERENCE


def checked_wishes(
    backends: object,
    backend_options: object,
    layer_backends: object,
    strict: object,
    profiler: object,
    cache_dir: object,
) -> dict[str, Any]:
    """Return the wishes by name, of the types that the runtime works with.

    Raises:
        InvalidArgumentError: One is of another kind.
    """
    check_profiler(profiler)
    return {
        "backends": _backend_ids(backends),
        "backend_options": _options(backend_options),
        "layer_backends": _layer_backends(layer_backends),
        "strict": flag(strict, "strict"),
        "cache_dir": None if cache_dir is None else file_path(cache_dir, "the cache_dir"),
    }


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


def _layer_backends(wishes: object) -> dict[str, str]:
    expected = "a mapping from names of layers to backend ids"
    return {
        text(name, "the name of a layer in layer_backends"): text(
            backend, f"the backend of layer {name!r}"
        )
        for name, backend in mapping(
            {} if wishes is None else wishes, "the layer_backends", expected
        ).items()
    }
