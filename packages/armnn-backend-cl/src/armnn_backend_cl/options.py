# SPDX-License-Identifier: MIT
"""The options of GpuAcc, of a runtime and of a model, with Arm NN's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from armnn.backends import BlobStore, ModelContext, OptionValue
from armnn.errors import InvalidArgumentError
from armnn_backend_cl.cached_file import CachedFile

_DEVICE: Final = "Device"
_KERNEL_PROFILING: Final = "KernelProfilingEnabled"
_FAST_MATH: Final = "FastMathEnabled"
_SAVE: Final = "SaveCachedNetwork"
_FILE: Final = "CachedNetworkFilePath"

_OF_RUNTIME: Final[dict[str, tuple[type, ...]]] = {
    _DEVICE: (int, str),
    _KERNEL_PROFILING: (bool,),
}
_OF_MODEL: Final[dict[str, tuple[type, ...]]] = {_FAST_MATH: (bool,), _SAVE: (bool,), _FILE: (str,)}
_IN_WORDS: Final[dict[tuple[type, ...], str]] = {
    (int, str): "an index or a text",
    (bool,): "true or false",
    (str,): "a path",
}

_NOT_HERE: Final = {
    "TuningLevel": "work items are in groups of one size on every device, so that sums keep their "
    "order: there is nothing to tune",
    "CachedFileDescriptor": "name the file: CachedNetworkFilePath",
}
_NOT_HERE_EITHER: Final = {"TuningFile": "TuningLevel", "MLGOTuningFilePath": "TuningLevel"}


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """The options of a runtime.

    Attributes:
        device: An index, "gpu", "cpu", "accelerator" or a part of a name; "" is the first one.
        has_kernel_times: Whether profiles of runs have the times of kernels.
    """

    device: int | str = ""
    has_kernel_times: bool = True


class GpuAccModel(ModelContext):
    """GpuAcc's context of a network.

    Attributes:
        has_fast_math: Whether the driver's compiler may round otherwise than IEEE 754.
    """

    def __init__(self, options: Mapping[str, OptionValue]) -> None:
        """Check the options.

        Raises:
            InvalidArgumentError: One is not known, of a wrong type, or misses another.
        """
        super().__init__(options)
        given = _checked(options, _OF_MODEL, "a model")
        self.has_fast_math = bool(given.get(_FAST_MATH, False))
        path, is_saved = str(given.get(_FILE, "")), bool(given.get(_SAVE, False))
        if is_saved and not path:
            raise InvalidArgumentError(f"{_SAVE} of backend 'GpuAcc' needs {_FILE}: the file")
        if "\0" in path:
            raise InvalidArgumentError(
                f"the option {_FILE} of backend 'GpuAcc' is {path!r}: expected a path, which has "
                "no NUL character"
            )
        self._file = CachedFile(path, is_saved=is_saved) if path else None

    @property
    def programs(self) -> BlobStore | None:
        """Where programs are kept: a file that the options name, else where the host says."""
        return self.blobs if self._file is None else self._file


def runtime_options(options: Mapping[str, OptionValue]) -> RuntimeOptions:
    """Return the options of a runtime.

    Raises:
        InvalidArgumentError: One is not known, or of a wrong type.
    """
    given = _checked(options, _OF_RUNTIME, "a runtime")
    return RuntimeOptions(given.get(_DEVICE, ""), given.get(_KERNEL_PROFILING, True))


def _checked(
    options: Mapping[str, OptionValue], known: Mapping[str, tuple[type, ...]], whose: str
) -> dict[str, Any]:
    for name, value in options.items():
        if name not in known:
            reason = _NOT_HERE.get(_NOT_HERE_EITHER.get(name, name), "")
            others = {**_OF_RUNTIME, **_OF_MODEL}
            if not reason and name in others:
                reason = f"it is one of {'a model' if name in _OF_MODEL else 'a runtime'}"
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
