# SPDX-License-Identifier: MIT
"""The lock file: loadable backends, by sha256.

It is JSON: ``files`` has the sha256 of shared libraries by path, ``distributions`` the version of
each distribution of backends and the sha256 of its RECORD, which lists the hashes of its files.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from armnn import metadata
from armnn._files import file_sha256
from armnn.backends.loading import GROUP
from armnn.backends.options import CreationOptions
from armnn.backends.selection import PATH_VARIABLE, environment, home_folder, is_locked
from armnn.errors import InvalidArgumentError
from armnn.installing import reinstall_command
from armnn_backend_api.files import who_else_may_write

__all__ = ["Lock", "sha256_of"]

COMMAND: Final = "armnn backends lock"
_FORMAT: Final = 1


def default_lock_file() -> Path:
    """Return ``$XDG_CONFIG_HOME/armnn/backends.lock``, by default in ``~/.config``.

    Where the environment does not count, it is in the home folder of the user database.
    """
    folder = environment("XDG_CONFIG_HOME")
    if folder is None or not os.path.isabs(folder):
        folder = str(home_folder() / ".config")
    return Path(folder, "armnn", "backends.lock")


@dataclass(frozen=True, eq=False)
class Lock:
    """The content of a lock file.

    Attributes:
        path: The lock file.
        files: The sha256 of each shared library, by path.
        distributions: Version and sha256 of the RECORD of each distribution, by normalized name.
        command: The command that writes it again, for the same folders of dynamic backends.
        is_missing: Whether there is no such file; it lists nothing then.
    """

    path: Path
    files: Mapping[str, str]
    distributions: Mapping[str, tuple[str, str]]
    command: str = COMMAND
    is_missing: bool = False
    _judged: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, options: CreationOptions) -> Lock | None:
        """Return the lock of the options, None without one.

        ``lock_file`` asks for one as ``require_locked`` does. A lock file that is missing lists
        nothing, so that nothing may be loaded.

        Raises:
            InvalidArgumentError: The lock file cannot be read, or others than its owner may write
                it.
        """
        if not is_locked(options):
            return None
        given = options.lock_file
        path = default_lock_file() if given is None else Path(given)
        if given == "" or (path.exists() and not path.is_file()):
            named = str(path) if given is None else given
            raise InvalidArgumentError(
                f"the lock file {named!r} is not a regular file: "
                "expected one that 'armnn backends lock --output FILE' wrote"
            )
        return cls.read(path, _command_for(path, options))

    @classmethod
    def read(cls, path: Path, command: str = COMMAND) -> Lock:
        """Read a lock file; see :meth:`of`.

        Args:
            path: The file.
            command: The command that writes it again.
        """
        try:
            with path.open("rb") as file:
                others = who_else_may_write(os.fstat(file.fileno()))
                document = json.load(file)
            if others:
                raise InvalidArgumentError(
                    f"the lock file {str(path)!r} cannot be trusted, as {others} may write it: "
                    f"chmod go-w {path}"
                )
            return cls(path, *_parsed(document), command=command)
        except FileNotFoundError:
            return cls(path, {}, {}, command=command, is_missing=True)
        except (OSError, ValueError, RecursionError) as error:
            if isinstance(error, InvalidArgumentError):
                raise
            raise InvalidArgumentError(
                f"the lock file {str(path)!r} cannot be read: {error}; expected a lock file, which "
                f"'{command}' writes"
            ) from error

    @classmethod
    def made_now(cls, path: Path, files: Iterable[str]) -> Lock:
        """Return a lock of these files and all installed backends."""
        distributions = {entry.distribution for entry in metadata.entry_points(GROUP)}
        return cls(
            path,
            {file: sha256_of(file) for file in files},
            {
                each.normalized_name: (each.version, _sha256(each.record().encode()))
                for each in sorted(distributions, key=lambda each: each.normalized_name)
            },
        )

    def write(self) -> None:
        """Write the lock file in one go."""
        document = {
            "format": _FORMAT,
            "files": dict(self.files),
            "distributions": {
                name: {"version": version, "record_sha256": sha256}
                for name, (version, sha256) in self.distributions.items()
            },
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(document, indent=2) + "\n")
        temporary.chmod(0o644)
        temporary.replace(self.path)

    def refusal_of_file(self, path: str, sha256: str | None) -> tuple[str, str]:
        """Return reason and remedy for a changed shared library.

        The same file at another path counts as locked; both texts are empty then.
        """
        if sha256 is not None and sha256 in self.files.values():
            return "", ""
        expected = self.files.get(path)
        if expected is None:
            return self._unlisted, self._remedy
        return f"has changed since it was locked: got sha256 {sha256}, expected {expected}", (
            self._remedy
        )

    def refusal_of_distribution(self, name: str, location: str) -> tuple[str, str]:
        """Return reason and remedy for a changed distribution.

        It is looked at once; both texts are empty if nothing is wrong with it.

        Args:
            name: The name of the distribution.
            location: The folder that holds its metadata.
        """
        if (name, location) not in self._judged:
            self._judged[name, location] = self._judgment(name, location)
        return self._judged[name, location]

    def _judgment(self, name: str, location: str) -> tuple[str, str]:
        installed = {
            (entry.distribution.name, entry.distribution.location): entry.distribution
            for entry in metadata.entry_points(GROUP)
        }[name, location]
        locked = self.distributions.get(installed.normalized_name)
        if locked is None:
            return self._unlisted, self._remedy
        record = installed.record()
        if _sha256(record.encode()) != locked[1]:
            reason = f"has changed since {name} {locked[0]} was locked: its RECORD differs"
            return reason, self._remedy
        changed = _changed_file(record, Path(location))
        if changed:
            reason = f"has changed since it was installed: {changed} is not as its RECORD says"
            return reason, f"run {reinstall_command(name)}"
        return "", ""

    @property
    def _unlisted(self) -> str:
        if self.is_missing:
            return f"is locked out, as there is no lock file {str(self.path)!r}"
        return f"is not in the lock file {str(self.path)!r}"

    @property
    def _remedy(self) -> str:
        return f"if you trust it, run '{self.command}'"


def _command_for(path: Path, options: CreationOptions) -> str:
    """Return the command that writes a lock file of all that the options let a runtime find."""
    words = COMMAND.split()
    if options.enable_dynamic_backends and options.dynamic_backends_path is not None:
        words += ["--dynamic-backends-path", options.dynamic_backends_path]
    if path != default_lock_file():
        words += ["--output", str(path)]
    folders = environment(PATH_VARIABLE)
    if folders is None or options.dynamic_backends_path is not None:
        return shlex.join(words)
    return f"{PATH_VARIABLE}={shlex.quote(folders)} {shlex.join(words)}"


def sha256_of(path: str) -> str:
    """Return the sha256 of a file in hexadecimal."""
    return file_sha256(path)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _parsed(document: Any) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    form = _object(document, "the document").get("format")
    if form != _FORMAT:
        raise ValueError(f"got format {form!r}, expected {_FORMAT}")
    files = _object(document.get("files"), "files")
    rows = _object(document.get("distributions"), "distributions")
    locked = {name: _object(row, f"distribution {name!r}") for name, row in rows.items()}
    return (
        {path: str(sha256) for path, sha256 in files.items()},
        {name: (str(r.get("version")), str(r.get("record_sha256"))) for name, r in locked.items()},
    )


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is {type(value).__name__}, expected a JSON object")
    return value


def _changed_file(record: str, location: Path) -> str:
    """Return the first file that differs from RECORD, or ""."""
    for row in csv.reader(record.splitlines()):
        algorithm, _, expected = row[1].partition("=") if len(row) > 1 else ("", "", "")
        if algorithm == "sha256":
            try:
                digest = hashlib.sha256((location / row[0]).read_bytes()).digest()
            except OSError:
                return row[0]
            if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected:
                return row[0]
    return ""
