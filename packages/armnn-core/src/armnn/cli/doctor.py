# SPDX-License-Identifier: MIT
"""``armnn doctor``: findings, searched places and advice."""

from __future__ import annotations

import argparse

from armnn._installing import FAST
from armnn.backends import CreationOptions
from armnn.backends.blame import blame
from armnn.backends.journal import forget_lost_workers
from armnn.backends.sources import find_source
from armnn.cli.arguments import add_lock_file_argument
from armnn.cli.backends import print_entries
from armnn.cli.diagnosis import Diagnosis, Finding, diagnose
from armnn.cli.output import print_json, print_table, printable, progress

_EXAMPLES = f"""\
examples:
  armnn doctor                                     load every backend and say what is wrong
  armnn doctor --backends {FAST}                   exit with 1 unless {FAST} can be used
  armnn doctor --backends "GpuAcc?,{FAST}"         ... and say why a list skips GpuAcc
  armnn doctor --dynamic-backends-path /opt/acme --json
  armnn doctor --dynamic-backends-path /opt/acme --reprobe
  armnn doctor --lock-file acme.lock               what a lock file lets in
  armnn doctor --lint Acme_Npu_backend.so          read a file without running any of it
"""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn doctor``."""
    parser = subparsers.add_parser(
        "doctor",
        help=summary,
        description="Load every backend that may be loaded, and show what was found, where, and "
        "what is wrong with it. Exits with 1 if a backend that --backends names is not usable.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--backends",
        metavar="ID[,ID...]",
        type=_named,
        action="extend",
        default=[],
        help="backends that must be usable, but for those with a question mark, as in 'GpuAcc?', "
        "which a list skips if they are not; given again, it adds more",
    )
    parser.add_argument(
        "--dynamic-backends-path", metavar="DIR", help="also look for shared libraries there"
    )
    add_lock_file_argument(parser)
    parser.add_argument(
        "--reprobe", action="store_true", help="try shared libraries out again, even if known"
    )
    parser.add_argument(
        "--probe-timeout",
        type=float,
        default=CreationOptions().probe_timeout,
        metavar="SECONDS",
        help="how long trying one out may take (%(default)s)",
    )
    parser.add_argument(
        "--import-times",
        action="store_true",
        help="measure what importing each backend, parser and source takes",
    )
    parser.add_argument(
        "--lint",
        metavar="FILE",
        help="only say what is wrong with a shared library; do not open it",
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.set_defaults(handler=examine)


def examine(arguments: argparse.Namespace) -> int:
    """Print the diagnosis; return 1 for an unusable named backend.

    The status is also 1 if a linted file has a defect.

    Raises:
        BackendUnavailableError: There is no loader to lint with.
        OSError: The file to lint cannot be read.
    """
    if arguments.lint is not None:
        return _lint(arguments.lint, as_json=arguments.json)
    options = CreationOptions(
        dynamic_backends_path=arguments.dynamic_backends_path,
        probe="again" if arguments.reprobe else "on",
        probe_timeout=arguments.probe_timeout,
        require_locked=arguments.lock_file is not None,
        lock_file=arguments.lock_file,
    )
    if arguments.reprobe:
        blame()
        forget_lost_workers()
    with progress("Examining backends"):
        diagnosis = diagnose(arguments.backends, options, times_imports=arguments.import_times)
    if arguments.json:
        print_json(diagnosis.as_document())
    else:
        _show(diagnosis)
    return 1 if diagnosis.unusable else 0


def _named(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _lint(path: str, *, as_json: bool) -> int:
    problems = list(find_source().lint(path))
    if as_json:
        print_json({"file": path, "problems": problems})
    else:
        print(f"{printable(path)}: {'nothing is wrong with it.' if not problems else ''}".rstrip())
        for problem in problems:
            print(f"  - {printable(problem)}")
    return 1 if problems else 0


def _show(diagnosis: Diagnosis) -> None:
    print_table("System", ["what", "is"], list(diagnosis.system.items()))
    print_table(
        "Folders with installed distributions",
        ["folder", "distributions"],
        [(folder, str(count)) for folder, count in diagnosis.locations],
    )
    if diagnosis.entries:
        print_entries(diagnosis.entries, "Backends")
    if diagnosis.skipped:
        print_table(
            "Skipped backends of the list",
            ["backend", "reason"],
            [(each.id, each.reason) for each in diagnosis.skipped],
        )
    if diagnosis.facts:
        print_table(
            "What backends say of themselves",
            ["backend", "what", "is"],
            [(fact.backend, fact.name, fact.value) for fact in diagnosis.facts],
        )
    if diagnosis.parsers:
        print_table(
            "Parsers",
            ["suffix", "distribution", "version", "origin"],
            [
                (f".{p.name}", p.distribution.name, p.distribution.version, p.value)
                for p in diagnosis.parsers
            ],
        )
    print_table(
        "Dynamic backends",
        ["source", "distribution", "origin"],
        [(s.name, str(s.distribution), s.value) for s in diagnosis.sources]
        or [("none", "", diagnosis.dynamic)],
    )
    if diagnosis.folders:
        print_table(
            "Folders of dynamic backends",
            ["folder", "from", "verdict"],
            [(f.path, f.origin, f.problem or "scanned") for f in diagnosis.folders],
        )
    if diagnosis.import_times:
        print_table(
            "Import times",
            ["group", "name", "module", "seconds"],
            [
                (t.group, t.name, t.module, t.problem if t.seconds is None else f"{t.seconds:.3f}")
                for t in diagnosis.import_times
            ],
        )
    if diagnosis.pools:
        print_table(
            "Libraries with threads of their own",
            ["kind", "name", "version", "threads", "file"],
            [(p.kind, p.name, p.version, str(p.threads), p.path) for p in diagnosis.pools],
        )
    print_table(
        "Environment",
        ["variable", "value", "honoured"],
        [(v.name, v.value or "not set", v.honoured) for v in diagnosis.variables],
    )
    _show_findings(diagnosis.findings)


def _show_findings(findings: tuple[Finding, ...]) -> None:
    if not findings:
        print("No problem was found.")
        print("If results are wrong, 'armnn compare MODEL --backends ID' names the layers, and")
        print("'armnn reduce MODEL --backends ID -o FILE' writes the smallest model that shows it.")
        return
    print("What is wrong:" if any(f.is_problem for f in findings) else "Worth knowing:")
    for finding in findings:
        print(f"  - {printable(finding.text)}")
