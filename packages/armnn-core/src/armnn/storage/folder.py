# SPDX-License-Identifier: MIT
"""The folder of a cache: one mapped file per key, stamps of files, and a limit of the size.

An entry is a file: magic (8 bytes), version (uint32), CRC-32 of the header (uint32), size of the
header (uint64), little-endian; the header as JSON; each block, of the size that "sizes" of the
header says, at the next multiple of 64, or of 4096 if it is large; the sha256 of everything before.
A file is mapped, and its blocks are read where they are; hashing all of it brings all of it into
memory. So a reader that knows already that the file is what was written checks the header only, by
its CRC.

Hashing a model of 100 MB takes longer than everything else that loading it from a cache takes, and
brings all of it into memory. So the digest of a file is kept with its stamp: device, inode, size,
and the times of the last change of content (mtime) and of anything (ctime), in nanoseconds. No
program can set the ctime, so a file with another content has another stamp, but where two changes
fall into one tick of the clock of the file system: a digest that was computed so soon after a
change is computed again the next time.

An entry counts as used when it is written and when it is read, which the file of its stamp
remembers: the times of the entry are those of its content, and few file systems keep times of
reads.
"""

from __future__ import annotations

import contextlib
import json
import logging
import mmap
import os
import stat
import struct
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, Final, TypeAlias
from zlib import crc32

from armnn._files import file_sha256
from armnn._load_times import stage
from armnn.backends import ProfilingSink
from armnn.backends.cache import Block, Entry, GrowingBlock, ProgramCache, StaleEntryError
from armnn.errors import InvalidArgumentError

_Stamp: TypeAlias = tuple[int, ...]
"""The facts that change with a file; empty without one."""

STAMP_SUFFIX: Final = ".armnn-stamp"

_TICK_NS: Final = 50_000_000
_COARSE_TICK_NS: Final = 2_000_000_000
"""The step of time stamps on file systems of whole seconds; FAT has two of them."""


def stamp_of(path: str | PathLike[str]) -> _Stamp:
    """Return the stamp of a file; empty without one."""
    try:
        return stamp_in(os.stat(path))
    except OSError:
        return ()


def stamp_in(status: os.stat_result) -> _Stamp:
    """Return the stamp in a file's status."""
    times = status.st_mtime_ns, status.st_ctime_ns
    return status.st_dev, status.st_ino, status.st_size, *times


def is_settled(stamp: _Stamp, now_ns: int) -> bool:
    """Return whether a change after ``now_ns`` changes the stamp."""
    changed = max(stamp[-2:])
    tick = _TICK_NS if changed % 1_000_000_000 else _COARSE_TICK_NS
    return now_ns - changed > tick


class KnownDigests:
    """The digests that a folder keeps, one small file each."""

    def __init__(self, folder: str | PathLike[str]) -> None:
        """Keep digests in a folder of its owner's."""
        self._folder = os.fspath(folder)

    def of(self, path: str | PathLike[str]) -> str:
        """Return the sha256 of a file, known or computed.

        Raises:
            OSError: It cannot be read.
        """
        known = self.known(path)
        if known:
            return known
        now, stamp = time.time_ns(), stamp_of(path)
        with stage("verify"):
            digest = file_sha256(path)
        self.keep(path, stamp, digest, now)
        return digest

    def known(self, path: str | PathLike[str]) -> str:
        """Return the sha256 of an unchanged file, else ""."""
        try:
            with open(self._record(path), "rb") as file:
                stored = file.read().decode("ascii").split(maxsplit=6)
            *numbers, digest, name = stored
        except (OSError, ValueError):
            return ""
        is_same = name == ascii(str(path)) and [str(each) for each in stamp_of(path)] == numbers
        return digest if is_same else ""

    def keep(self, path: str | PathLike[str], stamp: _Stamp, digest: str, now_ns: int) -> None:
        """Keep a digest computed after ``now_ns``, if it is certain."""
        if stamp_of(path) != stamp or not stamp or not is_settled(stamp, now_ns):
            return
        record = self._record(path)
        folder, name = os.path.split(record)
        written = os.path.join(folder, f".{name}.{os.getpid()}")
        text = " ".join([*map(str, stamp), digest, ascii(str(path))])
        try:
            with open(written, "wb") as file:
                file.write(text.encode("ascii"))
            os.replace(written, record)
        except OSError:  # a full disk or a read-only folder: it is computed again
            with contextlib.suppress(OSError):
                os.unlink(written)

    def touch(self, path: str | PathLike[str]) -> None:
        """Note that a file of known digest is used."""
        with contextlib.suppress(OSError):  # a read-only folder
            os.utime(self._record(path))

    def used_ns(self, path: str | PathLike[str]) -> int:
        """Return when a file was last used, 0 if unknown."""
        try:
            return os.stat(self._record(path)).st_mtime_ns
        except OSError:
            return 0

    def forget(self, path: str | PathLike[str]) -> None:
        """Drop the digest of a file that is gone."""
        with contextlib.suppress(OSError):
            os.unlink(self._record(path))

    def _record(self, path: str | PathLike[str]) -> str:
        return os.path.join(self._folder, f"{_file_name(str(path))}{STAMP_SUFFIX}")


