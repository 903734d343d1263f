# SPDX-License-Identifier: MIT
"""Each trick of the hostile host catches its fault."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from armnn.errors import BackendUnavailableError
from armnn_conformance.checks.by_name import Checks, NotSupportedError
from armnn_conformance.hostile.tricks import FREES_DROPPED, TRICKS
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject

PACKAGES = Path(__file__).parents[3]
SAMPLES = PACKAGES / "armnn-dynamic-loader/src/armnn_dynamic_loader/samples"
SAMPLE = (SAMPLES / "acme_npu.c").read_text(encoding="utf-8")
Build = Callable[[str], Path]
LAYERS = ["Addition", "Convolution2d"]


def play(library: Path, trick: str) -> None:
    library.parent.chmod(0o755)
    with Subject(str(library)) as subject:
        Checks(subject).run("hostile_graphs", {"trick": trick, "layers": LAYERS})


def test_the_sample_survives_all_tricks_but_stores_nothing(build: Build) -> None:
    library = build(SAMPLE)
    for trick in TRICKS:
        if trick not in ("stores programs", FREES_DROPPED):
            play(library, trick)
    with pytest.raises(NotSupportedError, match="does not state ReleasesConstants"):
        play(library, FREES_DROPPED)
    with pytest.raises(NotSupportedError, match="does not serialize programs"):
        play(library, "stores programs")


FREES = "frees the graph after compile"
STRIDES = "hands over arrays with larger strides"
DEFECTS = {
    "constants are not kept": (
        FREES,
        (
            "    graph->keep(value->constant_ref); /* the weights stay where they are */\n"
            "    program->kept[i] = value->constant_ref;\n"
        ),
        "",
        (
            r"a shared constant 0 Float32 \(.*\): after compile, .* of output 0, of '2 Addition', "
            "differ.*compile did not keep 'other' of '0 Addition'"
        ),
    ),
    "constants are not dropped": (
        FREES,
        "if (program->kept[i]) program->drop(program->kept[i]);",
        "{}",
        r"program_destroy, \d+ references of keep were not given back by drop, of '",
    ),
    "constants are dropped twice": (
        FREES,
        "if (program->kept[i]) program->drop(program->kept[i]);",
        "if (program->kept[i]) program->drop(program->kept[i]), program->drop(program->kept[i]);",
        "the constant '.*' of '. (Addition|Convolution2d)' was dropped more often than it was kept",
    ),
    "an input is written": (
        FREES,
        "for (uint64_t e = 0; e < s->elements; ++e) out[e] = a[e] + b[e];",
        (
            "for (uint64_t e = 0; e < s->elements; ++e)\n"
            "  out[e] = a[e] + b[e], ((float *)a)[e] *= e <= 99;"
        ),
        "execute changed an input|where its tensors .* are read-only",
    ),
    "an output is too long": (
        FREES,
        "program->elements[index] * sizeof(float));\n  }\n  return ARMNN_OK;",
        (
            "program->elements[index] * sizeof(float) + 4 * (program->elements[index] > 99));\n"
            "  }\n  return ARMNN_OK;"
        ),
        "execute wrote around the elements of an output|writes behind the end of output",
    ),
    "the offset is ignored": (
        FREES,
        "(char *)tensor->data + tensor->byte_offset",
        "(char *)tensor->data",
        "after compile|execute wrote around",
    ),
    "nodes are taken for neighbors": (
        STRIDES,
        "ARMNN_AT(const armnn_node, graph->nodes, graph->node_stride, index)",
        "&graph->nodes[index]",
        r"query answers \[True, .*False.*\] if its arrays have larger strides",
    ),
    "answers are taken for neighbors": (
        STRIDES,
        "ARMNN_AT(armnn_support, supports, stride, i);",
        "&supports[i];\n    (void)stride;",
        r"query wrote between its answers, which are \d+ bytes apart",
    ),
    "several nodes are refused": (
        FREES,
        '"AcmeNpu has no options");\n  for',
        (
            '"AcmeNpu has no options");\n'
            '  if (graph->num_nodes > 1) return fail(error, ARMNN_INTERNAL, -1, "one");\n  for'
        ),
        r"compile answered 13 \(one\) to \d layers that are claimed one by one",
    ),
    "a position is named": (
        "asks for an unknown layer among others",
        "return fail(error, ARMNN_UNSUPPORTED_NODE, node_at(graph, i)->id, why);",
        "return fail(error, ARMNN_UNSUPPORTED_NODE, (int32_t)i, why);",
        r"compile refused the nodes \[\d\]: expected the id 100\d",
    ),
    "one answer is for all": (
        "asks for an unknown layer among others",
        "refusal(graph, node_at(graph, i), &support->input)",
        "refusal(graph, node_at(graph, 0), &support->input)",
        "query answers for a graph whose last layer type is unknown: .True, True",
    ),
    "compile does not look": (
        "asks for an unknown layer among others",
        "if (why) return fail(error, ARMNN_UNSUPPORTED_NODE",
        "if (!why) continue; else if (0) return fail(error, ARMNN_UNSUPPORTED_NODE",
        "compile answered 0 .* to an unknown layer type: expected 65",
    ),
    "compile takes any option": (
        "passes unknown options",
        "if (args->num_options) return fail",
        "if (args->num_options > 9) return fail",
        "compile answered 0 .* to an unknown option: expected 3",
    ),
    "create takes any option": (
        "passes unknown options",
        "if (num_options) return fail",
        "if (num_options > 9) return fail",
        "create answered 0 .* to an unknown option: expected 3",
    ),
    "the host is not asked": (
        "cancels calls",
        "program->host->cancelled(program->host->ctx, args->call_id))",
        "0)",
        r"execute of \d layers never asks `cancelled` of the host",
    ),
    "the host is asked once": (
        "cancels calls",
        "if (armnn_host_has_cancelled(program->host) &&",
        "if (!i && armnn_host_has_cancelled(program->host) &&",
        "execute asks `cancelled` once in a call, although the first question took 0.05 s",
    ),
    "the answer is ignored": (
        "cancels calls",
        'return fail(error, ARMNN_CANCELLED, s->id, "the host asked to stop");',
        "(void)error;",
        "execute answered 0 when the host stopped the call at its first question",
    ),
    "a deadline is ignored": (
        "sets deadlines",
        "if (armnn_host_has_cancelled(program->host) &&",
        "if (!args->deadline_ns && armnn_host_has_cancelled(program->host) &&",
        "execute answered 0 when the host stopped the call at a deadline in the past",
    ),
    "a deadline counts before it comes": (
        "sets deadlines",
        "  const armnn_program *program = context->program;\n  const float **values",
        (
            "  if (args->deadline_ns > 1)\n"
            "    return fail(error, ARMNN_DEADLINE_EXCEEDED, -1, no_memory);\n"
            "  const armnn_program *program = context->program;\n  const float **values"
        ),
        "before the deadline, execute answered 4",
    ),
    "scratch is shared": (
        "pauses calls",
        "    *scratch = malloc((program->steps[i].elements + 1) * sizeof **scratch);",
        (
            "    static float *shared[64];\n"
            "    if (!shared[i]) shared[i] = malloc(1 << 20);\n"
            "    *scratch = shared[i];"
        ),
        "a call computed something else when calls in other contexts ran meanwhile",
    ),
    "a program is leaked": (
        "makes and destroys everything again and again",
        "free(program->inputs), free(program->outputs), free(program->steps), free(program);",
        "free(program->inputs), free(program->outputs), free(program->steps);",
        r"times a backend, a program and a context left \d+ bytes that were not freed",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_fault_is_caught(build: Build, defect: str) -> None:
    trick, right, wrong, message = DEFECTS[defect]
    assert SAMPLE.count(right) == 1
    source = SAMPLE.replace(right, wrong)
    if defect == "scratch is shared":
        source = source.replace("    free(context->scratch[i]);", "    (void)i;")
    # A probe of the loader may have found it before the trick is played.
    with pytest.raises((NonconformityError, BackendUnavailableError), match=message):
        play(build(source), trick)


def test_a_lock_that_is_held_over_a_question_is_told(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("armnn_conformance.hostile.tricks._PATIENCE_SECONDS", 0.2)
    asks = "program->host->cancelled(program->host->ctx, args->call_id))"
    locked = "asked_alone(program->host, args->call_id))"
    asked_alone = """
