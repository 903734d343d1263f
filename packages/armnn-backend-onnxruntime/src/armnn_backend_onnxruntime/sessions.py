# SPDX-License-Identifier: MIT
"""Sessions of onnxruntime, made from a model's options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from armnn.backends import OptionValue
from armnn.errors import InvalidArgumentError
from armnn_backend_onnxruntime.devices import CPU, DEVICE, PACKAGE, device_of, devices
from armnn_backend_onnxruntime.library import onnxruntime

THREADS = "NumberOfThreads"
OPTIMIZATION = "GraphOptimization"
PROVIDER_OPTIONS = "ProviderOptions"
TRUST = "TrustResults"
OPTIONS = (DEVICE, THREADS, OPTIMIZATION, PROVIDER_OPTIONS, PACKAGE, TRUST)

_LEVELS: Final = {"none": "DISABLE_ALL", "basic": "ENABLE_BASIC", "extended": "ENABLE_EXTENDED"}
_ALL: Final = "all"

_FATAL: Final = 4
"""The severity from which on onnxruntime writes to the log; its errors are exceptions too."""


def check_options(options: Mapping[str, OptionValue]) -> None:
    """Check the options of a model.

    Raises:
        InvalidArgumentError: One is unknown or has no such value, or the device is not here.
    """
    unknown = sorted(options.keys() - set(OPTIONS))
    if unknown:
        raise InvalidArgumentError(
            f"backend 'OnnxRuntime' does not know the option {unknown[0]!r}: expected some of "
            f"{', '.join(OPTIONS)}."
        )
    threads = options.get(THREADS, 0)
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 0:
        raise _refused(THREADS, threads, "a whole number, 0 for onnxruntime's choice")
    level = options.get(OPTIMIZATION, _ALL)
    if level not in (*_LEVELS, _ALL):
        raise _refused(OPTIMIZATION, level, f"{', '.join(_LEVELS)} or {_ALL}")
    provider_options(options)
    device_of(options)


def make_session(
    content: bytes, options: Mapping[str, OptionValue], *, optimize: bool = True
) -> onnxruntime.InferenceSession:
    """Return a session with all nodes on the options' device.

    Args:
        content: An ONNX model.
        options: Checked options of a model.
        optimize: Whether to rewrite the graph; False to find out whether the device runs it.

    Raises:
        Exception: onnxruntime refused the model; its exceptions have no common class.
    """
    made = onnxruntime.SessionOptions()
    made.log_severity_level = _FATAL
    level = _LEVELS.get(str(options.get(OPTIMIZATION, _ALL)), "ENABLE_ALL")
    made.graph_optimization_level = getattr(
        onnxruntime.GraphOptimizationLevel, f"ORT_{level if optimize else 'DISABLE_ALL'}"
    )
    made.intra_op_num_threads = int(options.get(THREADS, 0)) if optimize else 1
    made.inter_op_num_threads = 1
    # Waiting threads would take the processor from the other backends' layers.
    made.add_session_config_entry("session.force_spinning_stop", "1")
    name, given = device_of(options), provider_options(options)
    if name == CPU:
        return onnxruntime.InferenceSession(content, made, providers=[CPU])
    made.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    device = devices()[name]
    if device is None:
        return onnxruntime.InferenceSession(content, made, providers=[(name, given)])
    made.add_provider_for_devices([device], given)
    return onnxruntime.InferenceSession(content, made)


def first_line(error: Exception) -> str:
    """Return onnxruntime's message in one line."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)


def provider_options(options: Mapping[str, OptionValue]) -> dict[str, str]:
    """Return the options of the execution provider.

    Raises:
        InvalidArgumentError: One has no value.
    """
    given = str(options.get(PROVIDER_OPTIONS, ""))
    pairs = [pair.partition("=") for pair in given.split(",") if pair.strip()]
    if any(not equals or not name.strip() for name, equals, _ in pairs):
        raise _refused(PROVIDER_OPTIONS, given, "pairs such as 'device_type=GPU,num_streams=2'")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _refused(name: str, got: object, expected: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"option {name} of backend 'OnnxRuntime' is {got!r}: expected {expected}."
    )
