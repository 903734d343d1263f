# SPDX-License-Identifier: MIT
"""Compares the reader of ONNX files with Protocol Buffers.

It reads models, ONNX's node tests, and damaged files. Both have to refuse a file, or to read the
same fields; fields that the reader does not declare are unknown to Protocol Buffers, too. The
reader may refuse one more kind: files with names that are not text. It reads each model twice: in
memory, and in a file by windows of a few bytes, in which fields of a few bytes are left as if they
were large. Mutants are numbered as for the other fuzzers; all are read in one process, which may
grow by 1 GiB.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # type: ignore[import-untyped]  # has no annotations
from google.protobuf.descriptor import Descriptor  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]

from armnn.errors import ParseError
from armnn_parser_onnx import protobuf
from armnn_parser_onnx.messages import Model
from armnn_parser_onnx.model_file import read_message
from armnn_parser_onnx.protobuf import SourceFile, Span
from tools.fuzz.mutants import Mutants
from tools.fuzz.seeds_onnx import node_tests
from tools.models.fetch import MODELS, default_cache, fetch

MEMORY = 2**30
"""How many bytes the process may grow by."""

TINY = 32
"""Bytes of a field from which on it counts as large, so that small files have large fields."""


def message_kinds() -> list[tuple[type[protobuf.Message], Descriptor]]:
    """Return each message class of the reader with its description in the package ``onnx``."""
    found: dict[str, tuple[type[protobuf.Message], Descriptor]] = {}
    waiting: list[tuple[type[protobuf.Message], Descriptor]] = [(Model, onnx.ModelProto.DESCRIPTOR)]
    while waiting:
        ours, theirs = waiting.pop()
        if theirs.full_name not in found:
            found[theirs.full_name] = ours, theirs
            waiting += [
                (ours.kind_of(ours.FIELDS[field.name]), field.message_type)
                for field in theirs.fields
                if field.name in ours.FIELDS and field.message_type is not None
            ]
    return list(found.values())


def _model_proto() -> Any:
    """Return Protocol Buffers' class of models without the fields that the reader lacks."""
    declared = {theirs.full_name: ours.FIELDS for ours, theirs in message_kinds()}
    file = descriptor_pb2.FileDescriptorProto()
    onnx.ModelProto.DESCRIPTOR.file.CopyToProto(file)

    def prune(kinds: Iterable[Any], scope: str) -> None:
        for kind in kinds:
            name = f"{scope}.{kind.name}"
            fields = [each for each in kind.field if each.name in declared.get(name, ())]
            if name in declared and len(fields) < len(kind.field):
                del kind.field[:]
                kind.field.extend(fields)
            prune(kind.nested_type, name)

    prune(file.message_type, file.package)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{file.package}.ModelProto"))


MODEL_PROTO = _model_proto()


def verdict(data: bytes) -> str:
    """Return "same", "both refuse", "no text", or the difference.

    It is that of the reader in memory and in a file; where they differ, the text says so.
    """
    try:
        theirs = MODEL_PROTO.FromString(data)
    except DecodeError:
        theirs = None
    in_memory = _verdict(Span(data, 0, len(data)), theirs)
    file = file_of(data)
    with tiny_windows():
        in_file = _verdict(Span(file, 0, file.size()), theirs)
    return in_memory if in_memory == in_file else f"in memory: {in_memory}; in a file: {in_file}"


def file_of(data: bytes) -> SourceFile:
    """Return a file of these bytes, which no folder has."""
    descriptor = os.memfd_create("mutant")
    os.write(descriptor, data)
    return SourceFile(os.fdopen(descriptor, "rb"))


@contextmanager
def tiny_windows() -> Iterator[None]:
    """Read files as if each were a thousand times larger."""
    windows: dict[str, Any] = {"_FIRST_WINDOW": 12, "_LARGEST_WINDOW": 100}
    with patch.multiple(protobuf, LARGE=TINY, **windows):
        yield


