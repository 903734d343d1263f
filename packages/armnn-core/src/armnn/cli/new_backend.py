# SPDX-License-Identifier: MIT
"""``armnn backends new``: writes a new backend's working distribution."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from armnn._installing import BUILD_COMMANDS, WHEELHOUSE
from armnn.errors import InvalidArgumentError
from armnn_backend_api import BACKEND_API_VERSION
from armnn_backend_api.names import fault_of_id

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable
    from pathlib import Path

SUFFIX = ".template"
"""What a template's name ends with, so that no tool takes it for the file that it becomes."""

Kind: TypeAlias = Literal["python", "native"]

PACKAGE = "package"
"""The folder among the templates that becomes the import package."""

_EXAMPLES = f"""\
examples:
  armnn backends new Acme --id AcmeNpu                    ./armnn-backend-acmenpu
  armnn backends new Acme --id AcmeNpu --output ~/src     ~/src/armnn-backend-acmenpu
  armnn backends new Acme --id AcmeNpu --native           in C

then, in the new folder:
  {BUILD_COMMANDS[0]}
  {BUILD_COMMANDS[1]}
  pytest && armnn backends
{WHEELHOUSE}.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``armnn backends new``."""
    parser = subparsers.add_parser(
        "new",
        help="write the distribution of a new backend",
        description="Write the distribution of a new backend: it installs, is found, adds tensors "
        "of float32 and passes the conformance kit for that.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("vendor", metavar="VENDOR", help="who makes it; letters and digits")
    parser.add_argument(
        "--id", required=True, help="what users name the backend by; letters and digits"
    )
    parser.add_argument(
        "--output", metavar="DIR", default=".", help="where its folder goes; default: here"
    )
    parser.add_argument(
        "--native", action="store_true", help="in C, on armnn/backend.h, instead of Python"
    )
    parser.set_defaults(handler=new_backend)


def new_backend(arguments: argparse.Namespace) -> int:
    """Write a distribution and say what to do with it."""
    kind: Kind = "native" if arguments.native else "python"
    from pathlib import Path  # late: only this action writes

    folder = write_backend(arguments.vendor, arguments.id, Path(arguments.output), kind)
    print(f"Wrote {folder}. Next:")
    for command in (f"cd {folder}", *BUILD_COMMANDS, "pytest && armnn backends"):
        print(f"  {command}")
    print(f"{WHEELHOUSE}.")
    return 0


def write_backend(vendor: str, backend_id: str, output: Path, kind: Kind = "python") -> Path:
    """Write the distribution of a backend.

    Args:
        vendor: Who makes it.
        backend_id: Its id.
        output: The folder in which the distribution's own folder is made.
        kind: What it is written in; "native" is C.

    Returns:
        The distribution's folder.

    Raises:
        InvalidArgumentError: The vendor or the id is none, or the folder exists.
    """
    for name, text in (("vendor", vendor), ("id", backend_id)):
        fault = fault_of_id(text)
        if fault:
            raise InvalidArgumentError(
                f"The {name} of a backend becomes part of file names: got {text!r}, {fault}."
            )
    values = _values(vendor, backend_id)
    folder = output / values["distribution"]
    if folder.exists():
        raise InvalidArgumentError(
            f"{str(folder)!r} exists already; name another folder with --output."
        )
    from importlib.resources import files  # late: the parser of the command needs none of this
    from string import Template

    templates = files("armnn.cli") / "templates"
    for parts, template in (*_templates(templates / "common"), *_templates(templates / kind)):
        path = folder.joinpath(*(values["package"] if p == PACKAGE else p for p in parts))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(Template(template.read_text("utf-8")).substitute(values), "utf-8")
    return folder


def _values(vendor: str, backend_id: str) -> Mapping[str, str]:
    """Return the values of the templates' placeholders."""
    import datetime

    lower = backend_id.lower()
    return {
        "vendor": vendor,
        "install_others": BUILD_COMMANDS[0],
        "install": BUILD_COMMANDS[1],
        "wheelhouse": WHEELHOUSE,
        "id": backend_id,
        "distribution": f"armnn-backend-{lower}",
        "package": f"armnn_backend_{lower}",
        "library": f"{vendor}_{backend_id}_backend.so",
        # What the templates need, not the newest there is: older cores take the backend as well.
        "api_version": f"{BACKEND_API_VERSION.major}.0",
        # The headers that the templates are written for; what is built needs api_version only.
        "header_version": str(BACKEND_API_VERSION),
        "api_major": str(BACKEND_API_VERSION.major),
        "api_minor": "0",
        "next_major": str(BACKEND_API_VERSION.major + 1),
        "year": str(datetime.datetime.now(datetime.UTC).year),
    }


def _templates(folder: Traversable) -> Iterator[tuple[tuple[str, ...], Traversable]]:
    """Yield each file's path in parts, with its template."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            for parts, template in _templates(entry):
                yield (entry.name, *parts), template
        elif entry.name.endswith(SUFFIX):
            yield (entry.name.removesuffix(SUFFIX),), entry
