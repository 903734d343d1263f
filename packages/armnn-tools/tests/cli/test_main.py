# SPDX-License-Identifier: MIT
"""The command as a whole: help, errors, signals, pipes."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from armnn.__about__ import __version__
from armnn.backends.calling import blame
from armnn.errors import InvalidArgumentError
from armnn_backend_api import BACKEND_API_VERSION
from armnn_tools.cli import main as module
from armnn_tools.cli.main import main, parser
from fakes import Plugin, backend_plugin, installed, write_plugin

COMMANDS = ["run", "inspect", "backends", "doctor"]


def test_every_command_has_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            main([command, "--help"])
        assert ended.value.code == 0
        text = capsys.readouterr().out
        assert f"usage: armnn {command}" in text
        assert f"examples:\n  armnn {command}" in text


def test_the_help_of_the_command_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert "examples:\n  armnn run" in text
    assert all(f"\n    {command} " in text for command in COMMANDS)


def test_the_version_tells_both_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    api = f"Backend API {BACKEND_API_VERSION}"
    assert capsys.readouterr().out == f"armnn-core {__version__} ({api})\n"


def test_without_arguments_it_says_what_is_here_and_where_to_begin(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broken = backend_plugin("Broken", requires=["armnn-backend-api>=9"])
    with installed(tmp_path, broken):
        assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"armnn-core {__version__} runs neural networks on backends")
    text = " ".join(line.strip() for line in lines)
    assert re.search("Backends here: .*CpuRef.*, and 1 that cannot be used: armnn doctor", text)
    assert max(map(len, lines)) < 80
    assert re.search(r"Formats here: .*\.armnn", text)
    assert "armnn run model.onnx" in "".join(lines)


def completions(line: str) -> list[str]:
    """Return what a shell would offer behind a line."""
    reads, writes = os.pipe()
    environment = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": f"/dev/fd/{writes}",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    ask = "import sys; from armnn_tools.cli.main import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", ask], env={**os.environ, **environment}, pass_fds=[writes]
    )
    os.close(writes)
    with os.fdopen(reads) as answers:
        found = [each.rstrip() for each in answers.read().split("\n") if each]
    assert done.returncode == 0
    return found


def test_a_shell_completes_commands_and_options() -> None:
    assert completions("armnn comp") == ["compare", "compile"]
    assert completions("armnn bench --aga") == ["--against"]
    assert completions("armnn run --shape-inf") == ["--shape-inference-method"]
    assert completions("armnn run m.onnx --backends CpuR") == ["CpuRef"]
    assert completions("armnn run m.onnx --backends Acme,CpuR") == ["Acme,CpuRef"]
    assert completions("armnn compare m.onnx --reference CpuR") == ["CpuRef"]


@pytest.mark.parametrize("arguments", [["--debug"], ["nonsense"], ["backends", "--nonsense"]])
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["runn"], "there is no command 'runn'; did you mean run?"),
        (["--debug", "Doctor", "--json"], "there is no command 'Doctor'; did you mean doctor?"),
        (["model.onnx"], "there is no command 'model.onnx'; did you mean armnn run model.onnx?"),
        (["a b.tflite", "--report"], "did you mean armnn run 'a b.tflite'?"),
        (["zzz"], "there is no command 'zzz'; 'armnn --help' lists them"),
    ],
)
def test_a_command_that_does_not_exist_has_a_suggestion(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert capsys.readouterr().err.endswith(f"{hint}\n")


def test_text_generation_that_is_not_installed_says_what_brings_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(tmp_path, alone=True), pytest.raises(SystemExit):
        main(["generate", "folder"])
    told = capsys.readouterr().err
    assert "there is no command 'generate'; armnn-generate brings it: pip install --no-i" in told


@pytest.fixture
def command_that(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | int], None]:
    """Replace all commands by "it", which raises or returns."""

    def install(outcome: BaseException | int) -> None:
        def handler(_: argparse.Namespace) -> int:
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

        class Command:
            @staticmethod
            def add_parser(
                subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
            ) -> None:
                subparsers.add_parser("it", help=summary).set_defaults(handler=handler)

        monkeypatch.setattr(module, "COMMANDS", {"it": "do it"})
        monkeypatch.setitem(sys.modules, "armnn_tools.cli.it", Command)

    return install


@pytest.mark.parametrize("code", [0, 1])
def test_the_exit_code_is_the_commands(
    command_that: Callable[[BaseException | int], None], code: int
) -> None:
    command_that(code)
    assert main(["it"]) == code


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InvalidArgumentError("no such thing"), "armnn: error: no such thing\n"),
        (InvalidArgumentError("no\x1b[2J\r:\n- it"), "armnn: error: no\\x1b[2J\\r:\n- it\n"),
        (FileNotFoundError(2, "No such file", "x.npy"), "[Errno 2] No such file: 'x.npy'\n"),
        (PermissionError(13, "Permission denied", "y"), "[Errno 13] Permission denied: 'y'\n"),
    ],
)
def test_an_error_is_one_line_and_exits_with_1(
    command_that: Callable[[BaseException | int], None],
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    message: str,
) -> None:
    command_that(error)
    assert main(["it"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"armnn: error: {message.removeprefix('armnn: error: ')}"


@pytest.mark.parametrize("arguments", [["--debug", "it"], ["it", "--debug"]])
def test_debug_shows_where_an_error_arises(
    command_that: Callable[[BaseException | int], None], arguments: list[str]
) -> None:
    command_that(InvalidArgumentError("no such thing"))
    with pytest.raises(InvalidArgumentError, match="no such thing"):
        main(arguments)


def test_an_error_of_a_backend_is_one_line(
    command_that: Callable[[BaseException | int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    error = ZeroDivisionError("boom")
    blame(error, "Acme", "create_workload", "layer 'a'")
    command_that(error)
    assert main(["it"]) == 1
    assert capsys.readouterr().err == (
        "armnn: error: ZeroDivisionError: boom (raised by create_workload of layer 'a' of backend "
        "'Acme')\n"
    )


def test_a_defect_is_not_hidden(command_that: Callable[[BaseException | int], None]) -> None:
    command_that(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["it"])


def test_ctrl_c_exits_with_130(
    command_that: Callable[[BaseException | int], None], capsys: pytest.CaptureFixture[str]
) -> None:
    command_that(KeyboardInterrupt())
    assert main(["it"]) == 130
    assert capsys.readouterr().err == "armnn: interrupted\n"


def test_ctrl_c_in_a_terminal_ends_the_process_without_a_traceback(tmp_path: Path) -> None:
    # In short sleeps: a signal between two instructions may come before a sleep begins. Processes
    # that a shell starts in the background inherit that it is ignored.
    source = (
        "import signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "print('importing', flush=True)\n"
        "for _ in range(600): time.sleep(0.1)\n"
    )
    write_plugin(tmp_path, backend_plugin("Slow", source=source))
    process = subprocess.Popen(
        [sys.executable, "-m", "armnn", "backends", "--load"],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "ARMNN_BACKENDS": "Slow"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "armnn: interrupted\n"


def test_a_closed_pipe_is_quiet() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [sys.executable, "-m", "armnn", "doctor", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert process.returncode == 141
    assert process.stderr == ""


def test_the_help_imports_no_heavy_library() -> None:
    code = (
        "import sys; from armnn_tools.cli.main import parser; parser().format_help();"
        "print([name for name in ('rich', 'PIL', 'onnx') "
        "if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_each_command_says_what_handles_it() -> None:
    for command, arguments in [("backends", []), ("doctor", []), ("inspect", ["m.onnx"])]:
        options = parser().parse_args([command, *arguments])
        assert callable(options.handler)
        assert options.debug is False


GREET = """\
SUMMARY = "say hello"

