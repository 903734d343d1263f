# SPDX-License-Identifier: MIT
"""``armnn schema``: the JSON Schemas of documents that commands print, and of records.

A member that a command adds, renames or leaves out is a change here, too: the tests of the commands
check every document that they print. Numbers that may be NaN or infinite are texts then.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from armnn.arguments import unknown
from armnn.errors import InvalidArgumentError
from armnn.metadata import entry_points
from armnn.runtime.record import SCHEMA as RECORD
from armnn.schemas import (
    ANYTHING,
    FLAG,
    INTEGER,
    NUMBER,
    OPTION,
    SHA256,
    TEXT,
    Schema,
    document,
    either,
    fixed,
    json_text,
    listed,
    member_of,
    named,
    or_null,
)
from armnn_tools.cli.main import GROUP
from armnn_tools.cli.options import add_command
from armnn_tools.cli.output import printable

_EXAMPLES = """\
examples:
  armnn schema                     the names
  armnn schema run                 what 'armnn run --json' prints
  armnn schema record              what 'armnn run --record FILE' writes
  armnn schema error               what any command prints with --json when it fails
"""

_REAL: Final = either(NUMBER, member_of("NaN", "Infinity", "-Infinity"))
_SHAPE: Final = listed(INTEGER)
_OPEN_SHAPE: Final = or_null(listed(either(INTEGER, TEXT, {"type": "null"})))
_TEXT_OR_NULL: Final = or_null(TEXT)
_NUMBER_OR_NULL: Final = or_null(NUMBER)
_COUNT_OR_NULL: Final = or_null(INTEGER)
_COUNTS: Final = named(INTEGER)

_FOOTPRINT: Final = {"arena_bytes": INTEGER, "scratch_bytes": INTEGER, "weight_bytes": INTEGER}
_SKIPPED: Final = fixed({"id": TEXT, "reason": TEXT})
_REFUSAL: Final = fixed({"backend": TEXT, "reason": TEXT})
_ROW: Final = fixed(
    {
        "layer": TEXT,
        "type": TEXT,
        "backend": TEXT,
        "refusals": listed(_REFUSAL),
        "compiled_into": TEXT,
        "specialisation": TEXT,
        "footprint": or_null(fixed(_FOOTPRINT)),
        "conversion": TEXT,
        "multiply_adds": _COUNT_OR_NULL,
    }
)
_COMPILED_PART: Final = fixed(
    {"name": TEXT, "backend": TEXT, "layers": INTEGER, "specialisation": TEXT, **_FOOTPRINT}
)
_PART: Final = fixed(
    {
        "name": TEXT,
        "backend": TEXT,
        "layers": INTEGER,
        "specialisation": TEXT,
        "borders": listed(
            fixed({"tensor": TEXT, "source": TEXT, "bytes": _COUNT_OR_NULL, "copied": FLAG})
        ),
    }
)
_TIME: Final = fixed(
    {
        "layer": TEXT,
        "type": TEXT,
        "backend": TEXT,
        "milliseconds": NUMBER,
        "share": NUMBER,
        "multiply_adds": _COUNT_OR_NULL,
        "predicted_milliseconds": _NUMBER_OR_NULL,
        "gflops": _NUMBER_OR_NULL,
    }
)

# -- run ---------------------------------------------------------------------------------------

_LATENCY: Final = fixed(
    {
        "median_ms": NUMBER,
        "min_ms": NUMBER,
        "max_ms": NUMBER,
        "iterations": INTEGER,
        "warmup": INTEGER,
    },
    {
        "concurrent": INTEGER,
        "runs_per_second": NUMBER,
        "threshold_ms": NUMBER,
        "exceeds_threshold": FLAG,
        "imports": TEXT,
    },
)
_INPUT: Final = fixed(
    {"name": TEXT, "data_type": TEXT, "shape": _SHAPE, "source": TEXT, "notes": listed(TEXT)}
)
_OUTPUT: Final = fixed(
    {"name": TEXT, "data_type": TEXT, "shape": _SHAPE},
    {
        "values": ANYTHING,  # lists in lists, as many as there are axes
        "min": either(FLAG, NUMBER),
        "max": either(FLAG, NUMBER),
        "mean": NUMBER,
        "not_finite": INTEGER,
        "first": listed(either(FLAG, _REAL)),
        "top": listed(
            fixed(
                {"row": INTEGER, "rank": INTEGER, "index": INTEGER, "label": TEXT, "score": _REAL}
            )
        ),
    },
)
_COMPARISON: Final = fixed(
    {
        "source": TEXT,
        "agrees": FLAG,
        "tolerance": fixed({"of_range": NUMBER, "steps": INTEGER}),
        "outputs": listed(
            fixed(
                {
                    "name": TEXT,
                    "problem": TEXT,
                    "unit": TEXT,
                    "largest": _REAL,
                    "rms_error": _REAL,
                    "count": INTEGER,
                    "total": INTEGER,
                    "first": or_null(_SHAPE),
                    "got": or_null(_REAL),
                    "expected": or_null(_REAL),
                    "agrees": FLAG,
                }
            )
        ),
    }
)
_RESULTS: Final = {"outputs": listed(_OUTPUT), "comparisons": listed(_COMPARISON)}
_RUN: Final = {
    "model": TEXT,
    "load_ms": NUMBER,
    "latency": _LATENCY,
    "peak_memory_mb": NUMBER,
    "layers_by_backend": _COUNTS,
    "planned_layers_by_backend": _COUNTS,
    "choice_of_backends": TEXT,
    "skipped_backends": listed(_SKIPPED),
    "faults": listed(TEXT),
    "files": named(TEXT),
}
_ON_REQUEST: Final = {
    "labels": TEXT,
    "report": listed(_ROW),
    "compiled_parts": listed(_COMPILED_PART),
    "parts": listed(_PART),
    "planned_report": listed(_ROW),
    "layer_times": listed(_TIME),
    "profiled_latency": _LATENCY,
    "times_ms": named(NUMBER),
}
_ONE_SET: Final = fixed({**_RUN, "inputs": listed(_INPUT)}, {**_RESULTS, **_ON_REQUEST})
_SETS: Final = fixed(
    {**_RUN, "sets": listed(fixed({"inputs": listed(_INPUT)}, _RESULTS))}, _ON_REQUEST
)
_SERIALIZED: Final = fixed({"model": TEXT, "files": fixed({"network": TEXT})})

# -- view and inspect ----------------------------------------------------------------------------

_TENSOR: Final = fixed(
    {"text": TEXT},
    {"scales": listed(NUMBER), "zero_points": listed(INTEGER), "axis": _COUNT_OR_NULL},
)
_VERDICT_ON_NODE: Final = fixed(
    {
        "is_wrong": FLAG,
        "kind": TEXT,
        "ratio": _NUMBER_OR_NULL,
        "largest": _NUMBER_OR_NULL,
        "unit": TEXT,
        "note": TEXT,
        "together": listed(TEXT),
    }
)
_PAIRS: Final = listed(listed(TEXT))
_MEASURED: Final = {
    "time": or_null(_TIME),
    "verdict": or_null(_VERDICT_ON_NODE),
    "refusals": or_null(_PAIRS),
    "conversion": _TEXT_OR_NULL,
}
_NODE: Final = fixed(
    {
        "name": TEXT,
        "type": TEXT,
        "backend": TEXT,
        "part": _COUNT_OR_NULL,
        "parameters": _PAIRS,
        "inputs": listed(
            fixed({"slot": TEXT, "tensor": _TENSOR, "source": TEXT, "is_constant": FLAG})
        ),
        "outputs": listed(_TENSOR),
        "refusals": _PAIRS,
        "conversion": TEXT,
        "weights": _COUNT_OR_NULL,
        "multiply_adds": _COUNT_OR_NULL,
        "time": _MEASURED["time"],
        "verdict": _MEASURED["verdict"],
    }
)
_VIEW: Final = fixed(
    {
        "name": TEXT,
        "nodes": listed(_NODE),
        "edges": listed(
            fixed(
                {
                    "from": INTEGER,
                    "to": INTEGER,
                    "tensor": TEXT,
                    "border": member_of("", "shared", "copied"),
                },
                {"bytes": _COUNT_OR_NULL},
            )
        ),
        "parts": listed(
            fixed(
                {
                    "name": TEXT,
                    "title": TEXT,
                    "backend": TEXT,
                    "layers": INTEGER,
                    "block": INTEGER,
                    "footprint": or_null(fixed(_FOOTPRINT)),
                    "time": _MEASURED["time"],
                }
            )
        ),
        "backends": listed(TEXT),
        "totals": fixed(
            {
                "layers": INTEGER,
                "weights": INTEGER,
                "weight_bytes": INTEGER,
                "multiply_adds": _COUNT_OR_NULL,
            }
        ),
        "is_timed": FLAG,
        "is_compared": FLAG,
    }
)
_INFO: Final = fixed(
    {"name": TEXT, "data_type": TEXT, "shape": _OPEN_SHAPE},
    {"scales": listed(NUMBER), "zero_points": listed(INTEGER), "quantization_axis": INTEGER},
)
_REASONS: Final = listed(fixed({"name": TEXT, "reason": TEXT}))
_INSPECT: Final = fixed(
    {
        "model": TEXT,
        "name": TEXT,
        "inputs": listed(_INFO),
        "outputs": listed(_INFO),
        "layers": INTEGER,
        "parameters": INTEGER,
        "parameter_bytes": INTEGER,
        "multiply_adds": _COUNT_OR_NULL,
        "layers_by_type": listed(
            fixed(
                {
                    "type": TEXT,
                    "count": INTEGER,
                    "parameters": INTEGER,
                    "multiply_adds": _COUNT_OR_NULL,
                }
            )
        ),
        "metadata": named(TEXT),
        "operators": listed(
            fixed(
                {
                    "operator": TEXT,
                    "count": INTEGER,
                    "unsupported": _REASONS,
                    "behind_unsupported": listed(TEXT),
                    "known_at_run": listed(TEXT),
                    "need_no_backend": INTEGER,
                    "backends": named(fixed({"supported": INTEGER, "refusals": _REASONS})),
                    "runs_on": _COUNTS,
                }
            )
        ),
        "assumed_shapes": named(fixed({"shape": _OPEN_SHAPE, "reason": TEXT})),
        "shape_error": TEXT,
        "compiled_parts": listed(
            fixed(
                {
                    "name": TEXT,
                    "backend": TEXT,
                    "layers": listed(TEXT),
                    "footprint": or_null(fixed(_FOOTPRINT)),
                }
            )
        ),
        "waiting_layers": INTEGER,
    },
    {
        "layer_list": listed(
            fixed(
                {
                    "layer": TEXT,
                    "type": TEXT,
                    "backend": _TEXT_OR_NULL,
                    "compiled_into": TEXT,
                    "outputs": listed(_INFO),
                    "parameters": INTEGER,
                    "multiply_adds": _COUNT_OR_NULL,
                    **_MEASURED,
                }
            )
        ),
        "layer_facts": listed(_NODE),
    },
)

# -- compare and reduce --------------------------------------------------------------------------

_FIGURES: Final = {
    "kind": TEXT,
    "ratio": _REAL,
    "largest": _REAL,
    "rms": _REAL,
    "allowed": _REAL,
    "cosine": _REAL,
    "unit": TEXT,
    "count": INTEGER,
    "total": INTEGER,
    "first": or_null(_SHAPE),
    "got": or_null(_REAL),
    "expected": or_null(_REAL),
    "detail": TEXT,
}
_VERDICT: Final = fixed(
    {
        "layers": listed(TEXT),
        "types": listed(TEXT),
        "backend": TEXT,
        "wrong": FLAG,
        "flaky": FLAG,
        "wrong_runs": INTEGER,
        "runs": INTEGER,
        "sample": INTEGER,
        "note": TEXT,
        **_FIGURES,
    }
)
_FINDINGS: Final = {
    "agrees": FLAG,
    "layers": INTEGER,
    "backend_runs": INTEGER,
    "reference_runs": NUMBER,
    "largest_border_difference": _REAL,
    "verdicts": listed(_VERDICT),
    "unexplained": listed(fixed({"layers": listed(TEXT), "backend": TEXT, "sample": INTEGER})),
}
_PARTING: Final = fixed(
    {
        "index": INTEGER,
        "token": INTEGER,
        "text": TEXT,
        "other": INTEGER,
        "other_text": TEXT,
        "margin": NUMBER,
        "other_margin": NUMBER,
    }
)
_TEXT: Final = fixed(
    {
        "prompt_tokens": INTEGER,
        "tokens": listed(INTEGER),
        "text": TEXT,
        "parting": or_null(_PARTING),
        "largest_difference": NUMBER,
        "least_margin": NUMBER,
    }
)
_COMPARED: Final = fixed(
    {"model": TEXT, "samples": INTEGER, **_FINDINGS},
    {"tools": named(fixed(_FINDINGS)), "text": _TEXT},
)
_PASSES: Final = fixed(
    {
        "model": TEXT,
        "agrees": FLAG,
        "name": TEXT,
        "number": INTEGER,
        "changes": INTEGER,
        "layers": listed(TEXT),
        "added": listed(TEXT),
        "output": TEXT,
        "figures": fixed(_FIGURES),
    }
)
_VARIED: Final = fixed(
    {
        "model": TEXT,
        "variable": TEXT,
        "values": named(either(_COMPARED, fixed({"agrees": FLAG, "error": TEXT}))),
    }
)
_REDUCE: Final = fixed(
    {
        "model": TEXT,
        "files": listed(TEXT),
        "failure": TEXT,
        "kind": TEXT,
        "verdict": or_null(_VERDICT),
        "layers": listed(TEXT),
        "types": listed(TEXT),
        "layers_before": INTEGER,
        "bytes": INTEGER,
        "tries": INTEGER,
        "seconds": NUMBER,
        "complete": FLAG,
        "confirmed": INTEGER,
        "runs": INTEGER,
        "note": TEXT,
    }
)

# -- measuring and writing -----------------------------------------------------------------------

_MILLISECONDS: Final = ("p50_ms", "p90_ms", "p99_ms", "min_ms", "load_ms", "first_ms")
_BENCH: Final = fixed(
    {
        "model": TEXT,
        "threads": INTEGER,
        "streams": INTEGER,
        "runtimes": listed(
            either(
                fixed({"name": TEXT, "fault": TEXT}),
                fixed(
                    {
                        "name": TEXT,
                        "runs": INTEGER,
                        "runs_per_second": NUMBER,
                        **dict.fromkeys(_MILLISECONDS, NUMBER),
                    }
                ),
            )
        ),
    }
)
_TUNE: Final = fixed(
    {
        "model": TEXT,
        "file": TEXT,
        "models": listed(TEXT),
        "machine": TEXT,
        "builds": named(TEXT),
        "day": TEXT,
        "trials": listed(
            fixed(
                {
                    "backends": listed(TEXT),
                    "options": named(named(OPTION)),
                    "microseconds": _NUMBER_OR_NULL,
                    "load_seconds": _NUMBER_OR_NULL,
                    "border_microseconds": NUMBER,
                    "layers": _COUNTS,
                    "fault": TEXT,
                }
            )
        ),
    }
)
_MACHINE: Final = fixed({"backend": TEXT, "file": TEXT, "costs": named(NUMBER)})
_COMPILE: Final = fixed({"model": TEXT, "file": TEXT, "bytes": INTEGER, "layers": _COUNTS})
_CONVERT: Final = fixed(
    {
        "model": TEXT,
        "file": TEXT,
        "for_arm_nn": TEXT,
        "beyond_arm_nn": FLAG,
        "bytes": INTEGER,
        "layers": _COUNTS,
    }
)
_CACHED: Final = {"file": TEXT, "bytes": INTEGER, "used": NUMBER}
_CACHE: Final = fixed(
    {
        "folder": TEXT,
        "limit": INTEGER,
        "bytes": INTEGER,
        "entries": listed(fixed({**_CACHED, "content": TEXT})),
        "removed": listed(fixed(_CACHED)),
    }
)
_VERIFY: Final = fixed(
    {
        "record": TEXT,
        "model": TEXT,
        "items": INTEGER,
        "ignored": INTEGER,
        "differences": listed(fixed({"item": TEXT, "recorded": ANYTHING, "got": ANYTHING})),
    }
)

# -- backends and doctor -------------------------------------------------------------------------

_ENTRY: Final = {
    "id": TEXT,
    "state": member_of("known", "loaded", "failed", "incompatible", "blocked", "shadowed"),
    "distribution": _TEXT_OR_NULL,
    "version": _TEXT_OR_NULL,
    "api_version": _TEXT_OR_NULL,
    "declared_range": _TEXT_OR_NULL,
    "origin": TEXT,
    "location": _TEXT_OR_NULL,
    "source": _TEXT_OR_NULL,
    "stage": _TEXT_OR_NULL,
    "reason": _TEXT_OR_NULL,
    "remedy": _TEXT_OR_NULL,
    "shadowed_by": _TEXT_OR_NULL,
    "import_seconds": _NUMBER_OR_NULL,
    "isolation": _TEXT_OR_NULL,
}
_ENTRIES: Final = listed(
    fixed({**_ENTRY, "score": or_null(INTEGER)}, {"capabilities": named(OPTION)})
)
_LAYERS: Final = named(named(named(fixed({"claimed": listed(TEXT), "not_supported": named(TEXT)}))))
_CARD: Final = fixed(
    {
        "format": INTEGER,
        "backend": fixed(
            {
                "id": TEXT,
                "api_version": TEXT,
                "distribution": _TEXT_OR_NULL,
                "version": _TEXT_OR_NULL,
            }
        ),
        "versions": named(TEXT),
        "levels": named(TEXT),
        "layers": named(
            named(
                fixed(
                    {
                        "verdict": TEXT,
                        "passed": listed(TEXT),
                        "failed": named(TEXT),
                        "not_supported": named(TEXT),
                    }
                )
            )
        ),
    },
    {"graphs": named(listed(TEXT))},  # kits before 1.2 have none
)
_LOCK: Final = fixed(
    {
        "lock_file": TEXT,
        "locked": listed(
            fixed(
                {
                    "kind": member_of("file", "distribution"),
                    "name": TEXT,
                    "version": TEXT,
                    "sha256": SHA256,
                }
            )
        ),
    }
)
_NEW: Final = fixed({"folder": TEXT, "next": listed(TEXT)})
_POINT: Final = fixed(
    {"name": TEXT, "distribution": TEXT, "version": TEXT, "origin": TEXT, "location": TEXT}
)
_DOCTOR: Final = fixed(
    {
        "system": named(TEXT),
        "locations": listed(fixed({"folder": TEXT, "distributions": INTEGER})),
        "backends": listed(fixed(_ENTRY)),
        "backend_facts": listed(fixed({"backend": TEXT, "name": TEXT, "value": TEXT})),
        "parsers": listed(_POINT),
        "backend_sources": listed(_POINT),
        "dynamic": TEXT,
        "folders": listed(fixed({"path": TEXT, "origin": TEXT, "problem": TEXT})),
        "thread_pools": listed(
            fixed({"kind": TEXT, "name": TEXT, "version": TEXT, "threads": INTEGER, "path": TEXT})
        ),
        "import_times": listed(
            fixed(
                {
                    "group": TEXT,
                    "name": TEXT,
                    "module": TEXT,
                    "seconds": _NUMBER_OR_NULL,
                    "problem": TEXT,
                }
            )
        ),
        "environment": listed(fixed({"name": TEXT, "value": _TEXT_OR_NULL, "honoured": TEXT})),
        "findings": listed(fixed({"text": TEXT, "is_problem": FLAG})),
        "unusable": listed(TEXT),
        "skipped": listed(_SKIPPED),
    }
)
_LINT: Final = fixed({"file": TEXT, "problems": listed(TEXT)})

# -- failures ------------------------------------------------------------------------------------

_CAUSE: Final = fixed({"type": TEXT, "message": TEXT})
_ERROR: Final = fixed(
    {
        "error": fixed(
            {
                "type": TEXT,
                "message": TEXT,
                "causes": listed(_CAUSE),
                "exit_code": INTEGER,
            }
        )
    }
)

SCHEMAS: Final[Mapping[str, Schema]] = {
    "record": RECORD,
    **{
        name: document(f"command-{name}", title, schema)
        for name, title, schema in (
            ("run", "armnn run --json", either(_ONE_SET, _SETS, _SERIALIZED)),
            ("inspect", "armnn inspect --json", _INSPECT),
            ("view", "armnn view --json", _VIEW),
            ("compare", "armnn compare --json", either(_COMPARED, _PASSES, _VARIED)),
            ("reduce", "armnn reduce --json", _REDUCE),
            ("bench", "armnn bench --json", _BENCH),
            ("tune", "armnn tune --json", either(_TUNE, _MACHINE)),
            ("convert", "armnn convert --json", _CONVERT),
            ("compile", "armnn compile --json", _COMPILE),
            ("verify", "armnn verify --json", _VERIFY),
            ("cache", "armnn cache --json", _CACHE),
            (
                "backends",
                "armnn backends --json",
                either(_ENTRIES, _LOCK, _NEW, _CARD, _LAYERS),
            ),
            ("doctor", "armnn doctor --json", either(_DOCTOR, _LINT)),
            ("error", "A failure of a command with --json", _ERROR),
        )
    },
}
"""The schema of each document, by the name of its command."""


def add_parser(
    subparsers: argparse._SubParsersAction[argparse.ArgumentParser], summary: str
) -> None:
    """Add ``armnn schema``."""
    parser = add_command(
        subparsers,
        "schema",
        summary,
        "Print the JSON Schema (draft 2020-12) of what a command prints with --json, or of a "
        "record of execution; without a name, list the names.",
        _EXAMPLES,
        show_schema,
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="a command, record or error")


def show_schema(arguments: argparse.Namespace) -> int:
    """Print a schema, or the names of all; return 0.

    Raises:
        UnknownNameError: No schema has that name.
        InvalidArgumentError: The command of another distribution has none.
    """
    others = {entry.name: entry for entry in entry_points(GROUP) if entry.name not in SCHEMAS}
    if arguments.name is None:
        for name, schema in SCHEMAS.items():
            print(f"{name:10} {schema['title']}")
        for name, entry in others.items():
            print(printable(f"{name:10} armnn {name} --json, of {entry.distribution}"))
        return 0
    found: Schema | None = SCHEMAS.get(arguments.name)
    if found is None and arguments.name in others:
        entry = others[arguments.name]
        found = getattr(entry.load(), "SCHEMA", None)
        if found is None:
            raise InvalidArgumentError(
                f"the command {arguments.name!r} of {entry.distribution} has no schema: "
                f"{entry.module} has no SCHEMA"
            )
    if found is None:
        raise unknown("schema {}", arguments.name, [*SCHEMAS, *others])
    print(json_text(found))
    return 0