def _file_name(text: str) -> str:
    """Return a file name for a text.

    It is a checksum, as importing OpenSSL takes longer than reading a small model: what is in the
    file says whose it is.
    """
    data = text.encode("utf-8", "surrogateescape")
    return f"{crc32(data):08x}{crc32(data[::-1]):08x}{len(data):04x}"


SUFFIX: Final = ".armnn-prepared"
_WRITING: Final = ".writing-"
"""How the name of a file begins that is not complete."""

MAGIC: Final = b"\x89ARMNNS\n"
VERSION: Final = 5
HEADER_LIMIT: Final = 1 << 26

_PREFIX: Final = struct.Struct("<8sIIQ")
_ALIGNMENT: Final = 64
PAGE: Final = 4096
"""The number that divides the offset of a large block, so that its pages can be mapped again."""

_LARGE: Final = 1 << 16

_DIGEST_SIZE: Final = sha256().digest_size
_HASHED: Final = 1 << 24
_UNNEEDED: Final = getattr(mmap, "MADV_DONTNEED", None)  # of Linux


def pack(header: Mapping[str, Any], blocks: Sequence[Block]) -> Iterator[bytes | memoryview]:
    """Yield a file in pieces; the last is its sha256."""
    digest = sha256()
    for piece in _content(header, blocks):
        digest.update(piece)
        yield piece
    yield digest.digest()


def _content(header: Mapping[str, Any], blocks: Sequence[Block]) -> Iterator[bytes | memoryview]:
    sizes = [
        block.size if isinstance(block, GrowingBlock) else sum(map(len, block)) for block in blocks
    ]
    text = json.dumps({**header, "sizes": sizes}).encode()
    yield _PREFIX.pack(MAGIC, VERSION, crc32(text), len(text))
    yield text
    end = _PREFIX.size + len(text)
    for block, size in zip(blocks, sizes, strict=True):
        begin = _begin(end, size)
        yield bytes(begin - end)
        yield from block
        end = begin + size


def _begin(end: int, size: int) -> int:
    """Return the offset of the block behind an end, aligned."""
    return end + -end % (_ALIGNMENT if size < _LARGE else PAGE)


def digest_of(data: memoryview) -> str:
    """Return the sha256 that is stored in a file."""
    return bytes(data[-_DIGEST_SIZE:]).hex()


class OtherFormatError(StaleEntryError):
    """A file was written by a core with another version of the format."""


def unpack(data: memoryview, *, is_known: bool = False) -> Entry:
    """Return header and blocks of a file, without copying.

    Args:
        data: The file.
        is_known: Whether its sha256 was checked since it changed last. Every offset is checked
            nevertheless.

    Raises:
        OtherFormatError: Another core wrote it.
        StaleEntryError: It is not what :func:`pack` writes, byte by byte.
    """
    body = data[:-_DIGEST_SIZE]
    if len(body) < _PREFIX.size:
        raise StaleEntryError(f"it has {len(data)} bytes, expected more")
    magic, version, checksum, size = _PREFIX.unpack_from(body)
    if (magic, version) != (MAGIC, VERSION):
        kind = OtherFormatError if magic == MAGIC else StaleEntryError
        raise kind(f"it is {magic!r} of version {version}, expected {MAGIC!r}, {VERSION}")
    with stage("verify"):
        is_intact = is_known or _sha256_of(body) == digest_of(data)
    if not is_intact:
        raise StaleEntryError("its sha256 is not that of its content")
    end = _PREFIX.size + size
    if size > HEADER_LIMIT or end > len(body):
        raise StaleEntryError(f"its header has {size} bytes, and the file {len(data)}")
    text = bytes(body[_PREFIX.size : end])
    if crc32(text) != checksum:
        raise StaleEntryError("the CRC-32 of its header is not that of its content")
    try:
        header = json.loads(text.decode())
        sizes = [int(each) for each in header.pop("sizes")]
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise StaleEntryError(f"its header cannot be read: {error!r}") from error
    blocks = []
    for each in sizes:
        start = _begin(end, each)
        end = start + each
        if each < 0 or end > len(body):
            raise StaleEntryError(f"a block of {each} bytes does not fit into its {len(data)}")
        blocks.append(body[start:end])
    if end != len(body):
        raise StaleEntryError("something follows its last block")
    return header, blocks


