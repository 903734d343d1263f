# SPDX-License-Identifier: MIT
"""Fake plug-ins: installed files that the process sees.

A test of discovery needs distributions with entry points, and none of them needs pip::

    acme = backend_plugin("AcmeNpu", requires=["armnn-backend-api>=1.0,<2"])
    with installed(tmp_path, acme, alone=True):
        assert [entry.id for entry in BackendRegistry().entries()] == ["AcmeNpu"]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from armnn.backends import BACKEND_API_VERSION, BackendVersion, refresh
from armnn.backends.discovery import only

CONTRACT_RANGE = f"armnn-backend-api>=1.0,<{BACKEND_API_VERSION.major + 1}"
"""What a backend usually requires."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A distribution that was never built.

    Attributes:
        distribution: Its name.
        version: Its version.
        requires: Its requirements, as in ``Requires-Dist``.
        entry_points: Group, to name, to "module:attribute".
        modules: Dotted module name, to source text. A name with a dot is in a package, which
            is made.
    """

    distribution: str = "armnn-backend-acme"
    version: str = "0.3.0"
    requires: Sequence[str] = (CONTRACT_RANGE,)
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    modules: Mapping[str, str] = field(default_factory=dict)


def backend_plugin(
    backend_id: str,
    *,
    distribution: str = "armnn-backend-acme",
    version: str = "0.3.0",
    requires: Sequence[str] = (CONTRACT_RANGE,),
    module: str | None = None,
    source: str | None = None,
    api_version: BackendVersion = BACKEND_API_VERSION,
) -> Plugin:
    """Return a distribution with one backend.

    Args:
        backend_id: The name of its entry point.
        distribution: Its name.
        version: Its version.
        requires: Its requirements.
        module: The module's name; made from the distribution's name if left out.
        source: The module's text, which must define ``backend``; by default a
            :class:`~fakes.NullBackend` of that id.
        api_version: The Backend API version that the default text declares.
    """
    module = distribution.replace("-", "_").lower() if module is None else module
    if source is None:
        source = (
            "from armnn.backends import BackendVersion\n"
            "from fakes import NullBackend\n"
            "class backend(NullBackend):\n"
            f"    id = {backend_id!r}\n"
            f"    api_version = BackendVersion({api_version.major}, {api_version.minor})\n"
        )
    return Plugin(
        distribution,
        version,
        requires,
        {"armnn.backends": {backend_id: f"{module}:backend"}},
        {module: source},
    )


def write_plugin(folder: Path, plugin: Plugin) -> None:
    """Write a plug-in's modules and ``.dist-info``, as pip would."""
    stem = plugin.distribution.replace("-", "_")
    info = folder / f"{stem}-{plugin.version}.dist-info"
    texts = {info / "METADATA": _metadata_text(plugin), info / "INSTALLER": "fakes\n"}
    texts[info / "entry_points.txt"] = _entry_points_text(plugin)
    for name, source in plugin.modules.items():
        parts = name.split(".")
        for depth in range(1, len(parts)):
            texts.setdefault(folder.joinpath(*parts[:depth], "__init__.py"), "")
        texts[folder.joinpath(*parts).with_suffix(".py")] = source
    record = info / "RECORD"
    lines = [f"{path.relative_to(folder).as_posix()},,\n" for path in (*texts, record)]
    texts[record] = "".join(lines)
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@contextmanager
def installed(folder: Path, *plugins: Plugin, alone: bool = False) -> Iterator[Path]:
    """Let the process see plug-ins, and forget them afterwards.

    Args:
        folder: Where they are written; it comes first in ``sys.path``.
        plugins: What is written there.
        alone: Whether nothing else that is installed is seen, so that the outcome does not depend
            on the machine.

    Yields:
        The folder.
    """
    for plugin in plugins:
        write_plugin(folder, plugin)
    modules_before = frozenset(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        with ExitStack() as stack:
            if alone:
                stack.enter_context(only([str(folder)]))
            refresh()
            yield folder
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name not in modules_before]:
            if _lies_in(sys.modules[name], folder):
                del sys.modules[name]
        refresh()


def _lies_in(module: object, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).is_relative_to(folder)


def _metadata_text(plugin: Plugin) -> str:
    head = f"Metadata-Version: 2.1\nName: {plugin.distribution}\nVersion: {plugin.version}\n"
    return head + "".join(f"Requires-Dist: {requirement}\n" for requirement in plugin.requires)


def _entry_points_text(plugin: Plugin) -> str:
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in plugin.entry_points.items()
    )
