# SPDX-License-Identifier: MIT
"""The answer to ``armnn`` without arguments."""

from __future__ import annotations

from armnn.__about__ import __version__
from armnn._installing import FAST, REFERENCE, install_command
from armnn.backends import BackendState, CreationOptions
from armnn.backends.registry import BackendRegistry
from armnn.graph.text import printable
from armnn.parsing import installed_parsers

_BEGIN = """\
Begin with
  armnn run model.onnx --input x=picture.png --report    a model, and where it ran
  armnn inspect model.onnx                               its inputs, outputs and layers
  armnn bench model.onnx --against onnxruntime           its speed, beside another runtime
  armnn doctor                                           why a backend or a format is missing

All commands: armnn --help. Options and examples: armnn COMMAND --help."""


def overview() -> str:
    """Return what is installed, and commands to begin with.

    No backend is loaded.
    """
    entries = BackendRegistry(CreationOptions()).entries()
    usable = [
        each.id for each in entries if each.state in (BackendState.KNOWN, BackendState.LOADED)
    ]
    others = len(entries) - len(usable)
    formats = sorted({f".{each.name}" for each in installed_parsers()})
    lines = [
        f"armnn-core {__version__} runs neural networks on backends that are pip packages.",
        "",
        f"Backends here: {', '.join(usable) or 'none'}"
        + (f", and {others} that cannot be used: armnn doctor" if others else ""),
        f"Formats here: {', '.join(formats) or 'none'}",
    ]
    if FAST not in usable or REFERENCE not in usable:
        lines.append(f"More backends and formats: {install_command('armnn-core[cpu]')}")
    return printable("\n".join([*lines, "", _BEGIN]))
