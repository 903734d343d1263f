# SPDX-License-Identifier: MIT
"""Programs of these tests: the host keeps none."""

from __future__ import annotations

import pytest

from armnn_backend_cl.options import GpuAccModel


@pytest.fixture(autouse=True)
def only_files_keep_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep programs where an option names a file, and not in the folder of the host.

    PoCL compiles a kernel again for its binary, which takes longer than the rest of most tests. A
    test of that folder starts processes.
    """
    monkeypatch.setattr(GpuAccModel, "programs", property(lambda model: model._file))
