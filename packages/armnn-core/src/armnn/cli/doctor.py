# SPDX-License-Identifier: MIT
"""``armnn doctor``: everything that was seen, where it was looked for, and what to do about it."""

from __future__ import annotations

import argparse

from armnn.cli.backends import print_entries
from armnn.cli.diagnosis import Diagnosis, Finding, diagnose
from armnn.cli.output import print_json, print_table

_EXAMPLES = """\
examples:
  armnn doctor                                     load every backend and say what is wrong
  armnn doctor --backends CpuAcc                   exit with 1 unless CpuAcc can be used
  armnn doctor --dynamic-backends-path /opt/acme --json
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add ``armnn doctor``."""
    parser = subparsers.add_parser(
        "doctor",
        help="find out why a backend or parser does not work",
        description="Load every backend that may be loaded, and show what was found, where, and "
        "what is wrong with it. Exits with 1 if a backend that --backends names is not usable.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--backends", metavar="ID[,ID...]", default="", help="backends that must be usable"
    )
    parser.add_argument(
        "--dynamic-backends-path", metavar="DIR", help="also look for shared libraries there"
    )
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    parser.set_defaults(handler=examine)


def examine(arguments: argparse.Namespace) -> int:
    """Print the diagnosis; return 1 if a named backend is not usable."""
    named = [word.strip() for word in arguments.backends.split(",") if word.strip()]
    diagnosis = diagnose(named, arguments.dynamic_backends_path)
    if arguments.json:
        print_json(diagnosis.as_document())
    else:
        _show(diagnosis)
    return 1 if diagnosis.unusable else 0


def _show(diagnosis: Diagnosis) -> None:
    print_table("System", ["what", "is"], list(diagnosis.system.items()))
    print_table(
        "Folders with installed distributions",
        ["folder", "distributions"],
        [(folder, str(count)) for folder, count in diagnosis.locations],
    )
    if diagnosis.entries:
        print_entries(diagnosis.entries, "Backends")
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
    print_table(
        "Environment",
        ["variable", "value", "honoured"],
        [(v.name, v.value or "not set", v.honoured) for v in diagnosis.variables],
    )
    _show_findings(diagnosis.findings)


def _show_findings(findings: tuple[Finding, ...]) -> None:
    if not findings:
        print("No problem was found.")
        return
    print("What is wrong:" if any(f.is_problem for f in findings) else "Worth knowing:")
    for finding in findings:
        print(f"  - {finding.text}")
