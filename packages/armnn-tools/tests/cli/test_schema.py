# SPDX-License-Identifier: MIT
"""``armnn schema``, and failures as JSON; conftest.py checks every document of other tests."""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from armnn.errors import ParseError
from armnn_tools.cli.main import COMMANDS, main, parser
from armnn_tools.cli.schema import SCHEMAS
from fakes import Plugin, installed

BESIDE_COMMANDS = {"record", "error"}


def options_of(found: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Yield each option of a parser and of those below it."""
    for action in found._actions:
        if isinstance(action, argparse._SubParsersAction):
            for child in action.choices.values():
                yield from options_of(child)
        yield from ((option, action) for option in action.option_strings)


def test_every_command_with_json_has_a_schema() -> None:
    commands = next(
        each for each in parser()._actions if isinstance(each, argparse._SubParsersAction)
    ).choices
    with_json = {name for name in COMMANDS if "--json" in dict(options_of(commands[name]))}
    assert with_json == SCHEMAS.keys() - BESIDE_COMMANDS
    assert COMMANDS.keys() - with_json == {"schema", "worker"}  # one is JSON, one prints nothing


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_printed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", name]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(found)
    assert found == json.loads(json.dumps(SCHEMAS[name]))
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines][: len(SCHEMAS)] == [*SCHEMAS]
    assert len({each["$id"] for each in SCHEMAS.values()}) == len(SCHEMAS)


def test_a_command_of_another_distribution_has_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "SUMMARY, SCHEMA = 'say hello', {'type': 'string'}\n"
    names = {"greet": "acme_greet", "wave": "acme_wave"}
    modules = {"acme_greet": source, "acme_wave": "SUMMARY = 'wave'\n"}
    plugin = Plugin("acme-tools", "0.1", (), {"armnn.commands": names}, modules)
    with installed(tmp_path, plugin, alone=True):
        assert main(["schema", "greet"]) == 0
        assert json.loads(capsys.readouterr().out) == {"type": "string"}
        assert main(["schema"]) == 0
        assert "greet      armnn greet --json, of acme-tools 0.1\n" in capsys.readouterr().out
        assert main(["schema", "wave"]) == 1
        assert "'wave' of acme-tools 0.1 has no schema" in capsys.readouterr().err
        assert main(["schema", "great"]) == 1
        assert "no schema 'great'; did you mean 'greet'?" in capsys.readouterr().err


def members(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each member of each object."""
    if isinstance(value, list):
        value = dict(enumerate(value))
    for name, member in value.items() if isinstance(value, dict) else ():
        if isinstance(name, str):
            yield (*path, name)
        yield from members(member, (*path, name))


def test_a_member_that_is_renamed_is_an_error(
    model: Callable[..., str], document: Callable[..., dict[str, Any]]
) -> None:
    found = document(model(), "--report", "--profile", "--top-k", "2", "--backends", "Half,Toy")
    free = {"layers_by_backend", "planned_layers_by_backend", "files"}
    validator = jsonschema.Draft202012Validator(SCHEMAS["run"])
    assert validator.is_valid(found)
    seen = 0
    for path in members(found):
        if path[-2:-1] and path[-2] in free:
            continue
        changed = copy.deepcopy(found)
        inner = changed
        for name in path[:-1]:
            inner = inner[name]
        inner[f"{path[-1]}_renamed"] = inner.pop(path[-1])
        assert not validator.is_valid(changed), path
        seen += 1
    assert seen > 60


# -- failures -------------------------------------------------------------------------------------


def failed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    """Return the code, the error on stdout, and stderr."""
    code: Any
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    jsonschema.validate(found, SCHEMAS["error"])
    return code, found["error"], printed.err


def test_a_failure_is_a_document_beside_the_message(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, error, text = failed(capsys, "run", "missing.toy", "--json")
    assert (code, error) == (
        1,
        {
            "type": "ModelFileNotFoundError",
            "message": "There is no model file 'missing.toy'.",
            "causes": [],
            "exit_code": 1,
        },
    )
    assert text == "armnn: error: There is no model file 'missing.toy'.\n"


def test_causes_are_listed(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("broken.toy").write_text("{")
    code, error, _ = failed(capsys, "run", "broken.toy", "--json")
    assert (code, error["type"]) == (1, ParseError.__name__)
    assert [each["type"] for each in error["causes"]] == ["JSONDecodeError"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--json"], "the following arguments are required: MODEL"),
        (["run", "m.toy", "--jsn", "--json"], "there is no option --jsn; did you mean --json?"),
        (["run", "m.toy", "--iterations", "0", "--json"], "argument --iterations: "),
        (["cook", "--json"], "there is no command 'cook'"),
        (["tune", "--json"], "expected either MODEL or --machine"),
    ],
)
def test_wrong_usage_is_a_document(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, error, text = failed(capsys, *arguments)
    assert (code, error["type"], error["exit_code"]) == (2, "UsageError", 2)
    assert error["message"].startswith(message)
    assert message in text


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt(), 130), (ZeroDivisionError(), 1)])
def test_what_nobody_foresaw_is_a_document_too(
    raised: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def raise_it(_: object) -> None:
        raise raised

    monkeypatch.setattr("armnn_tools.cli.cache.show_cache", raise_it)
    with contextlib.suppress(ZeroDivisionError):  # its traceback is for who can mend it
        assert main(["cache", "folder", "--json"]) == code
    error = json.loads(capsys.readouterr().out)["error"]
    assert (error["type"], error["exit_code"]) == (type(raised).__name__, code)


def test_without_json_a_failure_is_text(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "missing.toy"]) == 1
    assert capsys.readouterr().out == ""
