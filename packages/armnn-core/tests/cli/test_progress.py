# SPDX-License-Identifier: MIT
"""Progress of what may take more than two seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from armnn.cli import output
from armnn.cli.main import main


class Display:
    def advance(self) -> None: ...

    def describe(self, description: str) -> None: ...


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the descriptions that are shown at the moment."""
    descriptions: list[str] = []

    @contextmanager
    def display(description: str, total: int | None) -> Iterator[Display]:
        assert descriptions == []  # two displays would overwrite each other
        descriptions.append(description)
        try:
            yield Display()
        finally:
            descriptions.clear()

    monkeypatch.setattr(output, "_shown", display)
    return descriptions


OPEN = {"x": [["n", 4], "Float32"]}
RUN = "run model.toy --times --backends Toy --compare-output-with-backend Half,Toy --profile"
# By command: what takes its time, and what is shown then, in the order of the calls.
STEPS: dict[str, dict[str, list[str]]] = {
    RUN: {
        "armnn.runtime.runtime:Runtime.__init__": ["Finding backends"],
        "armnn.runtime.runtime:Runtime.load_model": ["Loading model.toy", "Loading on Half, Toy"],
        "armnn.runtime.loaded_network:LoadedNetwork.prepare": ["Preparing inputs"],
        "armnn.runtime.loaded_network:LoadedNetwork.run": [
            "Running once",
            "Running",
            "Running on Half, Toy",
        ],
        "armnn.cli.run:write_profiles": ["Writing the profile"],
    },
    "run model.toy --iterations 1 --warmup 0 --import-inputs-if-aligned": {
        "armnn.runtime.loaded_network:LoadedNetwork.run": ["Running"],
    },
    "run model.toy --serialize-to model.armnn": {
        "armnn.cli.run:parse": ["Reading model.toy"],
        "armnn.storage.armnn_files:save": ["Writing model.armnn"],
    },
    "compile model.toy --shape 2x4 --backends Half -o made.armnn-prepared": {
        "armnn.runtime.runtime:Runtime.__init__": ["Finding backends"],
        "armnn.cli.compile:parse": ["Reading model.toy"],
        "armnn.cli.compile:specialise": ["Reading model.toy"],
        "armnn.runtime.runtime:Runtime.compile_network": ["Compiling model.toy"],
    },
    "compare model.toy --passes --reference Toy": {
        "armnn.cli.samples:make_feeds": ["Preparing inputs"],
        "armnn.cli.compare:find_wrong_pass": ["Looking for a wrong pass in model.toy"],
    },
    "compare model.toy --backends Toy --vary NUMBER=1,2": {
        "armnn.cli.varying:_compared": ["Comparing for each NUMBER"],
    },
    "view model.toy --backends Toy": {"armnn.cli.view:page": ["Writing model.html"]},
    "inspect model.toy --backends Toy": {
        "armnn.runtime.runtime:Runtime.__init__": ["Finding backends"],
        "armnn.cli.inspect:survey": ["Reading model.toy"],
    },
    "backends --verbose": {
        "armnn.cli.backends:BackendRegistry.__init__": ["Finding backends"],
        "armnn.cli.backends:load_all": ["Finding backends"],
        "armnn.cli.self_descriptions:stated_capabilities": ["Finding backends"],
    },
    "backends lock --output made.lock": {
        "armnn.backends.locking:Lock.made_now": ["Reading backends"]
    },
    "doctor": {"armnn.cli.doctor:diagnose": ["Examining backends"]},
}


@pytest.mark.parametrize("command", STEPS)
def test_what_takes_long_is_announced(
    model: Callable[..., str],
    shown: list[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    model(OPEN)
    seen: dict[str, list[str]] = {}
    for place in STEPS[command]:
        watch(place, shown, seen.setdefault(place, []), monkeypatch)
    main(command.split())
    assert {place: list(dict.fromkeys(each)) for place, each in seen.items()} == STEPS[command]
    assert shown == []


def watch(place: str, shown: list[str], seen: list[str], patch: pytest.MonkeyPatch) -> None:
    """Note what is shown at each call of a function."""
    module, _, path = place.partition(":")
    owner: Any = import_module(module)
    *parents, name = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    original = getattr(owner, name)

    def noted(*arguments: Any, **named: Any) -> Any:
        seen.append(" ".join(shown))
        return original(*arguments, **named)

    patch.setattr(owner, name, noted)
