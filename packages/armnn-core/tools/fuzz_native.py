# SPDX-License-Identifier: MIT
"""Fuzzes backend tables and answers against the core.

The core must refuse each mutant or run it, and never crash. A backend in memory is mutated (sizes,
ids, pointers to NULL, counts, versions) and its functions answer at random within what C can
express: any code, texts and arrays that are NULL with a size, counts that are too large. Every
mutant is opened, queried, compiled and run as the runtime does::

    python packages/armnn-core/tools/fuzz_native.py [--tables 10000] [--seed 0]

Mutants run in batches, each batch in a process of its own; the seed of a mutant that ends its
process is printed.
"""

from __future__ import annotations

import argparse
import collections
import ctypes
import random
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from armnn import Network, TensorInfo
from armnn.backends import ArrayHandle, ModelContext
from armnn.backends.native import NativeBackend, NativeLibrary
from armnn.errors import ArmnnError
from armnn_backend_api import ctypes_mirror as abi
from armnn_backend_api.exports import Exports
from armnn_backend_api.structs import Arena, struct

BATCH = 500
HUGE = (0, 1, 7, 255, 1 << 16, 1 << 31, (1 << 32) - 1, (1 << 63) - 1)
CODES = (*range(16), 64, 65, 66, -1, 2**31 - 1)
INFO = TensorInfo((4,))


class MutatedLibrary(NativeLibrary):
    """A library whose exports are in this process."""

    def __init__(self, table: abi.BackendApi, exports: dict[str, Any]) -> None:
        self._given = SimpleNamespace(**exports)
        self.mutant = table
        super().__init__("mutant")

    def _open(self) -> Exports:
        return Exports(self._given)


class Mutant:
    """A backend that answers at random and owns its memory."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.arena = Arena()
        self.honest = self.random.random() < 0.5  # otherwise few tables get past their checks
        self.table = struct(abi.BackendApi)
        self.table.api_major = 1
        for name in ("id", "version", "vendor"):
            setattr(self.table, name, self.arena.text("Mutant"))
        self._implement()
        self._mutate()

    def exports(self) -> dict[str, Any]:
        """Return a file's exports, each with a possibly false answer."""
        name = ctypes.create_string_buffer(self.rarely(b"", b"Mutant"))
        self.arena.hold(name)

        def get_version(major: Any, minor: Any) -> None:
            major[0], minor[0] = self.rarely(2, 1), self.rarely(9, 0)

        number = ctypes.POINTER(ctypes.c_uint32)
        address = self.rarely(None, ctypes.addressof(self.table))
        made = {
            "GetBackendId": ctypes.CFUNCTYPE(ctypes.c_void_p)(
                lambda: self.rarely(None, ctypes.addressof(name))
            ),
            "GetVersion": ctypes.CFUNCTYPE(None, number, number)(get_version),
            "BackendFactory": ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: address),
        }
        self.arena.hold(made)
        return made

    def rarely(self, odd: Any, usual: Any) -> Any:
        """Return ``odd`` in one of fifty cases, else ``usual``."""
        return odd if self.random.random() < 0.02 else usual

    def _mutate(self) -> None:
        for _ in range(self.random.randrange(4) if not self.honest else self.random.randrange(2)):
            name, *_ = self.random.choice(abi.BackendApi._fields_)
            value = getattr(self.table, name)
            if isinstance(value, abi.Header):
                field = self.random.choice(("struct_size", "struct_id"))
                setattr(value, field, self.random.choice(HUGE) & 0xFFFFFFFF)
                continue
            if isinstance(value, abi.String):
                # A size that memory does not back is a wild read, which the core cannot refuse.
                value.data, value.size = self.random.choice(
                    ((None, 0), (None, 5), (value.data, 0), (value.data, 3), (value.data, 1 << 40))
                )
                continue
            if callable(value):
                setattr(self.table, name, type(value)())
                continue
            setattr(self.table, name, self.random.choice(HUGE) & 0x7FFFFFFF)

    def _implement(self) -> None:
        for name, kind, *_ in abi.BackendApi._fields_:
            if name == "shutdown" or not callable(getattr(self.table, name)):
                continue
            function = kind(getattr(self, name, self.destroyed))
            self.arena.hold(function)
            setattr(self.table, name, function)

    def destroyed(self, *_: object) -> None:
        """Answer the functions that return nothing."""

    def get_extension(self, _name: bytes | None) -> None:
        """Answer that there is none."""

    def fail(self, pointer: Any) -> int:
        """Fill an error at random; often do not."""
        code = self.random.choice(CODES) if self.random.random() < 0.1 else abi.OK
        if code != abi.OK and self.random.random() < 0.8:
            error = pointer.contents
            error.code = self.random.choice(CODES)
            error.node_id = self.random.choice((-1, 0, 1, -5, 2**31 - 1))
            error.message = self.text()
            error.num_nodes = self.random.choice(HUGE)
            if error.num_nodes < 8:
                error.nodes = self.arena.filled(ctypes.c_int32, range(-2, 8))
        return code

    def text(self) -> abi.String:
        """Return a text: NULL, empty, long or invalid UTF-8."""
        kind = self.random.randrange(4)
        if kind == 0:
            return abi.String(None, self.random.choice(HUGE))
        raw = (b"", b"\xff\xfe", b"words " * 2000)[kind - 1]
        buffer = ctypes.create_string_buffer(raw)
        self.arena.hold(buffer)
        return abi.String(ctypes.addressof(buffer), len(raw))

    def handle(self, out: Any) -> None:
        """Return a handle, or forget to."""
        if self.random.random() < 0.95:
            out[0] = 0x1000 + self.random.randrange(100)

    def create(self, _host: Any, _options: Any, _count: int, out: Any, error: Any) -> int:
        """Answer create."""
        self.handle(out)
        return self.fail(error)

    def devices(self, _backend: Any, out: Any, count: Any, error: Any) -> int:
        """List devices whose number, place and headers may be wrong."""
        device = struct(abi.Device)
        for name in ("id", "name", "kind", "fingerprint"):
            setattr(device, name, self.text())
        device.num_info = self.random.choice((0, 0, 1 << 60))
        if self.random.random() < 0.3:
            device.header.struct_size = self.random.choice((0, 16, 8))
        if self.random.random() < 0.2:
            device.header.struct_id = 1
        rows = (ctypes.POINTER(abi.Device) * 2)(ctypes.pointer(device))
        self.arena.hold((device, rows))
        if self.random.random() < 0.9:
            out[0] = rows
        count[0] = self.random.choice((0, 1, 1, 1, 2, 1 << 40))
        return self.fail(error)

    def capabilities(self, _backend: Any, out: Any, count: Any, error: Any) -> int:
        """List capabilities."""
        rows = (abi.Option * 2)(abi.Option(self.text(), self.text()))
        self.arena.hold(rows)
        if self.random.random() < 0.8:
            out[0] = rows
        count[0] = self.random.choice((0, 1, 2, 1 << 50))
        return self.fail(error)

    def use_allocator(self, _backend: Any, _allocator: Any, error: Any) -> int:
        """Answer use_allocator."""
        return self.fail(error)

    def network_event(self, _backend: Any, _event: int, _network: int, error: Any) -> int:
        """Answer network_event."""
        return self.fail(error)

    def query(
        self, _backend: Any, _device: Any, graph: Any, supports: Any, stride: int, error: Any
    ) -> int:
        """Answer about each node, mostly with a yes."""
        start = ctypes.addressof(supports.contents)
        for index in range(graph.contents.num_nodes):
            row = abi.Support.from_address(start + index * stride)
            row.level = self.random.choice((1, 1, 1, 1, 1, 2, 0, 3, -7))
            row.input = self.random.choice((0, 1, 2, 99, -1))
            row.reason = self.text()
            if self.random.random() < 0.05:
                row.node_id = 12345
        return self.fail(error)

    def compile(
        self, _backend: Any, _device: Any, _graph: Any, _args: Any, out: Any, error: Any
    ) -> int:
        """Answer compile."""
        self.handle(out)
        return self.fail(error)

    def io_requirement(
        self, _program: Any, _is_output: int, _index: int, requirement: Any, error: Any
    ) -> int:
        """Ask for alignments and sizes, some of them absurd."""
        requirement.contents.min_align = self.random.choice((0, 0, 0, 64, 4096, 3, 1 << 62))
        requirement.contents.min_bytes = self.random.choice((0, 0, 0, 64, 1 << 62))
        return self.fail(error)

    def context_create(self, _program: Any, out: Any, error: Any) -> int:
        """Answer context_create."""
        self.handle(out)
        return self.fail(error)

    def execute(self, _context: Any, _args: Any, error: Any) -> int:
        """Answer execute."""
        return self.fail(error)


