# SPDX-License-Identifier: MIT
"""Commands that install missing parts.

This is the only place that knows where armnn's wheels are.
"""

from __future__ import annotations

from typing import Final

from armnn._metadata import normalized

USUAL: Final = "armnn-core[cpu]"
"""The core with the usual backends and parsers."""

LOADER: Final = "armnn-dynamic-loader"
"""The distribution that brings backends which are files."""

REFERENCE: Final = "CpuRef"
"""The backend that defines what a layer computes."""

FAST: Final = "CpuAcc"
"""The backend for CPUs; examples name it."""

BACKENDS: Final = {
    REFERENCE: "armnn-backend-ref",
    FAST: "armnn-backend-neon",
    "Custom": "armnn-backend-custom",
    "OpenVino": "armnn-backend-openvino",
    "OnnxRuntime": "armnn-backend-onnxruntime",
}
"""The distributions of the backends by id, each an extra; no other module names a backend."""

PARSERS: Final = {"onnx": "armnn-parser-onnx", "tflite": "armnn-parser-tflite"}
"""The distributions that bring parsers of well-known suffixes; the suffixes are extras, too."""

WHEELHOUSE: Final = (
    "WHEELHOUSE is the folder of wheels that './nox -s wheelhouse' makes in a checkout of armnn"
)
"""Where the value of the option comes from."""

# An index might have a stranger's distribution of the same name and a higher version.
_FROM_WHEELHOUSE: Final = "--no-index --find-links WHEELHOUSE"

BUILD_COMMANDS: Final = (
    "pip install -r WHEELHOUSE/requirements.txt pytest hatchling editables",
    f'pip install {_FROM_WHEELHOUSE} --no-build-isolation -e ".[test]"',
)
"""What installs a backend from its sources: others' packages come first, as only they are in an
index. For an isolated build pip would look there, too."""

COMPANIONS: Final = ("armnn-compat", "armnn-conformance")
"""The stand-ins for other run times, and the conformance kit."""

_OURS = (
    "armnn-core",
    "armnn-backend-api",
    LOADER,
    *BACKENDS.values(),
    *PARSERS.values(),
    *COMPANIONS,
)


def install_command(requirement: str) -> str:
    """Return the command that installs one of armnn's distributions.

    Args:
        requirement: Its name, with extras or a version where these matter.
    """
    return f"pip install {_FROM_WHEELHOUSE} {_quoted(requirement)} ({WHEELHOUSE})"


def reinstall_command(distribution: str) -> str:
    """Return the command that reinstalls a distribution.

    It works for distributions of any maker.
    """
    if normalized(distribution) not in _OURS:
        return f"pip install --force-reinstall {distribution}"
    return (
        f"pip install --force-reinstall --no-deps {_FROM_WHEELHOUSE} {distribution} ({WHEELHOUSE})"
    )


def _quoted(requirement: str) -> str:
    """Return a requirement as a shell takes it."""
    return f'"{requirement}"' if "[" in requirement else requirement
