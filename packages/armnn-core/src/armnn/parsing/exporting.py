# SPDX-License-Identifier: MIT
"""Networks to model files, by the installed exporters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from armnn import metadata
from armnn.arguments import closest, file_path, flag, instance, text
from armnn.errors import InvalidArgumentError, ModelFileError, NotInstalledError
from armnn.graph import Network
from armnn.installing import EXPORTERS, PARSERS, install_command

__all__ = ["GROUP", "export", "installed_exporters", "save"]

GROUP = "armnn.exporters"
"""The entry-point group: an entry's name is a file suffix, its value a function of a network that
returns the content of a file, as bytes or as pieces of it in their order."""

_ARMNN: Final = "armnn"


def installed_exporters() -> dict[str, metadata.EntryPoint]:
    """Return the exporters' entry points, the first of each suffix."""
    first: dict[str, metadata.EntryPoint] = {}
    for entry_point in metadata.entry_points(GROUP):
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
    return b"".join(_pieces(_exporter(suffix)(network)))


def save(
    network: Network,
    path: str | os.PathLike[str],
    *,
    for_arm_nn: str = "23.08",
    beyond_arm_nn: bool = False,
) -> None:
    """Write a network as an ``.armnn`` file, by the exporter of ``armnn-parser-armnn``.

    The format is that of Arm NN's serializer (``armnnSerializer::ISerializer``). A file for 23.08
    is read by newer versions too, one for 20.08 by all since 20.08 whose deserializer still knows
    weights as members.

    Args:
        network: The network; its constants are written as they are.
        path: The file; it is replaced once all is written.
        for_arm_nn: The oldest Arm NN that has to read it, "20.08" or "23.08".
        beyond_arm_nn: Whether layers, parameters and data types that Arm NN lacks are stored in an
            extension of armnn's own, which Arm NN reads as StandIn layers without a backend.

    Raises:
        NotStorableError: The network has layers or tensors that the format lacks; all are named.
        InvalidArgumentError: An argument is of another kind, or the file cannot be written.
        GraphError: The network has no output.
        NotInstalledError: No exporter is installed for ``.armnn`` files.
        ModelFileError: The exporter cannot be imported.
    """
    file = Path(file_path(path, "the path of the .armnn file"))
    pieces = _pieces(
        _exporter(_ARMNN)(
            instance(network, Network, "the network"),
            for_arm_nn=text(for_arm_nn, "for_arm_nn"),
            beyond_arm_nn=flag(beyond_arm_nn, "beyond_arm_nn"),
        )
    )
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as out:
            out.writelines(pieces)
        unfinished.replace(file)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InvalidArgumentError(
            f"the file {str(file)!r} cannot be written ({error.strerror}): choose a folder that "
            "exists and is yours to write"
        ) from error


def _pieces(content: bytes | Iterable[bytes]) -> Iterable[bytes]:
    return [content] if isinstance(content, bytes) else content


def _exporter(suffix: str) -> Callable[..., Any]:
    """Return the exporter of a suffix.

    Raises:
        NotInstalledError: None is installed.
        ModelFileError: It cannot be imported.
    """
    name = suffix.removeprefix(".").lower()
    installed = installed_exporters()
    if name not in installed:
        raise NotInstalledError(_no_exporter(name, list(installed)))
    entry_point = installed[name]
    try:
        exporter: Callable[..., Any] = entry_point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: a plug-in must not end the process
        raise ModelFileError(
            f"The exporter of .{name} files ({entry_point.distribution}) cannot be imported: "
            f"{type(error).__name__}: {error}; reinstall {entry_point.distribution.name}."
        ) from error
    return exporter


def _no_exporter(name: str, installed: list[str]) -> str:
    here = ", ".join(f".{each}" for each in installed) or "none"
    message = f"Cannot export a network as .{name}: no exporter for it is installed, of {here}"
    meant = closest(name, [*installed, *EXPORTERS])
    if meant is None:
        return f"{message}."
    if meant in installed:
        return f"{message}; did you mean .{meant}?"
    return (
        f"{message}; {PARSERS[meant]} writes .{meant}: {install_command(f'armnn-core[{meant}]')}."
    )
