# SPDX-License-Identifier: MIT
"""The options of GpuAcc, of a runtime and of a model, with Arm NN's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from armnn.backends import BlobStore, ModelContext, OptionValue
from armnn.errors import InvalidArgumentError
from armnn_backend_cl.cached_file import CachedFile
from armnn_backend_cl.tuning import MOST_LEVEL, Tuner

_DEVICE: Final = "Device"
_KERNEL_PROFILING: Final = "KernelProfilingEnabled"
_LEVEL: Final = "TuningLevel"
_TUNING_FILE: Final = "TuningFile"
_FAST_MATH: Final = "FastMathEnabled"
_SAVE: Final = "SaveCachedNetwork"
_FILE: Final = "CachedNetworkFilePath"

_OF_RUNTIME: Final[dict[str, tuple[type, ...]]] = {
    _DEVICE: (int, str),
    _KERNEL_PROFILING: (bool,),
    _LEVEL: (int,),
    _TUNING_FILE: (str,),
}
_OF_MODEL: Final[dict[str, tuple[type, ...]]] = {
    _FAST_MATH: (bool,),
    _SAVE: (bool,),
    _FILE: (str,),
    _LEVEL: (int,),
    _TUNING_FILE: (str,),
}
_IN_WORDS: Final[dict[tuple[type, ...], str]] = {
    (int, str): "an index or a text",
    (bool,): "true or false",
    (int,): "a whole number",
    (str,): "a path",
}

_NOT_HERE: Final = {
    "CachedFileDescriptor": "name the file: CachedNetworkFilePath",
    "MLGOTuningFilePath": "its rules are for the kernels of Arm's library: TuningFile has those of "
    "GpuAcc",
}


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """The options of a runtime.

    Attributes:
        device: An index, "gpu", "cpu", "accelerator" or a part of a name; "" is the first one.
        has_kernel_times: Whether profiles of runs have the times of kernels.
        tuner: What tunes products of matrices, None if nothing does.
    """

    device: int | str = ""
    has_kernel_times: bool = True
    tuner: Tuner | None = None


class GpuAccModel(ModelContext):
    """GpuAcc's context of a network.

    Attributes:
        has_fast_math: Whether the driver's compiler may round otherwise than IEEE 754.
        tuner: What tunes products of matrices, None if the runtime says that.
    """

    def __init__(self, options: Mapping[str, OptionValue]) -> None:
        """Check the options.

        Raises:
            InvalidArgumentError: One is not known, of a wrong type, or misses another, or a file
                cannot be used.
        """
        super().__init__(options)
        given = _checked(options, _OF_MODEL, "a model")
        self.has_fast_math = bool(given.get(_FAST_MATH, False))
        self.tuner = _tuner(given)
        path, is_saved = _checked_path(given, _FILE), bool(given.get(_SAVE, False))
        if is_saved and not path:
            raise InvalidArgumentError(f"{_SAVE} of backend 'GpuAcc' needs {_FILE}: the file")
        self._file = CachedFile(path, is_saved=is_saved) if path else None

    @property
    def programs(self) -> BlobStore | None:
        """Where programs are kept: a file that the options name, else where the host says.

        None where it keeps nothing: a driver may take long to make a binary, as PoCL does.
        """
        return self._file or self.blobs or None


def runtime_options(options: Mapping[str, OptionValue]) -> RuntimeOptions:
    """Return the options of a runtime.

    Raises:
        InvalidArgumentError: One is not known, or of a wrong type, or a file cannot be used.
    """
    given = _checked(options, _OF_RUNTIME, "a runtime")
    return RuntimeOptions(given.get(_DEVICE, ""), given.get(_KERNEL_PROFILING, True), _tuner(given))


def _tuner(given: Mapping[str, Any]) -> Tuner | None:
    level, path = given.get(_LEVEL, 0), _checked_path(given, _TUNING_FILE)
    if not 0 <= level <= MOST_LEVEL:
        raise InvalidArgumentError(
            f"the option {_LEVEL} of backend 'GpuAcc' is {level}: expected 0, which measures "
            f"nothing, to {MOST_LEVEL}, the most thorough one"
        )
    return Tuner(level, path) if level or path else None


def _checked_path(given: Mapping[str, Any], name: str) -> str:
    path = str(given.get(name, ""))
    if "\0" in path:
        raise InvalidArgumentError(
            f"the option {name} of backend 'GpuAcc' is {path!r}: expected a path, which has no NUL "
            "character"
        )
    return path


def _checked(
    options: Mapping[str, OptionValue], known: Mapping[str, tuple[type, ...]], whose: str
) -> dict[str, Any]:
    for name, value in options.items():
        if name not in known:
            reason = _NOT_HERE.get(name, "")
            others = {**_OF_RUNTIME, **_OF_MODEL}
            if name in others:
                model, runtime = "a model (--option)", "a runtime (--runtime-option)"
                reason = f"it is one of {model if name in _OF_MODEL else runtime}"
            because = f", as {reason}" if reason else ""
            raise InvalidArgumentError(
                f"backend 'GpuAcc' does not know the option {name!r} of {whose}{because}: expected "
                f"{' or '.join(known)}"
            )
        if type(value) not in known[name]:
            raise InvalidArgumentError(
                f"the option {name} of backend 'GpuAcc' is {value!r}: expected "
                f"{_IN_WORDS[known[name]]}"
            )
    return dict(options)