def add_parser(subparsers, summary):
    parser = subparsers.add_parser("greet", help=summary)
    parser.add_argument("name")
    parser.set_defaults(handler=greet)

def greet(arguments):
    print("Hello", arguments.name)
    return 7
"""
GREETING = Plugin(
    "acme-tools",
    "0.1",
    (),
    {
        "armnn.commands": {
            "greet": "acme_greet",
            "run": "acme_greet",
            "fall": "acme_fall",
            "lame": "acme_lame",
            "quit": "acme_quit",
        }
    },
    {
        "acme_greet": GREET,
        "acme_fall": "raise OSError('no 100% \x1b[2J')\n",
        "acme_quit": "import sys; sys.exit(7)\n",
        "acme_lame": "SUMMARY = 'limp'\n"
        "def add_parser(subparsers, summary): subparsers.add_parser('lame'); 1 / 0\n",
    },
)
OTHER = Plugin("beta", "0.1", (), {"armnn.commands": {"greet": "beta"}}, {"beta": "1 / 0\n"})


@pytest.fixture
def further(tmp_path: Path) -> Iterator[None]:
    with installed(tmp_path, GREETING, OTHER):
        yield


@pytest.mark.usefixtures("further")
def test_a_distribution_adds_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["greet", "Ann"]) == 7
    assert capsys.readouterr().out == "Hello Ann\n"
    with pytest.raises(SystemExit) as ended:
        main(["greet"])
    assert ended.value.code == 2
    assert "armnn greet: error: the following arguments are required: name" in (
        capsys.readouterr().err
    )


@pytest.mark.usefixtures("further")
def test_the_help_has_further_commands_and_faults(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "greet say hello" in text
    assert "run run a model" in text
    assert "fall acme-tools 0.1 cannot be used: OSError: no 100% \\x1b[2J" in text
    assert "quit acme-tools 0.1 cannot be used: SystemExit: 7" in text


@pytest.mark.usefixtures("further")
@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("fall", "OSError: no 100% \\x1b[2J"),
        ("lame", "ZeroDivisionError: division by zero"),
        ("quit", "SystemExit: 7"),
    ],
)
def test_a_further_command_that_cannot_be_used_is_an_error(
    command: str, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command]) == 1
    told = f"armnn: error: the command {command!r} of acme-tools 0.1 cannot be used: {fault}\n"
    assert capsys.readouterr().err == told
    with pytest.raises(InvalidArgumentError, match="cannot be used"):
        main([command, "--debug"])


def test_a_command_without_a_name_spoils_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = {"acme_greet": GREET}
    commands = {"": "acme_greet", "-x": "acme_greet"}
    with installed(
        tmp_path, Plugin("acme-tools", "0.1", (), {"armnn.commands": commands}, modules)
    ):
        with pytest.raises(SystemExit) as ended:
            main(["--help"])
        assert ended.value.code == 0
        text = " ".join(capsys.readouterr().out.split())
        for name in commands:
            assert (
                f"{name!r} acme-tools 0.1 cannot be used: its name is empty or begins with '-'"
                in text
            )
        for given in ("", "-x"):
            with pytest.raises(SystemExit) as ended:
                main([given])
            assert ended.value.code == 2
        assert "acme_greet" not in sys.modules


@pytest.mark.usefixtures("further")
def test_other_commands_import_no_further_ones() -> None:
    parser("inspect")
    assert sys.modules.keys().isdisjoint({"acme_greet", "acme_fall", "acme_lame", "acme_quit"})