def _verdict(span: Span, theirs: Message | None) -> str:
    ours = Model.at(span, "mutant")
    try:
        ours.check()
    except ParseError as error:
        if theirs is None:
            return "both refuse"
        return "no text" if "UTF-8" in str(error) else f"only ours refuses: {error}"
    return "only theirs refuses" if theirs is None else difference(ours, theirs) or "same"


def difference(ours: Any, theirs: Message, place: str = "model") -> str:
    """Return the first field that both declare and whose value differs, "" without one.

    Args:
        ours: A message of the reader.
        theirs: The same message, decoded by Protocol Buffers.
        place: What the message is called.
    """
    for field in theirs.DESCRIPTOR.fields:
        if field.name not in ours.FIELDS:
            continue
        mine, other = getattr(ours, field.name), getattr(theirs, field.name)
        where = f"{place}.{field.name}"
        if field.message_type is not None:
            if field.is_repeated:
                pairs = list(zip(mine, other, strict=False))
                same = len(mine) == len(other)
            else:
                pairs = [] if mine is None else [(mine, other)]
                same = (mine is not None) == theirs.HasField(field.name)
            inner = (difference(*pair, f"{where}[{i}]") for i, pair in enumerate(pairs))
            found = next(filter(None, inner), "") if same else where
        elif field.is_repeated:
            found = "" if _same_numbers(mine, other) else where
        else:
            found = "" if _same_value(mine, other, field.default_value) else where
        if found:
            return found
    return ""


def _same_numbers(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, np.ndarray):
        return np.array_equal(ours, np.array(theirs, ours.dtype), ours.dtype.kind == "f")
    pairs = zip(ours, theirs, strict=False)
    return len(ours) == len(theirs) and all(a == b or (a != a and b != b) for a, b in pairs)


def _same_value(ours: Any, theirs: Any, default: Any) -> bool:
    if isinstance(ours, Span):
        ours = ours.read("the data")
    if isinstance(ours, str) and isinstance(theirs, bytes):
        theirs = theirs.decode("utf-8", "replace")  # as notes for people are read
    value = default if ours is None else ours
    return bool(value == theirs or (value != value and theirs != theirs))


def main() -> int:
    """Compare mutants; return 1 if one is read differently."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("models", nargs="*", type=Path, help="valid files to read, too")
    arguments.add_argument("--public", action="store_true", help="read the catalog's models, too")
    arguments.add_argument("--mutants", type=int, default=100_000, help="how many (100000)")
    arguments.add_argument("--first", type=int, default=0, help="the number of the first one (0)")
    arguments.add_argument("--seed", type=int, default=0, help="another one makes other mutants")
    options = arguments.parse_args()
    different = [*whole_files([*options.models, *(public_models() if options.public else ())])]
    for name, found in different:
        print(f"  {name}: {found}")
    mutants = Mutants("onnx", options.seed)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    counts: Counter[str] = Counter()
    for number in range(options.first, options.first + options.mutants):
        found = verdict(mutants[number])
        counts[found if found in _CLEAN else "different"] += 1
        if found not in _CLEAN:
            print(f"  mutant {number}: {found}")
    listed = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
    print(f"onnx reader: {options.mutants} mutants: {listed}")
    return int(counts["different"] > 0 or bool(different))


def public_models() -> Iterator[Path]:
    """Yield the paths of the catalog's models."""
    for name, model in MODELS.items():
        if model.suffix == ".onnx":
            yield fetch(name, default_cache())


def whole_files(paths: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield name and verdict of valid files read differently.

    They are ONNX's node tests and the given models.
    """
    count = 0
    for name, data in node_tests():
        count += 1
        found = verdict(data)
        if found != "same":
            yield name, found
    for path in paths:
        theirs = MODEL_PROTO.FromString(path.read_bytes())
        for source in (path, path.read_bytes()):
            found = difference(read_message(source)[0], theirs)
            if found:
                yield str(path), found
        count += 1
    print(f"onnx reader: {count} whole files")


_CLEAN = ("same", "both refuse", "no text")


if __name__ == "__main__":
    sys.exit(main())
