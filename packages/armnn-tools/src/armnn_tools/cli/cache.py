# SPDX-License-Identifier: MIT
"""``armnn cache``: shows or clears a folder of prepared models."""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import Any, Final

from armnn.backends.cache import StaleEntryError
from armnn.errors import InvalidArgumentError
from armnn.storage.folder import (
    CacheEntry,
    KnownDigests,
    entries_of,
    limit_of,
    mapped,
    set_limit,
    trim,
    unpack,
)
from armnn_tools.cli.options import add_command
from armnn_tools.cli.output import print_json, print_table

_EXAMPLES = """\
examples:
  armnn cache ~/.cache/models                what it holds, the entry that goes next first
  armnn cache ~/.cache/models --limit 20G    how large it may become
  armnn cache ~/.cache/models --clear        remove all of it
"""

_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn cache``."""
    parser = add_command(
        subparsers,
        "cache",
        summary,
        "Show the prepared models in the folder of cache_dir= or --cache-dir, the one that was "
        "used least recently first. It goes first when a new one does not fit into the limit.",
        _EXAMPLES,
        show_cache,
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the cache")
    parser.add_argument(
        "--limit",
        metavar="SIZE",
        type=_size,
        help="how large the folder may become, such as 500M or 20G (default: 4G); kept in it",
    )
    parser.add_argument("--clear", action="store_true", help="remove all prepared models")
    parser.add_argument("--json", action="store_true", help="print the result as one JSON object")


def show_cache(arguments: argparse.Namespace) -> int:
    """Show, bound or clear a cache; return 0.

    Raises:
        InvalidArgumentError: There is no such folder.
        OSError: It cannot be read or changed.
    """
    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise InvalidArgumentError(
            f"There is no folder {str(folder)!r}: expected the folder of --cache-dir or cache_dir="
        )
    digests = KnownDigests(folder.absolute())
    if arguments.limit is not None:
        set_limit(folder, arguments.limit)
    removed = []
    if arguments.clear or arguments.limit is not None:
        removed = trim(folder.absolute(), digests, 0 if arguments.clear else None)
    entries = entries_of(folder.absolute(), digests)
    if arguments.json:
        print_json(
            {
                "folder": str(folder),
                "limit": limit_of(folder),
                "bytes": sum(each.size for each in entries),
                "entries": [{**each.as_dict(), "content": _content(each)} for each in entries],
                "removed": [each.as_dict() for each in removed],
            }
        )
        return 0
    if entries:
        rows = [(_content(each), _shown(each.size), _when(each.used_ns)) for each in entries]
        print_table("", ("prepared model", "size", "last used"), rows)
    total = sum(each.size for each in entries)
    print(f"{len(entries)} entries, {_shown(total)} of at most {_shown(limit_of(folder))}")
    if removed:
        print(f"removed {len(removed)} entries, {_shown(sum(each.size for each in removed))}")
    return 0


def _content(entry: CacheEntry) -> str:
    """Return the model and the shapes of an entry, or its fault."""
    try:
        header, _ = unpack(mapped(entry.path), is_known=True)
    except (StaleEntryError, OSError) as error:
        return f"not usable: {error}"
    facts: Any = header.get("facts")
    key: Any = header.get("key")
    name = facts.get("name") if isinstance(facts, dict) else None
    shapes = key[2:] if isinstance(key, list) else []
    return " ".join(map(str, [name or "a program", *shapes]))


def _size(text: str) -> int:
    """Return a size in bytes."""
    found = re.fullmatch(r"(\d{1,15})([KMGT]?)(i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size: expected 500M, 20G or bytes")
    return int(found[1]) * _UNITS[found[2].upper()]


def _shown(size: int) -> str:
    return f"{size / (1 << 20):,.1f} MiB"


def _when(used_ns: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(used_ns / 1e9))
