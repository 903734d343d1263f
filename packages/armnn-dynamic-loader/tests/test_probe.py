# SPDX-License-Identifier: MIT
"""Probes survive every misbehavior and tell them apart."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import select
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_backend_api import BackendVersion
from armnn_backend_api.processes import Bounds, PythonCall
from armnn_backend_api.processes import run as run_child
from armnn_dynamic_loader import probe, questions
from armnn_dynamic_loader.probe import Outcome, try_out

Build = Callable[..., Path]
GOOD = Outcome(id="MockAdd", api_version=BackendVersion(1, 0), version="3.2.1")

WAYS = {
    "aborts while loading": (["-DAT_LOAD=abort()"], "dlopen", "crashed with SIGABRT while it was"),
    "writes through a wild pointer": (
        ["-DAT_LOAD=write_through_wild_pointer()"],
        "dlopen",
        "crashed with SIGSEGV while it was loaded",
    ),
    "kills its process": (
        ["-DAT_LOAD=kill(getpid(),9)", "-include", "signal.h"],
        "dlopen",
        "crashed with SIGKILL while it was loaded",
    ),
    "ends the process as if all were well": (
        ["-DAT_LOAD=exit(0)"], "dlopen", r"ended the process with exit\(0\) while it was loaded",
    ),
    "ends the process at once": (
        ["-DIN_CREATE=_exit(3)"], "create", r"ended the process with exit\(3\) in create",
    ),
    "prints to stdout": (
        ['-DAT_LOAD=puts("hello")'], "dlopen", r"prints to stdout: 'hello\\n'",
    ),
    "prints to stdout later": (
        ['-DIN_EXECUTE=puts("done")'], "execute", r"prints to stdout: 'done\\n'",
    ),
    "says on stderr why it gave up": (
        ['-DAT_LOAD=fputs("license expired",stderr),abort()'],
        "dlopen",
        r"crashed with SIGABRT while it was loaded \(stderr: 'license expired'\)",
    ),
    "leaves a thread running": (
        ["-DAT_LOAD=start_thread()", "-pthread"],
        "dlopen",
        "left 1 thread running that began while it was loaded",
    ),
    "leaves a process running": (
        ["-DAT_LOAD=if(!fork())pause()"],
        "dlopen",
        "left a process running that began while it was loaded",
    ),
    "goes on in a copy of the process": (
        ["-DAT_LOAD=if(fork())_exit(0)"], "dlopen", r"ended the process with exit\(0\) while",
    ),
    "closes what is not its own": (
        ["-DAT_LOAD=for(int i=3;i<64;++i)close(i)"],
        "dlopen",
        # The channel's was among them, or not.
        r"ended the process with exit\(1\) .*'it closes|closes file descriptors that are not its",
    ),
    "opens another file where it closed one": (
        [
            "-DAT_LOAD=for(int i=9;i<12;++i){close(i);open(\"/dev/null\",2);}",
            "-include", "fcntl.h",
        ],
        "dlopen",
        r"ended the process with exit\(1\) .*'it closes|closes file descriptors that are not its",
    ),
    "closes stdin": (["-DAT_LOAD=close(0)"], "dlopen", "closes or redirects stdin"),
    "closes stdout": (["-DAT_LOAD=close(1)"], "dlopen", "closes or redirects stdout"),
    "goes elsewhere": (
        ['-DIN_CREATE=(void)!chdir("/")'], "create", "changes the working directory",
    ),
    "makes the umask its own": (
        ["-DAT_LOAD=umask(0)", "-include", "sys/stat.h"], "dlopen", "changes the umask",
    ),
    "keeps the user from interrupting": (
        ["-DAT_LOAD=signal(SIGINT,SIG_IGN)", "-include", "signal.h"],
        "dlopen",
        "changes what SIGINT does",
    ),
    "blocks signals": (
        ["-DAT_LOAD=sigset_t s;sigfillset(&s);sigprocmask(0,&s,0)", "-include", "signal.h"],
        "dlopen",
        "blocks signals",
    ),
    "sets the alarm": (["-DAT_LOAD=alarm(100)"], "dlopen", "sets a timer"),
    "changes how numbers are read": (
        ['-DAT_LOAD=setlocale(LC_NUMERIC,"C.UTF-8")', "-include", "locale.h"],
        "dlopen",
        "changes the locale",
    ),
    "lacks an export": (["-DNO_FACTORY"], "exports", "has a defect: it does not export BackendF"),
    "lacks several": (
        ["-DNO_ID", "-DNO_VERSION"],
        "exports",
        "has a defect: it does not export GetBackendId, GetVersion",
    ),
    "has a symbol that nobody defines": (
        ["-DNEEDS_SYMBOL"], "dlopen", "cannot be opened: .*undefined symbol: symbol_of_nobody",
    ),
    "has another id in its table": (
        ["-DTABLE_ID=\"Other\""],
        "table",
        "has a defect: id of the table is 'Other', expected 'MockAdd' as GetBackendId answers",
    ),
    "answers what no one asked": (["-DANSWER=7"], "query", "answers 7 for Addition, expected 0"),
    "claims what does not exist": (["-DCLAIM_ALL"], "query", "claims the layer type 'ArmnnProbe"),
    "takes its claim back": (
        ["-DREFUSE_COMPILE"], "compile", "claims Addition, but then answers code 65: not this one",
    ),
    "fails to compute": (
        ["-DFAIL_EXECUTE"], "execute", "claims Addition, but then answers code 13: out of order",
    ),
    "writes behind its output": (
        ["-DIN_EXECUTE=sum[count]=0"], "execute", "writes behind the end of output 0 of Addition",
    ),
    "writes before its output": (
        ["-DIN_EXECUTE=sum[-1]=0"], "execute", "writes before the beginning of output 0 of Add",
    ),
    "writes far behind its output": (
        ["-DIN_EXECUTE=sum[2000]=0"], "execute", "crashed with SIGSEGV in execute",
    ),
    "writes to its input": (["-DIN_EXECUTE=a[0]=9"], "execute", "writes to input 0 of Addition"),
    "computes nothing": (
        ["-DWRITE_NOTHING"], "execute", "answers ARMNN_OK, but writes nothing to output 0 of Add",
    ),
    "crashes when the process ends": (
        ["-DAT_LOAD=atexit(abort)"], "end", "crashed with SIGABRT while it was shut down",
    ),
    "prints when the process ends": (
        ["-DAT_LOAD=atexit(say_goodbye)"], "end", "prints to stdout: 'goodbye'",
    ),
}  # fmt: skip


@pytest.fixture
def run(build: Build) -> Callable[..., Outcome]:
    def run_one(*switches: str, timeout: float = 30.0) -> Outcome:
        path = str(build("Mock_X_backend.so", *switches))
        return try_out([path], timeout)[path]

    return run_one


def test_the_child_imports_the_contract_and_neither_the_core_nor_numpy(tmp_path: Path) -> None:
    module, _, function = probe.FUNCTION.partition(":")
    (tmp_path / "own.py").write_text(
        f"import sys\nfrom {module} import {function}\ndef tell(): print(*sys.modules)\n"
    )
    path = [str(tmp_path), *probe.search_path()]
    ending = run_child(PythonCall("own:tell", (), path), Bounds(seconds=60))
    modules = {name.partition(".")[0] for name in ending.output.decode().split()}
    assert modules - sys.stdlib_module_names == {
        "__main__",
        "armnn_backend_api",
        "armnn_dynamic_loader",
        "own",
    }


def test_a_good_file_passes(run: Callable[..., Outcome]) -> None:
    assert run() == GOOD


@pytest.mark.parametrize("layer", ["Activation", "Convolution2d", "Softmax", "Reshape"])
def test_any_layer_that_the_backend_claims_is_computed(
    run: Callable[..., Outcome], layer: str
) -> None:
    assert run(f'-DLAYER="{layer}"').reason == ""
    assert run(f'-DLAYER="{layer}"', "-DFAIL_EXECUTE").reason.startswith(f"claims {layer}, but")


def test_a_backend_that_claims_none_of_the_layers_passes(run: Callable[..., Outcome]) -> None:
    assert run('-DLAYER="Lstm"', "-DFAIL_EXECUTE") == GOOD


@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_misbehave_is_told(run: Callable[..., Outcome], way: str) -> None:
    switches, stage, reason = WAYS[way]
    outcome = run(*switches)
    assert outcome.stage == stage, outcome.reason
    assert re.match(reason, outcome.reason), outcome.reason
    assert not outcome.is_timeout


@pytest.mark.parametrize("first", [3, 63, 255])
def test_a_closed_descriptor_is_told_beside_a_channel_with_a_high_number(
    run: Callable[..., Outcome], first: int
) -> None:
    with contextlib.ExitStack() as undo:
        while (number := os.open(os.devnull, os.O_RDONLY)) < 80:  # sockets to the child are above
            undo.callback(os.close, number)
        os.close(number)
        outcome = run(f"-DAT_LOAD=close({first})")
    assert outcome.stage == "dlopen"
    assert outcome.reason == "closes file descriptors that are not its own"


def test_a_file_that_never_comes_back_is_ended(run: Callable[..., Outcome]) -> None:
    outcome = run("-DIN_CREATE=spin()", timeout=3.0)
    assert (outcome.id, outcome.stage, outcome.is_timeout) == ("MockAdd", "create", True)
    assert outcome.reason == "did not come back within 3 s in create"


def test_what_it_started_is_ended_with_it(run: Callable[..., Outcome], tmp_path: Path) -> None:
    note = tmp_path / "pid"
    write = f'FILE*f=fopen("{note}","w");fprintf(f,"%d",getpid());fclose(f)'
    assert run(f"-DIN_CREATE=if(!fork()){{{write};pause();}}sleep(60)", timeout=4.0).is_timeout
    with contextlib.suppress(ProcessLookupError):  # it is gone for good
        descriptor = os.pidfd_open(int(note.read_text()))
        ended, _, _ = select.select([descriptor], [], [], 60.0)
        os.close(descriptor)
        assert ended


def test_what_depends_on_the_machine_is_marked(run: Callable[..., Outcome]) -> None:
    assert run("-DNEEDS_SYMBOL").depends_on_machine
    assert not run("-DNO_ID").depends_on_machine
    absent = run('-DIN_CREATE=return fail_with(error, ARMNN_UNAVAILABLE, "no device")')
    assert (absent.reason, absent.depends_on_machine, absent.id) == ("", True, "MockAdd")


def test_a_backend_for_another_api_is_not_called_any_further(run: Callable[..., Outcome]) -> None:
    outcome = run("-DMINOR=4", "-DAT_FACTORY=abort()")
    assert outcome == Outcome(id="MockAdd", api_version=BackendVersion(1, 4))


def test_many_files_at_once_each_get_their_own_outcome(build: Build) -> None:
    expected = {}
    for number in range(14):
        crash = number % 3 == 1
        name = f"Mock_N{number}_backend.so"
        path = build(name, f'-DID="N{number % 4}"', *(["-DAT_LOAD=abort()"] if crash else []))
        expected[str(path)] = "dlopen" if crash else ""
    outcomes = try_out(expected, 30.0)
    assert {path: outcome.stage for path, outcome in outcomes.items()} == expected
    assert list(outcomes) == list(expected)


def test_files_are_tried_out_at_the_same_time(build: Build, tmp_path: Path) -> None:
    # Each waits until the other is there as well: one after the other, both would be too late.
    wait = 'fclose(fopen("{0}/{1}","w"));while(access("{0}/{2}",0))usleep(1000)'
    paths = [
        str(build(f"Mock_{me}_backend.so", f"-DAT_LOAD={wait.format(tmp_path, me, other)}"))
        for me, other in (("One", "Two"), ("Two", "One"))
    ]
    assert [outcome.reason for outcome in try_out(paths, 30.0).values()] == ["", ""]


def test_nothing_is_left_behind(run: Callable[..., Outcome]) -> None:
    def open_descriptors() -> set[str]:
        return set(os.listdir("/proc/self/fd"))

    def children() -> set[str]:  # ended ones that nobody waited for, too
        tasks = Path("/proc/self/task").iterdir()
        return {child for task in tasks for child in (task / "children").read_text().split()}

    # What earlier tests left to the collector, such as workers, may end meanwhile.
    gc.collect()
    before, threads, others = open_descriptors(), threading.active_count(), children()
    run()
    run("-DAT_LOAD=abort()")
    run("-DIN_CREATE=spin()", timeout=0.3)
    assert open_descriptors() <= before
    assert threading.active_count() <= threads
    assert children() <= others


def test_a_file_that_writes_to_every_descriptor_is_no_passed_one(
    run: Callable[..., Outcome],
) -> None:
    flood = (
        'for(int fd=3;fd<20;++fd)for(int i=0;i<9000;++i)if(write(fd,"x \\n passed\\n",11)<0)break'
    )
    outcome = run(f"-DAT_LOAD={flood};_exit(0)", timeout=20.0)
    assert outcome.stage == "dlopen"
    assert outcome.reason


def test_a_process_that_writes_no_bytecode_has_none_written_for_it(
    run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tmp_path / "bytecode"
    monkeypatch.setattr(sys, "pycache_prefix", str(prefix))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert run() == GOOD
    assert not prefix.exists()
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert run() == GOOD
    assert any(prefix.rglob("probing*.pyc"))


def test_a_python_that_cannot_be_started_is_told(
    run: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    outcome = run()
    assert outcome.stage == "probe"
    assert outcome.reason.startswith("cannot be tried out, as no process can be started: [Errno 2]")
    assert outcome.depends_on_machine


def test_the_questions_are_spelled_as_the_layer_table_has_them() -> None:
    asked = {layer["type"]: layer for layer in questions.layers()}
    assert list(asked) == [
        "Addition", "Activation", "Convolution2d", "Multiplication", "Softmax", "Reshape",
        "ArmnnProbeMadeUp",
    ]  # fmt: skip
    attributes = {name: elements for name, _, elements in asked["Reshape"]["attributes"]}
    assert attributes["target_shape"] == [33]
    assert ["data_layout", 1, [2]] in asked["Convolution2d"]["attributes"]
    assert [tensor["is_constant"] for tensor in asked["Convolution2d"]["inputs"]] == [False, True]
