# SPDX-License-Identifier: MIT
"""Networks to model files of other formats, by installed exporters."""

from __future__ import annotations

from collections.abc import Callable

from armnn import _metadata
from armnn._arguments import closest
from armnn._installing import PARSERS, install_command
from armnn.errors import ModelFileError, NotInstalledError
from armnn.graph import Network

__all__ = ["GROUP", "export", "installed_exporters"]

GROUP = "armnn.exporters"
"""The entry-point group: an entry's name is a file suffix, its value a function of a network that
returns the content of a file."""


def installed_exporters() -> dict[str, _metadata.EntryPoint]:
    """Return the exporters' entry points, the first of each suffix."""
    first: dict[str, _metadata.EntryPoint] = {}
    for entry_point in _metadata.entry_points(GROUP):
        first.setdefault(entry_point.name.lower(), entry_point)
    return dict(sorted(first.items()))


def export(network: Network, suffix: str = "onnx") -> bytes:
    """Return the content of a file with a network.

    Args:
        network: The network. All its shapes are known.
        suffix: The format, such as "onnx", which needs ``armnn-parser-onnx``.

    Raises:
        NotInstalledError: No exporter is installed for the suffix.
        ModelFileError: The exporter cannot be imported.
        NotExportableError: A layer has no counterpart in that format; the message names it.
        InvalidArgumentError: A shape is not known in full.
    """
    name = suffix.removeprefix(".").lower()
    installed = installed_exporters()
    if name not in installed:
        raise NotInstalledError(_no_exporter(name, list(installed)))
    entry_point = installed[name]
    try:
        exporter: Callable[[Network], bytes] = entry_point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a plug-in must not end the process
        raise ModelFileError(
            f"The exporter of .{name} files ({entry_point.distribution}) cannot be imported: "
            f"{type(error).__name__}: {error}; reinstall {entry_point.distribution.name}."
        ) from error
    return exporter(network)


def _no_exporter(name: str, installed: list[str]) -> str:
    here = ", ".join(f".{each}" for each in installed) or "none"
    message = f"Cannot export a network as .{name}: no exporter for it is installed, of {here}"
    meant = closest(name, [*installed, "onnx"])
    if meant is None:
        return f"{message}."
    if meant in installed:
        return f"{message}; did you mean .{meant}?"
    return (
        f"{message}; {PARSERS[meant]} writes .{meant}: {install_command(f'armnn-core[{meant}]')}."
    )
