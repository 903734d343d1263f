# SPDX-License-Identifier: MIT
"""Blobs of backends in a cache folder: results of compiling or tuning for a device."""

from __future__ import annotations

import logging
import threading
from os import PathLike

from armnn.backends.cache import BlobStore
from armnn.backends.crashes import crash_file, is_ours_alone
from armnn.errors import InvalidArgumentError
from armnn.storage.folder import CacheFolder, OtherFormatError

_log = logging.getLogger("armnn.backends.cache")  # the name that applications know


class Blobs(BlobStore):
    """The blobs of one backend.

    Args:
        backend_id: The backend; another one's blobs are other entries.
        cache_dir: The folder of a cache. None for ``$XDG_CACHE_HOME/armnn/blobs``, by default in
            ``~/.cache``; without such a folder that is this user's alone nothing is kept. It is
            made when the backend asks for the first blob.
    """

    def __init__(self, backend_id: str, cache_dir: str | PathLike[str] | None = None) -> None:
        self._backend_id = backend_id
        self._cache_dir = cache_dir
        self._folder: CacheFolder | None = None
        self._is_open = False
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """Return the blob of a key; see :meth:`BlobStore.get`."""
        folder = self._opened()
        if folder is None:
            return None
        try:
            entry = folder.read(*self._key(key))
            if entry is None:
                return None
            _, (blob,) = entry
        except ValueError as reason:
            # After an upgrade all blobs are of an older format, which is not damage.
            level = logging.INFO if isinstance(reason, OtherFormatError) else logging.WARNING
            text = "a blob of backend %s in %s is ignored: %s"
            _log.log(level, text, self._backend_id, folder.folder, reason)
            return None
        return bytes(blob)

    def put(self, key: str, blob: bytes) -> None:
        """Keep a blob; see :meth:`BlobStore.put`."""
        folder = self._opened()
        if folder is not None:
            folder.write({}, [[blob]], *self._key(key))

    def __bool__(self) -> bool:
        """Return whether there is a folder."""
        return self._opened() is not None

    def __str__(self) -> str:
        folder = self._opened()
        return "no folder" if folder is None else str(folder.folder)

    def _key(self, key: str) -> tuple[str, ...]:
        return ("blob", self._backend_id, key)

    def _opened(self) -> CacheFolder | None:
        with self._lock:
            if not self._is_open:
                given = self._cache_dir
                self._folder = _users_folder() if given is None else CacheFolder(given)
                self._is_open = True
        return self._folder


def _users_folder() -> CacheFolder | None:
    """Return the user's folder of blobs, None without one that is this user's alone."""
    crashes = crash_file()
    if crashes is None:
        return None
    try:
        opened = CacheFolder(crashes.with_name("blobs"))
        if is_ours_alone(opened.folder):
            return opened
        _log.warning("%s is not used, as others may write to it or its folder", opened.folder)
    except (InvalidArgumentError, OSError) as error:
        _log.debug("no blobs of backends are kept: %s", error)
    return None
