# SPDX-License-Identifier: MIT
"""``armnn backends lock``: records which backends are trusted now."""

from __future__ import annotations

import argparse

from armnn.backends import CreationOptions
from armnn.backends.sources import sources_for
from armnn.cli.output import print_json, print_table, progress

_EXAMPLES = """\
examples:
  armnn backends lock                                          the default lock file
  armnn backends lock --dynamic-backends-path /opt/acme --output acme.lock

then, in Python:
  armnn.CreationOptions(require_locked=True, lock_file="acme.lock")
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``armnn backends lock``."""
    parser = subparsers.add_parser(
        "lock",
        help="write down the sha256 of every backend",
        description="Write a lock file: the sha256 of every shared library in the scanned "
        "folders, of the libraries mapped with each, and of the RECORD of every distribution of "
        "backends. Nothing is imported or opened. With CreationOptions(require_locked=True) "
        "nothing else is loaded.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--dynamic-backends-path",
        metavar="DIR",
        default=argparse.SUPPRESS,
        help="lock the shared libraries there",
    )
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="the lock file; default: backends.lock in the folder of your settings",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print JSON instead of a table",
    )
    parser.set_defaults(handler=lock_backends)


def lock_backends(arguments: argparse.Namespace) -> int:
    """Write the lock file and show what it lists.

    Raises:
        BackendUnavailableError: A folder was given and there is no loader to scan it.
        OSError: The file cannot be written.
    """
    from pathlib import Path  # late, both: only this action locks

    from armnn.backends.locking import Lock, default_lock_file

    options = CreationOptions(dynamic_backends_path=arguments.dynamic_backends_path)
    path = default_lock_file() if arguments.output is None else Path(arguments.output)
    with progress("Reading backends"):
        files = [path for each in sources_for(options) for path in each.source.files(options)]
        lock = Lock.made_now(path, files)
    lock.write()
    rows = [("file", path, "", sha256) for path, sha256 in lock.files.items()]
    rows += [
        ("distribution", name, version, sha256)
        for name, (version, sha256) in lock.distributions.items()
    ]
    if arguments.json:
        columns = ("kind", "name", "version", "sha256")
        locked = [dict(zip(columns, row, strict=True)) for row in rows]
        print_json({"lock_file": str(path), "locked": locked})
    else:
        print_table("", ["kind", "name", "version", "sha256"], rows)
        print(f"Wrote {path}")
    return 0