#include <pthread.h>
static int32_t asked_alone(const armnn_host *host, uint64_t call) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  const int32_t answer = host->cancelled(host->ctx, call);
  pthread_mutex_unlock(&lock);
  return answer;
}
static armnn_code execute("""
    assert SAMPLE.count(asks) == SAMPLE.count("\nstatic armnn_code execute(") == 1
    source = SAMPLE.replace(asks, locked).replace("\nstatic armnn_code execute(", asked_alone)
    with pytest.raises(NonconformityError, match="the backend holds a lock while it asks") as told:
        play(build(source), "pauses calls")
    assert "0.2 s" in str(told.value)


def test_a_leak_is_seen_while_other_garbage_waits(build: Build) -> None:
    trick, right, wrong, message = DEFECTS["a program is leaked"]
    library = build(SAMPLE.replace(right, wrong))
    gc.collect()
    for _ in range(100):
        cycle: list[object] = [bytearray(100_000)]
        cycle.append(cycle)
    with pytest.raises(NonconformityError, match=message):
        play(library, trick)


KEEPS = (
    "    graph->keep(value->constant_ref); /* the weights stay where they are */\n"
    "    program->kept[i] = value->constant_ref;\n"
    "    program->constants[i] = data_of(value->constant);\n"
)
COPY = (
    "    const uint64_t bytes = program->elements[i] * sizeof(float);\n"
    "    float *copied = malloc(bytes + 1), *given = data_of(value->constant);\n"
    "    if (!copied) return fail(error, ARMNN_RESOURCE_EXHAUSTED, -1, no_memory);\n"
)
FILL = "    memcpy(copied, given, bytes), program->constants[i] = copied;\n"
TAKE, GIVE = (f"    graph->{name}(value->constant_ref);\n" for name in ("keep", "drop"))
STATES = """
static armnn_code capabilities(armnn_backend *backend, const armnn_option **rows, uint64_t *count,
                               armnn_error *error) {
  static const armnn_option stated[] = {{{"ReleasesConstants", 17}, {"true", 4}}};
  (void)backend, (void)error;
  *rows = stated, *count = 1;
  return ARMNN_OK;
}
static const armnn_backend_api table = {
    .capabilities = capabilities,
"""


def releasing(*how: str) -> str:
    """Return the sample with copied constants and the capability."""
    assert SAMPLE.count(KEEPS) == 1
    source = SAMPLE.replace(KEEPS, "".join(how))
    return source.replace("static const armnn_backend_api table = {\n", STATES.lstrip())


def test_a_backend_that_reads_before_it_drops_may_state_it(build: Build) -> None:
    play(build(releasing(COPY, TAKE, FILL, GIVE)), FREES_DROPPED)


def test_a_backend_that_reads_what_it_dropped_is_caught(build: Build) -> None:
    library = build(releasing(COPY, TAKE, GIVE, FILL))
    play(library, FREES)  # while compile goes on, the host lends the constant anyway
    with pytest.raises(NonconformityError, match=r"after compile, .* elements of output"):
        play(library, FREES_DROPPED)
