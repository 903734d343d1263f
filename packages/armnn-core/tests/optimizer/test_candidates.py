# SPDX-License-Identifier: MIT
"""Which layer may stand for which, as far as the backends are concerned."""

from __future__ import annotations

import numpy as np
import pytest

from armnn.graph import Layer, Network
from armnn.optimizer.candidates import Successors


def layer(name: str) -> Layer:
    return Network().add("Floor", [np.zeros(3, np.float32)], name=name)


def takes(make_backend, participants, *refused: str, hint: str | None = None) -> bool:
    """Ask backends A, B, ... which each refuse what is named "old", "new" or both."""
    kinds = [
        make_backend(chr(ord("A") + index), dict.fromkeys(names.split(), "not here"))
        for index, names in enumerate(refused)
    ]
    candidates = participants(*kinds).candidates
    successor = layer("new")
    successor.backend_hint = hint
    return Successors(candidates[:2], candidates[2:])(successor, lambda: layer("old"))


@pytest.fixture(autouse=True)
def _floors(meanings, monkeypatch) -> None:
    monkeypatch.setitem(meanings, "Floor", lambda _, x: np.floor(x))


def test_the_first_backend_that_takes_either_decides(make_backend, participants) -> None:
    assert takes(make_backend, participants, "", "new")
    assert not takes(make_backend, participants, "new", "")
    assert takes(make_backend, participants, "new old", "")
    assert not takes(make_backend, participants, "new old", "new old")


def test_a_hint_comes_first(make_backend, participants) -> None:
    assert not takes(make_backend, participants, "", "", "new", hint="C")
    assert takes(make_backend, participants, "", "", "new old", hint="C")
    assert takes(make_backend, participants, "new", "", "", hint="C")
    assert not takes(make_backend, participants, "new", "", "", hint="D")