def _sha256_of(data: memoryview) -> str:
    """Return the sha256 of mapped data, of which nothing stays in the memory of the process."""
    digest = sha256()
    for start in range(0, len(data), _HASHED):
        digest.update(data[start : start + _HASHED])
        if isinstance(data.obj, mmap.mmap) and _UNNEEDED is not None:
            data.obj.madvise(_UNNEEDED)
    return digest.hexdigest()


_DEFAULT_LIMIT: Final = 4 << 30
"""Bytes of a folder that has no limit of its own."""

ABANDONED_NS: Final = 3600 * 10**9
"""Age of a file that is being written from which on its process is taken for dead."""

_LIMIT: Final = "armnn-cache-limit"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """A prepared model, or a program, in a cache folder.

    Attributes:
        path: Its file.
        size: In bytes.
        used_ns: When it was last written or read, in nanoseconds since 1970.
    """

    path: Path
    size: int
    used_ns: int

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as data for JSON."""
        return {"file": self.path.name, "bytes": self.size, "used": self.used_ns / 1e9}


def limit_of(folder: Path) -> int:
    """Return the bytes that a cache folder may have."""
    try:
        return int((folder / _LIMIT).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return _DEFAULT_LIMIT


def set_limit(folder: Path, limit: int) -> None:
    """Set the bytes that a cache folder may have.

    Raises:
        InvalidArgumentError: The limit is negative.
        OSError: It cannot be stored.
    """
    if limit < 0:
        raise InvalidArgumentError(f"the limit of a cache is {limit} bytes: expected 0 or more")
    (folder / _LIMIT).write_text(f"{limit}\n", encoding="ascii")


def entries_of(folder: Path, digests: KnownDigests) -> list[CacheEntry]:
    """Return the entries of a folder, least recently used first.

    Raises:
        OSError: It cannot be listed.
    """
    found = []
    for path in folder.iterdir():
        if path.suffix == SUFFIX:
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                status = path.stat()
                used = max(status.st_mtime_ns, digests.used_ns(path))
                found.append(CacheEntry(path, status.st_size, used))
    return sorted(found, key=lambda each: (each.used_ns, each.path))


def trim(
    folder: Path, digests: KnownDigests, limit: int | None = None, written: Path | None = None
) -> list[CacheEntry]:
    """Remove the entries used least recently, until the rest fits.

    Processes that have one mapped keep it. Files that a dead process was writing go, too.

    Args:
        folder: The folder of a cache.
        digests: The digests of its files.
        limit: The bytes that it may have; by default :func:`limit_of`.
        written: An entry that stays.

    Returns:
        The entries that were removed.

    Raises:
        OSError: An entry cannot be removed.
    """
    limit = limit_of(folder) if limit is None else limit
    _remove_abandoned(folder)
    entries = entries_of(folder, digests)
    excess = sum(each.size for each in entries) - limit
    removed = []
    for each in entries:
        if excess <= 0:
            break
        if each.path != written:
            each.path.unlink(missing_ok=True)
            digests.forget(each.path)
            removed.append(each)
            excess -= each.size
    return removed


def _remove_abandoned(folder: Path) -> None:
    latest = time.time_ns() - ABANDONED_NS
    for path in folder.glob(f"{_WRITING}*"):
        with contextlib.suppress(FileNotFoundError):
            if os.lstat(path).st_mtime_ns < latest:
                path.unlink()


_PIECE: Final = 1 << 20


class FileBlock(GrowingBlock):
    """A block in a file, once it is large.

    The file has no name and goes with the block.
    """

    def __init__(self, folder: str) -> None:
        """Begin without bytes, and without a file in the folder."""
        super().__init__()
        self._folder = folder
        self._file: BinaryIO | None = None

    def append(self, piece: bytes | memoryview) -> None:
        """Write further bytes.

        Raises:
            OSError: There is no room for them.
        """
        if self._file is None and self.size + len(piece) > _PIECE:
            self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115  # it goes with the block
            self._file.writelines(self._pieces)
            self._pieces.clear()
        if self._file is None:
            super().append(piece)
        else:
            self._file.write(piece)
            self.size += len(piece)

    def __iter__(self) -> Iterator[bytes]:
        """Yield all of them; several threads may read them."""
        if self._file is None:
            yield from self._pieces
            return
        self._file.flush()
        for start in range(0, self.size, _PIECE):
            yield os.pread(self._file.fileno(), _PIECE, start)

    def __del__(self) -> None:
        """Close the file, if there is one."""
        if self._file is not None:
            self._file.close()


_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_log = logging.getLogger("armnn.backends.cache")  # the name that applications know


class CacheFolder(ProgramCache):
    """The folder of ``load_model(cache_dir=...)``; several processes may share it.

    Attributes:
        digests: The digests of the files in it, and of models.
        notes: The outcome of each program, in words, in the order in which they were asked for.
    """

    def __init__(self, folder: str | PathLike[str], profiler: ProfilingSink | None = None) -> None:
        """Use a folder, which is made if it is missing.

        Args:
            folder: Programs in it are handed to native code, so only its owner may write to it.
            profiler: Gets an event per program.

        Raises:
            InvalidArgumentError: It cannot be made, or others may write to it.
        """
        given = os.fspath(folder)
        self._folder = given if os.path.isabs(given) else os.path.join(os.getcwd(), given)
        self.digests = KnownDigests(self._folder)
        self.notes: list[str] = []
        self._profiler = profiler
        try:
            mode = _made(self._folder).st_mode
        except OSError as error:
            raise InvalidArgumentError(
                f"{self._folder!r} cannot be a cache folder: {error.strerror}"
            ) from error
        if mode & _OTHERS_MAY_WRITE:
            raise InvalidArgumentError(
                f"{self._folder!r} cannot be a cache folder: others may write to it (mode "
                f"{stat.S_IMODE(mode):o}), expected its owner only; fix: chmod go-w"
            )

    @property
    def folder(self) -> Path:
        """Where it is."""
        return Path(self._folder)

    def read(self, *key: str) -> Entry | None:
        """Return the entry under a key; see :meth:`ProgramCache.read`.

        Its sha256 is checked when the file is read for the first time since it changed.
        """
        with stage("read"):
            return self._read(key)

    def _read(self, key: tuple[str, ...]) -> Entry | None:
        path = self._path(key)
        now, stamp = time.time_ns(), stamp_of(path)
        data = self._bytes(path)
        if data is None:
            return None
        is_known = bool(data) and self.digests.known(path) == digest_of(data)
        header, blocks = unpack(data, is_known=is_known)
        if header.pop("key", None) != list(key):
            raise StaleEntryError("it is the entry of another key")
        if is_known:
            self.digests.touch(path)
        else:
            self.digests.keep(path, stamp, digest_of(data), now)
        return header, blocks

    def write(self, header: Mapping[str, Any], blocks: Sequence[Block], *key: str) -> None:
        """Store an entry under a key; see :meth:`ProgramCache.write`."""
        try:
            path = self._path(key)
            write_file(path, pack({**header, "key": key}, blocks))
            self._trim(path)
        except OSError as error:
            _log.warning("a prepared model cannot be stored: %s", error)

    def block(self) -> GrowingBlock:
        """Return a block; see :meth:`ProgramCache.block`."""
        return FileBlock(self._folder)  # other folders may be in memory

    def _trim(self, written: str) -> None:

        for each in trim(self.folder, self.digests, written=Path(written)):
            _log.info("%s goes from the cache: %d bytes", each.path.name, each.size)

    def note(self, backend_id: str, layers: str, outcome: str, start_ns: int) -> None:
        """Record an outcome; see :meth:`ProgramCache.note`."""
        text = f"{backend_id}: {layers}: {outcome}"
        self.notes.append(text)
        _log.info("%s", text)
        if self._profiler is not None:
            end = time.perf_counter_ns()
            self._profiler.event(
                "cache", start_ns, end, category="cache", backend=backend_id, outcome=outcome
            )

    def _bytes(self, path: str) -> memoryview | None:
        try:
            return mapped(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            _log.warning("a prepared model cannot be read: %s", error)
            return None

    def _path(self, key: tuple[str, ...]) -> str:
        return os.path.join(self._folder, _file_name("\0".join(key)) + SUFFIX)


def _made(folder: str) -> os.stat_result:
    """Return the status of a folder, made if missing."""
    try:
        return os.stat(folder)
    except FileNotFoundError:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.stat(folder)


def mapped(path: str | PathLike[str]) -> memoryview:
    """Map a file; only pages that are read come into memory.

    Raises:
        OSError: It cannot be read.
    """
    with open(path, "rb", buffering=0) as file:
        return mapped_file(file)


def mapped_file(file: IO[bytes]) -> memoryview:
    """Map an open file; see :func:`mapped`."""
    try:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except ValueError:  # mmap refuses an empty file
        return memoryview(b"")


def write_file(path: str | PathLike[str], pieces: Iterable[bytes | memoryview]) -> None:
    """Write a file completely or not at all.

    It is on the disk before it has its name, as nothing checks all of it when it is read again.

    Raises:
        OSError: It cannot be written; nothing of it is left, as of other errors.
    """
    descriptor, name = tempfile.mkstemp(prefix=_WRITING, dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(descriptor)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