def play(seed: int) -> str:
    """Open, query, compile and run a mutant; return the stage."""
    mutant = Mutant(seed)
    stage = "refused"
    try:
        library = MutatedLibrary(mutant.table, mutant.exports())
        library.has_ended = False
        stage = "opened"
        backend = NativeBackend(library)
        network = Network("sum")
        total = network.add_addition(network.add_input("a", INFO), network.add_input("b", INFO))
        model = ModelContext({})
        for ask in (backend.devices, lambda: backend.capabilities, backend.score):
            try:
                ask()
            except ArmnnError:
                stage = "opened, some answers refused"
        backend.supports(total.producer, model)
        workload = backend.create_workload(total.producer, model)
        handles = [ArrayHandle(INFO, np.zeros(4, np.float32)) for _ in range(3)]
        step = workload.bind(handles[:2], handles[2:])
        stage = "bound"
        step()
    except ArmnnError:
        return stage
    return "ran"


def batch(start: int, count: int) -> int:
    """Play some mutants in this process."""
    outcomes: collections.Counter[str] = collections.Counter()
    for seed in range(start, start + count):
        print(f"seed {seed}", file=sys.stderr, flush=True)
        outcomes[play(seed)] += 1
    for outcome, number in sorted(outcomes.items()):
        print(f"{number} {outcome}")
    return 0


def main() -> int:
    """Play all mutants, batch by batch."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tables", type=int, default=10_000, help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="of the first table")
    parser.add_argument("--in-process", action="store_true", help="for a debugger")
    arguments = parser.parse_args()
    if arguments.in_process:
        return batch(arguments.seed, arguments.tables)
    totals: collections.Counter[str] = collections.Counter()
    for start in range(arguments.seed, arguments.seed + arguments.tables, BATCH):
        count = min(BATCH, arguments.seed + arguments.tables - start)
        command = [sys.executable, __file__, "--in-process"]
        limits = ["--seed", str(start), "--tables", str(count)]
        ran = subprocess.run([*command, *limits], capture_output=True, text=True, timeout=600)
        if ran.returncode:
            last = [line for line in ran.stderr.splitlines() if line.startswith("seed ")][-1]
            print(f"{last} ended the process with {ran.returncode}\n{ran.stderr[-3000:]}")
            return 1
        for line in ran.stdout.splitlines():
            number, _, outcome = line.partition(" ")
            totals[outcome] += int(number)
    for outcome, total in sorted(totals.items()):
        print(f"{total:6d} {outcome}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
