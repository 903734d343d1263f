# SPDX-License-Identifier: MIT
"""The host's cost of a C backend's step.

A backend whose execute does nothing is bound to two inputs and one output::

    python -m benchmarks.overhead.bound_step [--json]

It needs gcc.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path
from typing import Any

import numpy as np

from armnn import Network, TensorInfo
from armnn.backends import ArrayHandle, ModelContext, Step
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn_backend_api import get_include

CALLS = 2_000  # short rounds, so that one of them has the processor for itself
ROUNDS = 500
IDLE = """
#include <armnn/backend.h>
static int the_one;
static armnn_code create(const armnn_host *h, const armnn_option *o, uint64_t n,
                         armnn_backend **made, armnn_error *e) {
  (void)h, (void)o, (void)n, (void)e;
  return *made = (armnn_backend *)(void *)&the_one, ARMNN_OK;
}
static void destroy(armnn_backend *b) { (void)b; }
static armnn_code query(armnn_backend *b, const armnn_device *d, const armnn_graph *g,
                        armnn_support *s, uint64_t stride, armnn_error *e) {
  (void)b, (void)d, (void)stride, (void)e;
  for (uint64_t i = 0; i < g->num_nodes; ++i) s[i].level = ARMNN_SUPPORTED;
  return ARMNN_OK;
}
static armnn_code compile(armnn_backend *b, const armnn_device *d, const armnn_graph *g,
                          const armnn_compile_args *a, armnn_program **made, armnn_error *e) {
  (void)b, (void)d, (void)g, (void)a, (void)e;
  return *made = (armnn_program *)(void *)&the_one, ARMNN_OK;
}
static void program_destroy(armnn_program *p) { (void)p; }
static armnn_code context_create(armnn_program *p, armnn_context **made, armnn_error *e) {
  (void)p, (void)e;
  return *made = (armnn_context *)(void *)&the_one, ARMNN_OK;
}
static void context_destroy(armnn_context *c) { (void)c; }
static armnn_code execute(armnn_context *c, const armnn_execute_args *a, armnn_error *e) {
  (void)c, (void)a, (void)e;
  return ARMNN_OK;
}
static const armnn_backend_api table = {
    .header = ARMNN_HEADER(ARMNN_BACKEND_API), .api_major = ARMNN_BACKEND_API_MAJOR,
    .id = {"Idle", 4}, .create = create, .destroy = destroy, .query = query, .compile = compile,
    .program_destroy = program_destroy, .context_create = context_create,
    .context_destroy = context_destroy, .execute = execute};
const char *GetBackendId(void) { return "Idle"; }
void GetVersion(uint32_t *major, uint32_t *minor) { *major = ARMNN_BACKEND_API_MAJOR, *minor = 0; }
void *BackendFactory(void) { return (void *)(uintptr_t)&table; }
"""


def idle_step(folder: Path) -> Step:
    """Return a bound addition whose backend does nothing."""
    source, path = folder / "idle.c", folder / "Acme_Idle_backend.so"
    source.write_text(IDLE, encoding="utf-8")
    flags = ["-std=c11", "-O2", "-shared", "-fPIC", f"-I{get_include()}"]
    subprocess.run(["gcc", *flags, "-o", path, source], check=True)
    info, network = TensorInfo((16,)), Network("sum")
    total = network.add_addition(network.add_input("a", info), network.add_input("b", info))
    backend = NativeBackend(NativeLibrary.open(path, id="Idle"))
    handles = [ArrayHandle(info, np.zeros(16, np.float32)) for _ in range(3)]
    workload = backend.create_workload(total.producer, ModelContext({}))
    return workload.bind(handles[:2], handles[2:])


def measure() -> dict[str, Any]:
    """Return the cost of one step in microseconds.

    It is the best of some rounds.
    """
    with tempfile.TemporaryDirectory() as folder:
        step = idle_step(Path(folder))
        seconds = min(timeit.repeat(step, number=CALLS, repeat=ROUNDS)) / CALLS
    return {"inputs": 2, "outputs": 1, "step_us": seconds * 1e6}


def line(result: dict[str, Any]) -> str:
    """Return the result for people."""
    return f"a bound step of a backend in C costs {result['step_us']:.2f} us on top of it"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    result = measure()
    if parser.parse_args().json:
        print(json.dumps(result, indent=2))
    else:
        print(line(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
