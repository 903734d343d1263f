# SPDX-License-Identifier: MIT
"""The answer to ``armnn`` without arguments."""

from __future__ import annotations

from textwrap import fill

from armnn.__about__ import __version__
from armnn._installing import FAST, REFERENCE, install_command
from armnn.backends import BackendState, CreationOptions
from armnn.backends.registry import BackendRegistry
from armnn.graph.text import printable
from armnn.parsing import installed_parsers

_BEGIN = """\
Begin with
  armnn run model.onnx --input x=picture.png --report   runs a model
  armnn inspect model.onnx                              shows its layers
  armnn bench model.onnx --against onnxruntime          measures its speed
  armnn doctor                                          tells what is missing

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
    # A terminal would break them inside of a name.
    folded = [fill(line, 79, subsequent_indent="  ", break_long_words=False) for line in lines]
    return printable("\n".join([*folded, "", _BEGIN]))
