# SPDX-License-Identifier: MIT
"""Hostile files each have a reason.

All of them are copies of one library; those that hang are tried out at once, as are the others.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from armnn_dynamic_loader import probe

if TYPE_CHECKING:
    from armnn_dynamic_loader.probe import Outcome

pytestmark = pytest.mark.xdist_group("hostile")  # of one worker: files are tried out once

SOURCE = Path(__file__).with_name("hostile_backend.c")
PT_GNU_STACK = 0x6474E551
MEMORY = 256 << 20
TIMEOUT = 6.0
PATIENCE = 120.0
# A start may take two time-outs, and the guard's grace for a process that cannot be ended.
LONGEST_START = 2 * TIMEOUT + 5

REFUSED = {
    # state of the process
    "HandlesSegv": ("dlopen", "changes what SIGSEGV does"),
    "HandlesFpe": ("dlopen", "changes what SIGFPE does"),
    "HandlesAbrt": ("dlopen", "changes what SIGABRT does"),
    "HandlesUsr1": ("dlopen", "changes what SIGUSR1 does"),
    "IgnoresChld": ("dlopen", "changes what SIGCHLD does"),
    "SignalStack": ("dlopen", "changes the alternate signal stack"),
    "LimitsFiles": ("dlopen", "changes the limit RLIMIT_NOFILE"),
    "LimitsStack": ("dlopen", "changes the limit RLIMIT_STACK"),
    "SetsVariable": ("dlopen", "changes the environment variables"),
    "ClearsVariables": ("dlopen", "changes the environment variables"),
    "IsNice": ("dlopen", "changes its priority"),
    "SchedulesItself": ("dlopen", "changes its priority"),
    "HidesItself": ("dlopen", "changes whether it may be traced"),
    "DropsRights": ("dlopen", "changes which privileges it may gain"),
    "Personality": ("dlopen", "changes the personality of the process"),
    "ProfilingTimer": ("dlopen", "sets a timer"),
    "ClosesStderr": ("dlopen", "closes or redirects stderr"),
    "MovesInQuery": ("query", "changes the working directory"),
    "LocaleInExecute": ("execute", "changes the locale"),
    "ReapsChildren": ("dlopen", "changes what SIGCHLD does"),
    "RestartsCalls": ("dlopen", "changes what SIGINT does"),
    "AdoptsOrphans": ("dlopen", "changes whether orphaned processes become its children"),
    "OutlivesParent": ("dlopen", "changes the signal at the end of its parent process"),
    "SlacksTimers": ("dlopen", "changes the slack of its timers"),
    "RefusesHugePages": ("dlopen", "changes whether it uses huge pages"),
    "RenamesProcess": ("dlopen", "changes its name"),
    "LocksMemory": ("dlopen", "changes the memory that it locks"),
    "WantsToDieFirst": ("dlopen", "changes when the kernel ends it for want of memory"),
    "ExecutableStack": ("dlopen", "makes the stack executable|cannot be opened: .*executable st"),
    # crashes, exits and hangs
    "BecomesAnother": ("dlopen", r"ended the process with exit\(0\) while it was loaded"),
    "LeavesMainThread": ("dlopen", r"ended the process with exit\(0\) while it was loaded"),
    "StopsItself": ("dlopen", "did not come back within 6 s while it was loaded"),
    "IsTraced": ("dlopen", "did not come back within 6 s while it was loaded"),
    "DividesByZero": ("dlopen", "crashed with SIGFPE while it was loaded"),
    "ExecutesNonsense": ("dlopen", "crashed with SIG(ILL|TRAP) while it was loaded"),
    "RealTimeSignal": ("dlopen", "crashed with signal 37 while it was loaded"),
    "HangsInQuery": ("query", "did not come back within 6 s in query"),
    "HangsInCompile": ("compile", "did not come back within 6 s in compile"),
    "HangsInExecute": ("execute", "did not come back within 6 s in execute of Addition"),
    "DeadlocksInThreads": (
        "threads",
        "did not come back within 6 s in execute of Addition, in two threads at once",
    ),
    "CrashesInCompile": ("compile", "crashed with SIGABRT in compile or context_create of Addit"),
    "CrashesInRequirement": ("execute", "crashed with SIGABRT in execute of Addition"),
    "CrashesInProgramDestroy": ("serialize", "crashed with SIGABRT in serialize, check_blob or"),
    "CrashesInContextDestroy": ("end", "crashed with SIGABRT while it was shut down"),
    "CrashesInDestructor": ("end", "crashed with SIGABRT while it was shut down"),
    "HangsInDestructor": ("end", "did not come back within 6 s while it was shut down"),
    "ExitsInShutdown": ("end", r"ended the process with exit\(0\) while it was shut down"),
    "ExitsInId": ("id", r"ended the process with exit\(0\) in GetBackendId"),
    "GarbageId": ("id", "crashed with SIGSEGV in GetBackendId"),
    "CrashesInVersion": ("version", "crashed with SIGABRT in GetVersion"),
    "ExitsInCreate": ("create", r"ended the process with exit\(0\) in create"),
    "OverflowsStack": ("create", "crashed with SIGSEGV in create"),
    "ClosesAll": ("create", r"ended the process with exit\(1\) in create .*descriptors that are"),
    "CrashesInDevices": ("describe", "crashed with SIGABRT in devices, capabilities"),
    "CrashesInCapabilities": ("describe", "crashed with SIGABRT in devices, capabilities"),
    "CrashesInExtension": ("describe", "crashed with SIGABRT in devices, capabilities"),
    "CrashesInEvent": ("describe", "crashed with SIGABRT in devices, .* or network_event"),
    "CrashesInSerialize": (
        "serialize",
        "crashed with SIGABRT in serialize, check_blob or deserialize of",
    ),
    "CrashesInCheckBlob": (
        "serialize",
        "crashed with SIGABRT in serialize, check_blob or deserialize of",
    ),
    "CrashesInDeserialize": (
        "serialize",
        "crashed with SIGABRT in serialize, check_blob or deserialize of",
    ),
    "CrashesInDestroy": ("end", "crashed with SIGABRT while it was shut down"),
    "CrashesInShutdown": ("end", "crashed with SIGABRT while it was shut down"),
    "HangsAtLoad": ("dlopen", "did not come back within 6 s while it was loaded"),
    "SleepsInCreate": ("create", "did not come back within 6 s in create"),
    "HangsInDestroy": ("end", "did not come back within 6 s while it was shut down"),
    "HangsInShutdown": ("end", "did not come back within 6 s while it was shut down"),
    "HangsAtExit": ("end", "did not come back within 6 s while it was shut down"),
    "EatsMemory": ("create", "crashed with SIGABRT in create|took more than 256 MiB of memory in"),
    "EatsSharedMemory": ("create", "took more than 256 MiB of memory in create"),
    "FillsStdout": ("create", "prints to stdout: 'MockMock"),
    # processes and signals
    "SignalsParent": ("dlopen", "sent SIGTERM to its parent process while it was loaded"),
    "KillsParent": ("dlopen", "killed its parent process while it was loaded"),
    "StopsParent": ("dlopen", "did not come back within 6 s while it was loaded"),
    "SurvivesGuard": ("dlopen", "killed its parent process while it was loaded"),
    "EscapesBesideItself": ("end", "leaves processes behind: 'python.*'"),
    "SignalsGroup": ("dlopen", "crashed with SIGTERM while it was loaded"),
    "EscapesTwice": ("end", "leaves processes behind: 'python.*'"),
    "LeavesChildInCompile": ("end", "leaves processes behind: 'python.*'"),
    "EscapesInExecute": ("end", "leaves processes behind: 'python.*'"),
    "Bombs": ("create", "(did not come back within 6 s|took more than 256 MiB of memory) in c"),
    # what it points to
    "GarbageTable": ("table", "has a defect: BackendFactory returned no table: .* not mapped"),
    "FarTable": ("table", "has a defect: BackendFactory returned no table: .* not mapped"),
    "GarbageVendor": ("table", "has a defect: vendor of the table cannot be read: 4 bytes at 0x10"),
    "HugeVendor": ("table", "has a defect: vendor of the table has 1099511627776 bytes, expected"),
    "NullVendor": ("table", "has a defect: vendor of the table is NULL with size 4"),
    "ControlInVersion": ("table", r"has a defect: version of the table is '1\\x1b\[2J', expected"),
    "GarbageReason": ("query", "refuses Activation with a stale reason: 9 bytes at 0x10 are not"),
    "GarbageDevices": ("describe", "points to memory that is not there: 8 bytes at 0x10"),
    "ManyDevices": ("describe", "lists 1099511627776 devices, expected at most 1024"),
    "NullDevice": ("describe", "lists 2 devices, one of which is NULL"),
    "GarbageDeviceName": ("describe", "points to memory that is not there: 3 bytes at 0x10"),
    "ForeignDevice": ("describe", "lists a device with struct_id 0x54534841"),
    "SmallDevice": ("describe", "lists a device with .* struct_size 8, expected"),
    "GarbageFacts": ("describe", "points to memory that is not there: 32 bytes at 0x10"),
    "GarbageCapability": ("describe", "points to memory that is not there: 3 bytes at 0x10"),
    "NullCapabilities": ("describe", "lists 1 options at NULL"),
    "ManyCapabilities": ("describe", "lists 1099511627776 options, expected at most 1024"),
    "AnyExtension": ("describe", "has the extension 'armnn.probe.made_up/1', which does not exist"),
    "GarbageExtension": ("describe", "points to memory that is not there: .* at 0x10"),
    "ForeignExtension": ("describe", "answers 'armnn.async/1' with a table of id 0x54534841"),
    "OddVerdict": ("serialize", "answers check_blob of its own program with 77"),
    "NullDeserialize": ("serialize", "returns ARMNN_OK from deserialize without an object"),
    # its texts
    "EscapeSequences": ("create", r"has a defect: it answers code 13: no \\x1b\[2J\\ndevice$"),
    "Bidirectional": ("create", r"has a defect: it answers code 13: no \\u202edevice$"),
    "NotUtf8": ("create", "has a defect: it answers code 13: no \ufffd device$"),
    "GarbageMessage": ("create", "has a defect: it .* code 13: <20 bytes at 0x10 are not mapped>"),
    "LongMessage": ("create", "has a defect: it answers code 13: x{4096}$"),
    "EndlessMessage": ("create", "has a defect: it answers code 13: (Endless|<4096 bytes at)"),
    # its results
    "OverrunsBy4": ("execute", "writes behind the end of output 0 of Addition"),
    "OverrunsBy32": ("execute", "writes behind the end of output 0 of Addition"),
    "StartsBefore": ("execute", "writes before the beginning of output 0 of Addition"),
    "ReadsBefore": ("execute", "crashed with SIG(SEGV|BUS) in execute of Addition"),
    "ReadsTooMuch": (
        "guarded",
        "crashed with SIG(SEGV|BUS) in execute of Addition, where its tensors end",
    ),
    "WritesInputsBack": (
        "guarded",
        "crashed with SIG(SEGV|BUS) in execute of Addition, where its tensors end",
    ),
    "LeavesTail": ("execute", r"leaves element \d+ of output 0 of Addition unwritten"),
    "FailsSecondRun": ("execute", r"claims Addition, but then answers code 13: again\?"),
    "ForgetsResult": ("execute", "computes something else in a second run of Addition"),
    "NeedsOneThread": ("threads", "computes something else in two threads at once of Addition"),
    "NeedsAlignment": (
        "guarded",
        "crashed with SIGABRT in execute of Addition, where its tensors end",
    ),
    "OddAlignment": ("execute", "asks for memory aligned to 3, expected a power of two up to 4096"),
    "HugeAlignment": ("execute", "asks for memory aligned to 1048576, expected a power of two"),
    "HugeBuffers": ("execute", "asks for 1099511627776 bytes for a small tensor"),
}
# Restored around every call by the host, or within what the header allows.
PASSED = [
    "Good",
    "SetsFtz",
    "RoundsUp",
    "Traps",
    "RoundsInExecute",
    "DeclaresAlignment",
    "RefusesNetworks",
    "RefusesToSerialize",
    "EndlessSerialize",
    "ReservesAddresses",
    "HasThreads",
    "FillsStderr",
]
if os.geteuid() == 0:  # others cannot
    REFUSED["ChangesPersons"] = ("dlopen", "changes the user or group")
    REFUSED["LeavesNetwork"] = ("dlopen", "changes the namespace net")
    REFUSED["LeavesHost"] = ("dlopen", "changes the namespace uts")
if len(os.sched_getaffinity(0)) > 1:
    REFUSED["PinsItself"] = ("dlopen", "changes the processors it may run on")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, compiled: Callable[..., Path]) -> Path:
    made = tmp_path_factory.mktemp("hostile")
    made.chmod(0o755)
    library = compiled("-Wno-infinite-recursion", "-lm", source=SOURCE)
    for name in (*REFUSED, *PASSED):
        shutil.copyfile(library, made / f"Mock_{name}_backend.so")
        (made / f"Mock_{name}_backend.so").chmod(0o755)
    ask_for_an_executable_stack(made / "Mock_ExecutableStack_backend.so")
    return made


def ask_for_an_executable_stack(path: Path) -> None:
    """Make the flags of PT_GNU_STACK those of execstack."""
    content = bytearray(path.read_bytes())
    is_large = content[4] == 2  # ELFCLASS64
    start, size, count, flags = (32, 54, 56, 4) if is_large else (28, 42, 44, 24)
    table = int.from_bytes(content[start : start + (8 if is_large else 4)], sys.byteorder)
    step = int.from_bytes(content[size : size + 2], sys.byteorder)
    for place in range(table, table + step * content[count], step):
        if int.from_bytes(content[place : place + 4], sys.byteorder) == PT_GNU_STACK:
            content[place + flags] |= 1
    path.write_bytes(content)


def paths(folder: Path, names: Iterable[str]) -> list[str]:
    return [str(folder / f"Mock_{name}_backend.so") for name in names]


@pytest.fixture(scope="module")
def tried(folder: Path) -> tuple[dict[str, Outcome], float]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "LARGEST_MEMORY", MEMORY)
        hanging = [name for name, (_, reason) in REFUSED.items() if "did not come" in reason]
        others = [name for name in (*REFUSED, *PASSED) if name not in hanging]
        outcomes = probe.try_out(paths(folder, others), PATIENCE)
        began = time.monotonic()
        outcomes |= probe.try_out(paths(folder, hanging), TIMEOUT)
        seconds = time.monotonic() - began
    return {Path(path).name.split("_")[1]: outcome for path, outcome in outcomes.items()}, seconds


@pytest.mark.parametrize("name", REFUSED)
def test_each_hostile_file_has_its_reason(
    tried: tuple[dict[str, Outcome], float], name: str
) -> None:
    stage, reason = REFUSED[name]
    outcome = tried[0][name]
    assert (outcome.stage, bool(re.match(reason, outcome.reason))) == (stage, True), outcome


@pytest.mark.parametrize("name", PASSED)
def test_what_is_restored_or_allowed_passes(
    tried: tuple[dict[str, Outcome], float], name: str
) -> None:
    assert tried[0][name].reason == ""


def test_all_that_hang_take_two_time_outs_at_most(
    tried: tuple[dict[str, Outcome], float],
) -> None:
    assert len(REFUSED) >= 60
    assert tried[1] < LONGEST_START
