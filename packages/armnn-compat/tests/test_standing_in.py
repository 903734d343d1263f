# SPDX-License-Identifier: MIT
"""Modules under other names: found, removed, refused if taken."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from armnn_compat.standing_in import AlreadyImportedError, StandIn, withdraw


@pytest.fixture
def modules() -> dict[str, ModuleType]:
    return {"acme_runtime": ModuleType("ours"), "acme_runtime.inner": ModuleType("inner")}


def test_imports_find_the_modules_as_long_as_the_block_lasts(modules) -> None:
    with StandIn(modules):
        assert importlib.import_module("acme_runtime") is modules["acme_runtime"]
        assert importlib.import_module("acme_runtime.inner") is modules["acme_runtime.inner"]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("acme_runtime")


def test_an_inner_block_leaves_what_the_outer_one_put_there(modules) -> None:
    with StandIn(modules):
        with StandIn(modules):
            pass
        assert sys.modules["acme_runtime"] is modules["acme_runtime"]
    assert "acme_runtime" not in sys.modules


def test_without_a_block_the_modules_stay_until_they_are_withdrawn(modules) -> None:
    StandIn(modules)
    assert sys.modules["acme_runtime"] is modules["acme_runtime"]
    withdraw(modules)
    withdraw(modules)
    assert modules.keys().isdisjoint(sys.modules)


def test_a_name_that_is_taken_is_refused_and_nothing_is_changed(modules, monkeypatch) -> None:
    real = ModuleType("acme_runtime.inner")
    real.__file__ = "/site/acme_runtime/inner.py"
    monkeypatch.setitem(sys.modules, "acme_runtime.inner", real)
    with pytest.raises(
        AlreadyImportedError,
        match=r"^cannot take the place of 'acme_runtime.inner': it was imported before from "
        r"/site/acme_runtime/inner.py. Call install\(\) before anything imports it.$",
    ):
        StandIn(modules)
    assert "acme_runtime" not in sys.modules
    withdraw(modules)
    assert sys.modules["acme_runtime.inner"] is real
