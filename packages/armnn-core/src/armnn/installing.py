# SPDX-License-Identifier: MIT
"""Distributions beside the core: commands that install them, and modules that they have for it.

This is the only place that knows where armnn's wheels are.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_loader
from types import CodeType, ModuleType
from typing import Final

from armnn.errors import NotInstalledError
from armnn.metadata import entry_points, normalized

CPU_EXTRA: Final = "armnn-core[cpu]"
"""The core with the backends for CPUs, the parsers and the command."""

LOADER: Final = "armnn-dynamic-loader"
"""The distribution that brings backends which are files."""

TOOLS: Final = "armnn-tools"
"""The distribution that brings the command ``armnn``."""

CPU_REF: Final = "CpuRef"
"""The backend that defines what a layer computes."""

CPU_ACC: Final = "CpuAcc"
"""The backend for CPUs; examples name it."""

BACKENDS: Final = {
    CPU_REF: "armnn-backend-ref",
    CPU_ACC: "armnn-backend-neon",
    "GpuAcc": "armnn-backend-cl",
    "Custom": "armnn-backend-custom",
    "OpenVino": "armnn-backend-openvino",
    "OnnxRuntime": "armnn-backend-onnxruntime",
}
"""The distributions of the backends by id, each an extra; no other module names a backend."""

PARSERS: Final = {
    "armnn": "armnn-parser-armnn",
    "onnx": "armnn-parser-onnx",
    "tflite": "armnn-parser-tflite",
}
"""The distributions that bring parsers of well-known suffixes; the suffixes are extras, too."""

EXPORTERS: Final = ("armnn", "onnx")
"""The suffixes that such a distribution also writes."""

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
"""The commands that install a backend from its sources. Others' packages come first, as only they
are in an index. For an isolated build pip would look there, too."""

COMPANIONS: Final = ("armnn-compat", "armnn-conformance", "armnn-generate")
"""The stand-ins for other run times, the conformance kit, and text generation."""

_OURS = (
    "armnn-core",
    "armnn-backend-api",
    LOADER,
    TOOLS,
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


CONFORMANCE: Final = "armnn_conformance"
"""The package of the conformance kit."""

FORMER: Final = {"armnn.compat": "armnn_compat", "armnn.testing": CONFORMANCE}
"""The packages of these distributions, by the names that they had in the core; until core 2.0."""

TOOLS_GROUP: Final = "armnn.tools"
"""The entry-point group of modules that the core has under its own names where armnn-tools is
installed: the entry ``debugging`` is ``armnn.debugging``, ``command`` is ``python -m armnn``."""


def import_companion(package: str, module: str, what: str) -> ModuleType:
    """Import a module of such a distribution.

    Args:
        package: Its package.
        module: The name of the module in there, "" for the package itself.
        what: The subject that needs it, for the error.

    Raises:
        NotInstalledError: The distribution is not installed.
    """
    name = f"{package}.{module}" if module else package
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise _not_installed(what, package.replace("_", "-")) from None


def import_tool(name: str, what: str) -> ModuleType:
    """Import a module of armnn-tools.

    Args:
        name: The name of its entry point.
        what: The subject that needs it, for the error.

    Raises:
        NotInstalledError: The distribution is not installed.
    """
    for entry in entry_points(TOOLS_GROUP):
        if entry.name == name:
            return import_module(entry.module)
    raise _not_installed(what, TOOLS)


def _not_installed(what: str, distribution: str) -> NotInstalledError:
    return NotInstalledError(
        f"{what} needs {distribution}, which is not installed: {install_command(distribution)}."
    )


_forwarded: dict[str, str] = {}
"""The packages that are there under names of the core, by these names."""


def forward(name: str) -> None:
    """Make a module of the core mean the package of another distribution.

    Args:
        name: The module: a key of :data:`FORMER`, or one that armnn-tools has an entry point for.

    Raises:
        NotInstalledError: The distribution is not installed.
    """
    if name in FORMER:
        found = import_companion(FORMER[name], "", name)
    else:
        found = import_tool(name.removeprefix("armnn."), name)
    sys.modules[name] = found
    _forwarded[name] = found.__name__
    if not any(isinstance(finder, _ForwardedNames) for finder in sys.meta_path):
        sys.meta_path.insert(0, _ForwardedNames())


class _ForwardedNames(MetaPathFinder):
    """Finds ``armnn.testing.cases`` as ``armnn_conformance.cases``, the same module."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = ".".join(fullname.split(".")[:2])
        if name not in _forwarded or fullname == name:
            return None
        found = find_spec(_forwarded[name] + fullname.removeprefix(name))
        if found is None:
            return None
        spec = spec_from_loader(fullname, _SameModule(found), origin=found.origin)
        if spec is not None:
            spec.submodule_search_locations = found.submodule_search_locations
        return spec


class _SameModule(Loader):
    """Loads the module of another name, also for ``python -m``."""

    def __init__(self, found: ModuleSpec) -> None:
        self._found = found

    def create_module(self, _spec: ModuleSpec) -> ModuleType:
        return import_module(self._found.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._found  # the import system has put the spec of the old name there

    def get_code(self, _name: str) -> CodeType | None:
        loader = self._found.loader
        # The type of a spec's loader does not have this optional method.
        code: CodeType | None = getattr(loader, "get_code")(self._found.name)  # noqa: B009
        return code
