# SPDX-License-Identifier: MIT
"""The file of ``CachedNetworkFilePath``: the programs of a network, for the next process.

It is a head and then entries, each written at once behind those before it: sizes of key and blob,
sha256 of both, key, blob. Of entries with one key the last one counts; what does not fit its sum,
such as the end of an entry that was not written whole, ends the file.
"""

from __future__ import annotations

import logging
import os
import stat
import struct
import threading
from hashlib import sha256
from typing import IO, Final

from armnn.backends import BlobStore
from armnn.errors import InvalidArgumentError

_HEAD: Final = b"GpuAcc programs 1\n"
_ENTRY: Final = struct.Struct("<IQ32s")
_KINDS: Final = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}

_log = logging.getLogger(__name__)


class CachedFile(BlobStore):
    """The programs in a file.

    Drivers run what it holds, so nobody else may be able to write it.

    Args:
        path: The file.
        is_saved: Whether it is written, from the start, rather than read.
    """

    def __init__(self, path: str, *, is_saved: bool) -> None:
        """Read the file, or begin it.

        Raises:
            InvalidArgumentError: It cannot be opened, is not a file or none of these, or others may
                write it.
        """
        self._path, self._is_saved = path, is_saved
        self._lock = threading.Lock()
        self._blobs: dict[str, bytes] = {}
        try:
            if is_saved:
                with self._opened("wb", os.O_RDWR | os.O_CREAT) as file:
                    file.truncate()
                    file.write(_HEAD)
            else:
                with self._opened("rb", os.O_RDONLY) as file:
                    if os.fstat(file.fileno()).st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                        raise InvalidArgumentError(
                            f"CachedNetworkFilePath {path!r} of backend 'GpuAcc' can be written by "
                            "others, and drivers run what it holds: chmod go-w"
                        )
                    self._read(file.read())
        except OSError as error:
            doing = "write" if is_saved else "read"
            hint = "" if is_saved else "; SaveCachedNetwork writes it"
            raise InvalidArgumentError(
                f"cannot {doing} CachedNetworkFilePath {path!r} of backend 'GpuAcc': "
                f"{error.strerror}{hint}"
            ) from error

    def __str__(self) -> str:
        return self._path

    def get(self, key: str) -> bytes | None:
        """Return the blob of a key, None without one."""
        return self._blobs.get(key)

    def put(self, key: str, blob: bytes) -> None:
        """Add an entry to a file that is written."""
        if not self._is_saved or self._blobs.get(key) == blob:
            return
        name = key.encode()
        entry = _ENTRY.pack(len(name), len(blob), sha256(name + blob).digest()) + name + blob
        with self._lock:
            self._blobs[key] = blob
            try:
                with self._opened("ab", os.O_RDWR | os.O_APPEND) as file:
                    file.write(entry)
            except (InvalidArgumentError, OSError) as error:
                _log.warning("cannot add to %s: %s", self._path, error)

    def _opened(self, mode: str, flags: int) -> IO[bytes]:
        """Open the file; a pipe without a writer opens at once with these flags, and is refused.

        Raises:
            InvalidArgumentError: It is not a regular file.
            OSError: It cannot be opened.
        """
        descriptor = os.open(self._path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            os.close(descriptor)
            raise InvalidArgumentError(
                f"CachedNetworkFilePath {self._path!r} of backend 'GpuAcc' is "
                f"{_KINDS.get(stat.S_IFMT(kind), 'not a regular file')}: expected a file"
            )
        return open(descriptor, mode)

    def _read(self, content: bytes) -> None:
        if not content.startswith(_HEAD):
            raise InvalidArgumentError(
                f"CachedNetworkFilePath {self._path!r} of backend 'GpuAcc' begins with "
                f"{content[: len(_HEAD)]!r}: expected a file that SaveCachedNetwork wrote"
            )
        at = len(_HEAD)
        while at + _ENTRY.size <= len(content):
            name_size, blob_size, digest = _ENTRY.unpack_from(content, at)
            at += _ENTRY.size
            name, blob = content[at : at + name_size], content[at + name_size :][:blob_size]
            at += name_size + blob_size
            if at > len(content) or sha256(name + blob).digest() != digest:
                _log.warning("%s is damaged behind %d programs", self._path, len(self._blobs))
                return
            self._blobs[name.decode(errors="replace")] = blob
