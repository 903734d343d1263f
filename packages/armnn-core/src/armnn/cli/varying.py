# SPDX-License-Identifier: MIT
"""``armnn compare --vary``: a comparison per value of a variable."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from armnn.cli.output import print_json, print_table, progress
from armnn.errors import InvalidArgumentError
from armnn_backend_api.processes import Bounds, Program, run

SECONDS = 3600.0
"""How long the comparison with one value may take."""

_REPEATED = ("shape", "option", "layer_backend")
_SINGLE = ("reference", "inputs", "samples", "seed", "repeats", "dynamic_backends_path", "probe")


def vary(arguments: argparse.Namespace) -> int:
    """Compare with each value, in a process each.

    Libraries read variables once. Return 1 if a layer is wrong with one value.

    Raises:
        InvalidArgumentError: It is not NAME=VALUE,...
    """
    name, values = _split(arguments.vary)
    found = {}
    with progress(f"Comparing for each {name}", len(values)) as advance:
        for value in values:
            found[value] = _compared(arguments, name, value)
            advance()
    if arguments.json:
        print_json({"model": arguments.model, "variable": name, "values": found})
    else:
        rows = [(value, _verdict(each), _layers(each)) for value, each in found.items()]
        print_table(f"Wrong layers by {name}", (name, "verdict", "layers"), rows)
    return 0 if all(each.get("agrees") for each in found.values()) else 1


def _split(text: str) -> tuple[str, Sequence[str]]:
    name, equals, listed = text.partition("=")
    values = list(dict.fromkeys(each for each in listed.split(",") if each))
    if not equals or not name or not values:
        raise InvalidArgumentError(
            f"--vary got {text!r}, expected NAME=VALUE,... as in OMP_NUM_THREADS=1,2"
        )
    return name, values


def _compared(arguments: argparse.Namespace, name: str, value: str) -> dict[str, Any]:
    """Return a comparison as JSON has it, or an error."""
    command = [sys.executable, "-m", "armnn", "compare", arguments.model, "--json"]
    command += ["--backends", ",".join(arguments.backends)]
    for option in _SINGLE:
        given = getattr(arguments, option)
        command += [] if given is None else [f"--{option.replace('_', '-')}", str(given)]
    for option in _REPEATED:
        for each in getattr(arguments, option):
            command += [f"--{option.replace('_', '-')}", each]
    command += ["--every-layer"] if arguments.every_layer else []
    command += ["--no-rewrite"] if not arguments.optimizer_rewrite else []
    ending = run(Program(command), Bounds(seconds=SECONDS), environment={**os.environ, name: value})
    try:
        found: dict[str, Any] = json.loads(ending.output)
    except ValueError:
        lines = ending.errors.decode(errors="replace").strip().splitlines() or [str(ending)]
        return {"agrees": False, "error": lines[-1].removeprefix("armnn: error: ")}
    return found


def _verdict(found: dict[str, Any]) -> str:
    return found.get("error") or ("right" if found["agrees"] else "wrong")


def _layers(found: dict[str, Any]) -> str:
    wrong = (each for each in found.get("verdicts", ()) if each["wrong"])
    return ", ".join(" + ".join(each["layers"]) for each in wrong)
