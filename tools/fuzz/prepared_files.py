# SPDX-License-Identifier: MIT
"""Fuzzes the files of a cache.

They are damaged, cut, replaced by others or signed again, models change, and disks are full.

Whatever a file has become, a load has to compute the bits of a load without a cache, to name what
it does not trust, and to leave a file that the next load takes. Cases are numbered, and the same
number is always the same case. They run in child processes; one that a signal
ends is a finding.

Files whose checksums were made to fit what was changed in them are cases, too: a load has to refuse
them or to run them without a crash; what weights say is not checked.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

import armnn
from armnn.errors import ArmnnError
from tools.fuzz.mutants import damaged

CASES_PER_PROCESS = 100
SIZES = (1, 3, 8)
"""Dimensions of the models' inputs that have a file each."""

KINDS: Final = ("damaged", "cut", "foreign", "stale", "full disk", "signed")
_PADS: Final = ("pad_left", "pad_right", "pad_top", "pad_bottom")
_PREFIX: Final = struct.Struct("<8sIIQ")
_DIGEST: Final = 32
_TRUSTED: Final = "taken from the cache"


class _Heard(logging.Handler):
    """Keeps the log of the cache."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def make_models(folder: Path) -> list[Path]:
    """Write the models; return their files."""
    return [_write(folder / f"{kind}.armnn", kind) for kind in ("dense", "convolved", "open")]


def _write(path: Path, kind: str, factor: float = 1.0) -> Path:
    random_numbers = np.random.default_rng(len(kind))

    def weights(*shape: int) -> Any:
        return (factor * random_numbers.uniform(-1, 1, shape)).astype(np.float32)

    network = armnn.Network(kind)
    if kind == "convolved":
        x = network.add_input("x", armnn.TensorInfo((1, 9, 9, 3)))
        pads: dict[str, Any] = dict.fromkeys(_PADS, 1)
        x = network.add_convolution2d(x, weights(8, 3, 3, 3), data_layout="NHWC", **pads)
        x = network.add_softmax(network.add_activation(x, function="ReLu"))
    else:
        x = network.add_input("x", armnn.TensorInfo((None if kind == "open" else 3, 40)))
        for _ in range(3):
            x = network.add_fully_connected(x, weights(40, 40), transpose_weight_matrix=True)
            x = network.add_activation(x, function="TanH")
    network.add_output("y", x)
    armnn.save(network, path)
    return path


def feeds_of(path: Path) -> list[dict[str, Any]]:
    """Return the inputs of a model, one per file."""
    source = np.random.default_rng(0)
    known: dict[str, list[tuple[int, ...]]] = {
        "convolved": [(1, 9, 9, 3)],
        "dense": [(3, 40)],
        "open": [(size, 40) for size in SIZES],
    }
    shapes = known[path.stem]
    return [{"x": source.uniform(-1, 1, shape).astype(np.float32)} for shape in shapes]


def outputs(path: Path, backends: list[str], cache: Path | None) -> list[bytes]:
    """Load a model and return what it computes."""
    with armnn.Runtime() as runtime:
        model = runtime.load_model(path, backends, cache_dir=cache)
        return [model.run(feed)["y"].tobytes() for feed in feeds_of(path)]


class Worker:
    """Does cases in a folder of its own."""

    def __init__(self, folder: Path, seed: int, backends: list[str]) -> None:
        self._folder, self._seed, self._backends = folder, seed, backends
        self._heard = _Heard()
        logging.getLogger("armnn.backends.cache").addHandler(self._heard)
        logging.getLogger("armnn.backends.cache").setLevel(logging.INFO)
        self._expected: dict[Path, list[bytes]] = {}
        self._good: dict[Path, dict[str, bytes]] = {}
        models = folder / "models"
        models.mkdir()
        for path in make_models(models):
            self._expected[path] = outputs(path, backends, None)
            cache = folder / "good" / path.stem
            outputs(path, backends, cache)
            files = cache.glob("*.armnn-prepared")
            self._good[path] = {file.name: file.read_bytes() for file in files}

    def do(self, number: int) -> tuple[str, str]:
        """Return a case's kind, and what is wrong, if anything."""
        source = random.Random(f"{self._seed}:{number}")
        kind = KINDS[number % len(KINDS)]
        path = source.choice(sorted(self._good))
        cache = self._folder / f"cache {number}"
        cache.mkdir(mode=0o700)
        try:
            return kind, getattr(self, "_" + kind.replace(" ", "_"))(source, path, cache)
        except Exception as error:  # any error is a finding
            return kind, f"{type(error).__name__}: {error}"
        finally:
            shutil.rmtree(cache)

    def _damaged(self, source: random.Random, path: Path, cache: Path) -> str:
        name = self._put(source, path, cache)
        good = self._good[path][name]
        other = source.choice(list(self._good[source.choice(sorted(self._good))].values()))
        bad = damaged(source, good, other)
        (cache / name).write_bytes(bad)
        return self._checked(path, cache, is_whole=bad == good)

    def _cut(self, source: random.Random, path: Path, cache: Path) -> str:
        name = self._put(source, path, cache)
        good = self._good[path][name]
        (cache / name).write_bytes(good[: source.randrange(len(good))])
        return self._checked(path, cache, is_whole=False)

    def _foreign(self, source: random.Random, path: Path, cache: Path) -> str:
        name = self._put(source, path, cache)
        others = [
            data for files in self._good.values() for other, data in files.items() if other != name
        ]
        (cache / name).write_bytes(source.choice(others))
        return self._checked(path, cache, is_whole=False)

    def _stale(self, source: random.Random, path: Path, cache: Path) -> str:
        """Change the model after it was cached."""
        model = cache / path.name
        _write(model, path.stem)
        outputs(model, self._backends, cache)
        _write(model, path.stem, 1 + source.random())
        expected = outputs(model, self._backends, None)
        for _ in range(2):
            if outputs(model, self._backends, cache) != expected:
                return "the results are those of the model before"
        return ""

    def _full_disk(self, source: random.Random, path: Path, cache: Path) -> str:
        """Let files end at some size."""
        largest = max(map(len, self._good[path].values()))
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (source.randrange(largest), before[1]))
        try:
            found = outputs(path, self._backends, cache)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        if found != self._expected[path]:
            return "other results"
        left = [each.name for each in cache.glob(".writing-*")]
        return f"left {left}" if left else self._checked(path, cache, is_whole=True)

    def _signed(self, source: random.Random, path: Path, cache: Path) -> str:
        """Change a file so that its checksums fit."""
        name = self._put(source, path, cache)
        good = self._good[path][name]
        *_, size = _PREFIX.unpack_from(good)
        start = _PREFIX.size
        header, blocks = good[start : start + size], good[start + size : -_DIGEST]
        if source.random() < 0.5:
            header = damaged(source, header, header)
        else:
            blocks = damaged(source, blocks, blocks)
        magic, version, *_ = _PREFIX.unpack_from(good)
        prefix = _PREFIX.pack(magic, version, crc32(header), len(header))
        body = prefix + header + blocks
        (cache / name).write_bytes(body + sha256(body).digest())
        with contextlib.suppress(ArmnnError):  # refused, when it is loaded or run
            outputs(path, self._backends, cache)
        return ""

    def _put(self, source: random.Random, path: Path, cache: Path) -> str:
        """Put files into a cache; return the name of one."""
        for name, data in self._good[path].items():
            (cache / name).write_bytes(data)
        return source.choice(sorted(self._good[path]))

    def _checked(self, path: Path, cache: Path, *, is_whole: bool) -> str:
        self._heard.lines.clear()
        if outputs(path, self._backends, cache) != self._expected[path]:
            return "other results"
        lines = [line for line in self._heard.lines if " again: " in line]
        if not is_whole and not lines:
            return f"the damage is not named: {self._heard.lines}"
        rebuilt: list[str] = []
        for _ in SIZES:  # a load stores one set of shapes; what follows from it is not stored
            self._heard.lines.clear()
            if outputs(path, self._backends, cache) != self._expected[path]:
                return "other results of a later load"
            rebuilt = [line for line in self._heard.lines if _TRUSTED not in line]
            if not rebuilt:
                return ""
        return f"not rebuilt: {rebuilt}"


