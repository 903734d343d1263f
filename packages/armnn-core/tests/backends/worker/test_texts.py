# SPDX-License-Identifier: MIT
"""Texts of a worker reach no terminal or log unescaped."""

from __future__ import annotations

import pytest

from armnn.backends.worker import protocol
from armnn.backends.worker.connection import frame_in
from armnn.errors import BackendError

HOSTILE = "no \x1b[2J\ndevice \u202e"
SHOWN = r"no \x1b[2J\ndevice \u202e"


def test_reasons_and_errors_are_escaped_and_cut() -> None:
    assert protocol.decoded_support([False, HOSTILE, None]).reason == SHOWN
    error = protocol.decoded_error({"error": "BackendError", "text": HOSTILE})
    assert (type(error), str(error)) == (BackendError, SHOWN)
    assert len(protocol.shown("x" * (protocol.TEXT_LIMIT + 1))) == protocol.TEXT_LIMIT


@pytest.mark.parametrize("name", ["step\x1b[2J", "step" + "p" * 4000])
def test_the_frame_that_a_worker_wrote_down_is_escaped_and_cut(name: str) -> None:
    text = f'Fatal Python error: Aborted\n  File "/a\x1b.py", line 3 in {name}\n'
    frame = frame_in(text.encode())
    assert frame.startswith(r"/a\x1b.py:3 in step")
    assert frame.isprintable()
    assert len(frame) < 600
