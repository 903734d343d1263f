# SPDX-License-Identifier: MIT
"""``armnn verify``: compares today's setup with a record of ``armnn run --record FILE``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from armnn.backends import CreationOptions
from armnn.runtime import Difference, Record, verify
from armnn_tools.cli.options import (
    MODEL_HELP,
    add_board_argument,
    add_command,
    add_dynamic_path_argument,
    add_lock_file_argument,
    backend_ids,
    boards,
)
from armnn_tools.cli.output import print_json, printable, progress

_EXAMPLES = """\
examples:
  armnn run model.onnx --record record.json        what ran the model, where and why
  armnn verify record.json model.onnx              exit with 1 if anything differs today
  armnn verify record.json model.onnx --ignore device.system --ignore environment
  armnn verify record.json model.onnx --dynamic-backends-path /opt/acme --json
  armnn schema record                              the JSON Schema of a record
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn verify``."""
    parser = add_command(
        subparsers,
        "verify",
        summary,
        "Load a model as a record of execution says, run nothing, and show each item that differs "
        "today: model, versions, files, devices, options, environment, the backend of each layer. "
        "Exits with 1 if there is any.",
        _EXAMPLES,
        show_differences,
    )
    parser.add_argument(
        "record", metavar="FILE", help="what 'armnn run --record FILE' or model.record() wrote"
    )
    parser.add_argument("model", metavar="MODEL", help=MODEL_HELP)
    parser.add_argument(
        "--ignore",
        metavar="ITEM",
        action="append",
        default=[],
        help="leave out an item, or all below it, as in environment (may be repeated)",
    )
    group = parser.add_argument_group(
        "what the record may name, and only you may say, as code is run of it"
    )
    group.add_argument(
        "--backends",
        metavar="ID,...",
        type=backend_ids,
        action="extend",
        help="backends of other machines, as in ssh://user@board/CpuAcc",
    )
    add_dynamic_path_argument(group, "the folder with backends in shared libraries")
    add_board_argument(group)
    add_lock_file_argument(group)
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def show_differences(arguments: argparse.Namespace) -> int:
    """Show the differences from a record; return 1 if there are any.

    Raises:
        InvalidArgumentError: The record cannot be read, or names what an option has to give.
        ModelFileError: There is no such model.
    """
    recorded = Record.read(arguments.record)
    options = CreationOptions(
        backends=arguments.backends,
        dynamic_backends_path=arguments.dynamic_backends_path,
        lock_file=arguments.lock_file,
        boards=boards(arguments.board),
    )
    with progress(f"Verifying {arguments.model}"):
        found = verify(recorded, arguments.model, options)
    different = [each for each in found if not _is_ignored(each, arguments.ignore)]
    ignored = len(found) - len(different)
    if arguments.json:
        print_json(
            {
                "record": arguments.record,
                "model": arguments.model,
                "items": recorded.item_count,
                "ignored": ignored,
                "differences": [each.as_dict() for each in different],
            }
        )
        return 1 if different else 0
    for each in different:
        print(printable(str(each)))
    of = f"of {recorded.item_count} items"
    more = f", {ignored} ignored" if ignored else ""
    print(f"{len(different)} {of} differ{more}" if different else f"None {of} differs{more}")
    return 1 if different else 0


def _is_ignored(difference: Difference, items: Sequence[str]) -> bool:
    return any(difference.item == each or difference.item.startswith(f"{each}.") for each in items)