def work(first: int, count: int, seed: int, backends: list[str]) -> int:
    """Do cases, naming each before it is done."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(Path(folder), seed, backends)
        for number in range(first, first + count):
            print(f"case {number}", flush=True)
            kind, wrong = worker.do(number)
            print(f"{'wrong' if wrong else 'right'} {kind}: {' '.join(wrong.split())}", flush=True)
    return 0


def main() -> int:
    """Do all cases; return 1 if one goes wrong."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--cases", type=int, default=3000, help="how many (3000)")
    arguments.add_argument("--first", type=int, default=0, help="the number of the first one (0)")
    arguments.add_argument("--seed", type=int, default=0, help="another one makes other cases")
    arguments.add_argument("--backends", default="CpuAcc,CpuRef", help="(CpuAcc,CpuRef)")
    arguments.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = arguments.parse_args()
    backends = options.backends.split(",")
    if options.work:
        return work(options.first, options.cases, options.seed, backends)
    counts: Counter[str] = Counter()
    end = options.first + options.cases
    next_case = options.first
    while next_case < end:
        count = min(CASES_PER_PROCESS, end - next_case)
        done, lines = _child(options, next_case, count)
        number = next_case
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == "case":
                number = int(rest)
            elif word in ("right", "wrong"):
                counts[f"{word} {rest.partition(':')[0]}"] += 1
                if word == "wrong":
                    print(f"  case {number}: {rest}", flush=True)
        if done.returncode:
            counts["wrong: ended"] += 1
            print(f"  case {number}: ended by {done.returncode}: {done.stderr[-500:]}", flush=True)
            count = number + 1 - next_case
        next_case += count
    listed = ", ".join(f"{count} {result}" for result, count in sorted(counts.items()))
    print(f"prepared files: {options.cases} cases: {listed}")
    return int(any(result.startswith("wrong") for result in counts))


def _child(
    options: argparse.Namespace, first: int, count: int
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    command = [
        *(sys.executable, "-m", __spec__.name, "--work", "--first", str(first)),
        *("--cases", str(count), "--seed", str(options.seed), "--backends", options.backends),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    return done, done.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
