# SPDX-License-Identifier: MIT
"""Backends to choose from, as installed packages that children see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes.plugins import backend_plugin, installed

_SLOW = """
from armnn_backend_ref import backend as reference

from armnn.backends import Workload as Base

class Workload(Base):
    def __init__(self, inner):
        self.inner = inner

    def bind(self, inputs, outputs):
        step = self.inner.bind(inputs, outputs)

        def again():
            for _ in range(20):
                step()

        return again

class backend(reference.RefBackend):
    id = "Slow"

    def create_workload(self, layer, model):
        return Workload(super().create_workload(layer, model))
"""

_HALF = """
from armnn_backend_ref.backend import RefBackend
from fakes.backends import DeviceBackend

from armnn.backends import Support

class backend(DeviceBackend):
    id = "Half"

    def __init__(self):
        super().__init__("Half", RefBackend())

    def supports(self, layer, model):
        if layer.type != "Activation":
            return Support.no("runs nothing but Activation")
        return super().supports(layer, model)
"""

_CRASH = """
import signal
from fakes import NullBackend

from armnn.backends import Workload as Base

class Workload(Base):
    def bind(self, inputs, outputs):
        # Not os.kill: the main thread may get that signal, and this step would end before.
        return lambda: signal.raise_signal(signal.SIGSEGV)

class backend(NullBackend):
    id = "Crash"

    def create_workload(self, layer, model):
        return Workload()
"""


@pytest.fixture
def candidates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Install slow, partial, wrong and crashing backends; the partial one has its own memory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sources = {
        "Slow": _SLOW,
        "Half": _HALF,
        "Crash": _CRASH,
        "Wrong": None,
    }
    plugins = [
        backend_plugin(each, distribution=f"armnn-backend-{each.lower()}", source=source)
        for each, source in sources.items()
    ]
    with installed(tmp_path / "packages", *plugins):
        yield [*sources]
