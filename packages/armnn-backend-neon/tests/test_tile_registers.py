# SPDX-License-Identifier: MIT
"""Kernels in tile registers, which are emulated in memory here.

The emulation is compared with the instructions' definition in NumPy and in exact fractions; the
kernels, compiled with it, with whole numbers and with the kernels of the level below.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import runpy
import shlex
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

PACKAGE = Path(__file__).resolve().parents[1]
CPP = PACKAGE / "cpp"
TESTS = Path(__file__).resolve().parent
BUILD = runpy.run_path(str(PACKAGE / "native_build/levels.py"))
LEVELS = {level.name: level for level in BUILD["levels_of"]("x86_64")}
LEVEL = next(level for level in LEVELS.values() if level.tile_registers)
EMULATION = runpy.run_path(str(PACKAGE / "native_build/emulation.py"))
IN_TILES = [source for source in LEVEL.sources if source.endswith("tile_registers")]
ROWS, ROW_BYTES, COLUMNS = 16, 64, 16
BLOCK = 32
"""Rows and columns of a tile of the kernels."""


class Shapes(ctypes.Structure):
    """The operand of LDTILECFG."""

    _fields_ = (
        ("palette", ctypes.c_uint8),
        ("first_row", ctypes.c_uint8),
        ("reserved", ctypes.c_uint8 * 14),
        ("row_bytes", ctypes.c_uint16 * 16),
        ("rows", ctypes.c_uint8 * 16),
    )


def aligned(size: int) -> Array:
    """Return zeroed bytes at a multiple of 64."""
    memory = np.zeros(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size]


def added_flags() -> list[str]:
    """Return those of the environment: a sanitizer's, if any."""
    return shlex.split(os.environ.get("CXXFLAGS", ""))


def compiled(source: Path, target: Path, *arguments: str) -> Path:
    flags = ["-std=c++17", "-O1", f"-I{CPP}", f"-DCPUACC_LEVEL={LEVEL.name}", *arguments]
    subprocess.run(["g++", *flags, *added_flags(), "-o", target, source], check=True)
    return target


@pytest.fixture(scope="module")
def instructions(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Return the emulated instructions."""
    folder = tmp_path_factory.mktemp("instructions")
    flags = ["-mfma", "-mavx2", "-fPIC", "-shared"]
    flags += EMULATION["emulated_tile_registers"](has_vectors=True)
    return ctypes.CDLL(str(compiled(TESTS / "tile_instructions.cpp", folder / "i.so", *flags)))


def multiplied(instructions: ctypes.CDLL, kind: int, a: Array, b: Array, c: Array) -> Array:
    """Return c with the products of a and b.

    b is as registers hold it."""
    shapes = aligned(64)
    own = Shapes.from_buffer(shapes)
    own.palette = 1
    memory = []
    for number, part in ((4, a), (5, b), (0, c)):
        part = np.ascontiguousarray(part)
        own.rows[number], own.row_bytes[number] = len(part), part[0].nbytes
        rows = np.full((ROWS, ROW_BYTES), 0xEE, np.uint8)  # not to be read
        rows[: len(part), : part[0].nbytes] = part.view(np.uint8).reshape(len(part), -1)
        memory.append(rows)
    instructions.multiply(kind, *(ctypes.c_void_p(m.ctypes.data) for m in (shapes, *memory)))
    made = memory[2]
    assert np.all(made[len(c) :] == 0xEE)
    assert np.all(made[:, c[0].nbytes :] == 0xEE)
    return made[: len(c), : c[0].nbytes].copy().view(c.dtype)


def interleaved(b: Array, count: int) -> Array:
    """Return [depth, columns] as a register has it.

    So many numbers of a column stand side by side.
    """
    depth, columns = b.shape
    return b.reshape(depth // count, count, columns).swapaxes(1, 2).reshape(depth // count, -1)


@pytest.mark.parametrize("sizes", [(16, 64, 16), (1, 4, 1), (5, 12, 7), (16, 20, 3)])
@pytest.mark.parametrize(("kind", "left"), [(0, np.uint8), (1, np.int8)])
def test_products_of_bytes_are_summed_exactly(
    instructions: ctypes.CDLL, kind: int, left: Any, sizes: tuple[int, int, int]
) -> None:
    rows, depth, columns = sizes
    rng = np.random.default_rng(rows)
    limits = np.iinfo(left)
    a = rng.integers(limits.min, limits.max, (rows, depth), left, endpoint=True)
    b = rng.integers(-128, 127, (depth, columns), np.int8, endpoint=True)
    a[0], b[:, 0] = limits.min if kind else limits.max, -128
    c = rng.integers(-(2**31), 2**31 - 1, (rows, columns), np.int32, endpoint=True)
    expected = (c + a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)  # wraps around
    np.testing.assert_array_equal(multiplied(instructions, kind, a, interleaved(b, 4), c), expected)


LEAST_NORMAL, DIGITS = Fraction(1, 2**126), 24


def float32(exact: Fraction) -> Fraction:
    """Round to nearest, ties to even; tiny results are zeros."""
    if exact == 0:
        return exact
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    exponent -= abs(exact) < Fraction(2) ** exponent
    step = Fraction(2) ** (exponent - DIGITS + 1)
    rounded = round(exact / step) * step  # Python's halves are even
    return rounded if abs(rounded) >= LEAST_NORMAL else Fraction(0)


def flushed(x: float) -> Fraction:
    return Fraction(x) if abs(Fraction(x)) >= LEAST_NORMAL else Fraction(0)


def summed(a: Array, b: Array, c: Array) -> Array:
    """Return the definition of TDPBF16PS, in fractions."""
    made = np.zeros(c.shape, np.float32)
    for m, n in np.ndindex(c.shape):
        sums = [Fraction(0), Fraction(0)]
        for k in range(a.shape[1]):
            product = flushed(float(a[m, k])) * flushed(float(b[k, n]))
            sums[k % 2] = float32(sums[k % 2] + product)
        both = float32(sums[0] + sums[1])
        made[m, n] = float(float32(flushed(float(c[m, n])) + both))
    return made


@pytest.mark.parametrize("sizes", [(16, 32, 16), (1, 2, 1), (3, 10, 5)])
@pytest.mark.parametrize("scale", [1.0, 2.0**-62, 2.0**-66, 2.0**40])
def test_products_of_bfloat16_are_those_of_the_definition(
    instructions: ctypes.CDLL, sizes: tuple[int, int, int], scale: float
) -> None:
    """Scales make products, sums and operands subnormal, too."""
    rows, depth, columns = sizes
    rng = np.random.default_rng(7)
    wide = 2.0 ** rng.integers(-9, 9, (rows + columns, depth))
    numbers = rng.standard_normal((rows + columns, depth)) * wide * scale
    both = numbers.astype(ml_dtypes.bfloat16)
    a, b = both[:rows], both[rows:].T
    c = (rng.standard_normal((rows, columns)) * scale * scale).astype(np.float32)
    made = multiplied(instructions, 2, a, interleaved(np.ascontiguousarray(b), 2), c)
    expected = summed(a, b, c)
    np.testing.assert_array_equal(made, expected)
    if scale == 1.0 and depth > 2:  # other orders round otherwise
        plain = c + a.astype(np.float32) @ b.astype(np.float32)
        assert np.any(made != plain)


def test_subnormal_bfloat16_operands_and_results_are_zeros(instructions: ctypes.CDLL) -> None:
    least = np.array([[2.0**-127, 1.0]], ml_dtypes.bfloat16)
    great = np.array([[2.0**100], [0.0]], ml_dtypes.bfloat16)
    none = np.zeros((1, 1), np.float32)
    assert multiplied(instructions, 2, least, interleaved(great, 2), none).item() == 0.0
    small = np.array([[2.0**-64, 0.0]], ml_dtypes.bfloat16)
    other = np.array([[2.0**-63], [0.0]], ml_dtypes.bfloat16)
    assert multiplied(instructions, 2, small, interleaved(other, 2), none).item() == 0.0
    other = np.array([[2.0**-62], [0.0]], ml_dtypes.bfloat16)
    assert multiplied(instructions, 2, small, interleaved(other, 2), none).item() == 2.0**-126


def test_released_registers_have_no_shapes(instructions: ctypes.CDLL) -> None:
    shapes = aligned(64)
    shapes[:] = 1
    instructions.keep(ctypes.c_void_p(shapes.ctypes.data))
    assert not shapes.any()


def test_a_register_without_a_shape_ends_the_process(instructions: ctypes.CDLL) -> None:
    program = f"import ctypes; ctypes.CDLL({instructions._name!r}).fault()"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -6


@pytest.mark.parametrize("is_foreign", [True, False])
def test_a_task_leaves_the_registers_as_it_found_them(
    instructions: ctypes.CDLL, is_foreign: bool
) -> None:
    """Another library may rely on shapes that it loaded."""
    before, kept, within, after = (aligned(64) for _ in range(4))
    addresses = [ctypes.c_void_p(shapes.ctypes.data) for shapes in (before, kept, within, after)]
    foreign = Shapes.from_buffer(before)
    foreign.palette = int(is_foreign)
    if is_foreign:
        foreign.rows[3], foreign.row_bytes[3] = 7, 20
    instructions.load(addresses[0])
    instructions.begin(addresses[1], ctypes.c_int64(2 * ROW_BYTES + 18))
    instructions.keep(addresses[2])
    own = Shapes.from_buffer(within)
    assert list(own.rows)[:8] == [ROWS] * 7 + [5]  # 18 bytes are five times four
    assert list(own.row_bytes)[:8] == [ROW_BYTES] * 6 + [20, ROW_BYTES]
    instructions.end(addresses[1])
    instructions.keep(addresses[3])
    np.testing.assert_array_equal(after, before)
    empty = aligned(64)
    instructions.load(ctypes.c_void_p(empty.ctypes.data))


@pytest.mark.parametrize(("answer", "permitted"), [(0, True), (-1, False)])
def test_the_system_is_asked_for_tile_data(tmp_path: Path, answer: int, permitted: bool) -> None:
    """By the number that asks, not the one that looks."""
    source = TESTS / "tile_permission.cpp"
    program = compiled(source, tmp_path / "program", f"-DANSWER={answer}")
    run = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True)
    asked, *found = run.stdout.splitlines()
    assert asked == f"158 0x1023 18: {int(permitted)}"  # arch_prctl, REQ_XCOMP_PERM, XTILEDATA
    words = Path("/proc/cpuinfo").read_text().split()
    assert found == [f"{name} {int(name in words)}" for name in LEVEL.cpu if "amx" in name]


def test_instructions_have_their_operands_in_order(tmp_path: Path) -> None:
    """Sums, left side, right side; the assembler lists them backwards."""
    found: dict[str, set[str]] = {}
    for name in IN_TILES:
        made = compiled(CPP / f"kernels/{name}.cpp", tmp_path / "k.o", *LEVEL.arguments, "-c")
        listing = subprocess.run(
            ["objdump", "-d", made], check=True, stdout=subprocess.PIPE, text=True
        )
        for instruction, operands in re.findall(
            r"\s(td\w+|tile\w+|\w+tilecfg)\s+(\S*)", listing.stdout
        ):
            found.setdefault(instruction, set()).add(re.sub(r"[^,]*\(.*\)", "()", operands))
    pairs = {(sums, *sides) for sides in ((4, 5), (6, 7)) for sums in range(4)}
    pairs |= {(1, 4, 7), (2, 6, 5)}  # where all four have the shape of a whole register
    products = {f"%tmm{right},%tmm{left},%tmm{sums}" for sums, left, right in pairs}
    assert found["tdpbusd"] == found["tdpbssd"] == found["tdpbf16ps"] == products
    assert found["tileloadd"] == {f"(),%tmm{number}" for number in range(4, 8)}
    assert found["tilestored"] == {f"%tmm{number},()" for number in range(4)}
    assert found["tilezero"] == {f"%tmm{number}" for number in range(4)}
    assert {"ldtilecfg", "sttilecfg", "tilerelease"} <= found.keys()


# The kernels need the vectors of the level below, which may be emulated by those of AVX2.
HERE = BUILD["levels_of_processor"](LEVELS.values()) if platform.machine() == "x86_64" else []
NAMES = {level.name for level in HERE}

if "avx2" in NAMES:

    @pytest.fixture(scope="module")
    def kernels(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
        """Return the kernels, over a level that marks its tiles."""
        folder = tmp_path_factory.mktemp("kernels")
        main = [f"-DTILES={LEVEL.name}", "-fPIC", "-c"]
        objects = [compiled(TESTS / "tile_kernels.cpp", folder / "main.o", *main)]
        emulated = EMULATION["emulated_tile_registers"](has_vectors=LEVEL.adds_to in NAMES)
        for number, name in enumerate(IN_TILES):
            flags = [*LEVEL.arguments, *emulated, "-fPIC", "-c"]
            objects.append(compiled(CPP / f"kernels/{name}.cpp", folder / f"{number}.o", *flags))
        library = folder / "kernels.so"
        subprocess.run(["g++", *added_flags(), "-shared", "-o", library, *objects], check=True)
        return ctypes.CDLL(str(library))

    class Rows:
        """Rows of so many taps: equally far apart, or anywhere."""

        def __init__(self, numbers: Array, is_even: bool, rng: np.random.Generator) -> None:
            taps, count, depth = numbers.shape
            apart = 5  # numbers that no kernel may use; none behind the last row
            row = depth + apart
            self.memory = np.full(taps * count * row - apart, 99, numbers.dtype)
            places = np.arange(count) if is_even else rng.permutation(count)
            size = numbers.itemsize
            steps = (count * row * size, row * size, size)
            np.lib.stride_tricks.as_strided(self.memory, numbers.shape, steps)[:, places] = numbers
            first = self.memory.ctypes.data
            addresses = [[first + t * steps[0] + r * steps[1] for r in places] for t in range(taps)]
            self._addresses = np.array(addresses, np.uint64)

        def pointers(self, first: int = 0) -> ctypes.c_void_p:
            return ctypes.c_void_p(self._addresses.ctypes.data + 8 * first)

    def pointer(array: Array | None) -> ctypes.c_void_p:
        return ctypes.c_void_p(None if array is None else array.ctypes.data)

    def panel_of_bytes(weights: Array) -> Array:
        """Return [taps, depth, columns] packed, its sums behind it."""
        taps, depth, columns = weights.shape
        packed = np.zeros((taps, -(-depth // 4) * 4, BLOCK), np.int8)
        packed[:, :depth, :columns] = weights
        sums = packed.sum((0, 1), dtype=np.int32)
        steps = [interleaved(tap, 4).tobytes() for tap in packed]
        return np.frombuffer(b"".join(steps) + sums.tobytes(), np.int8).copy()

    EDGES = [  # rows, columns, taps, depth
        (32, 32, 1, 64),
        (16, 16, 1, 4),
        (17, 17, 3, 3),
        (31, 1, 2, 67),
        (32, 16, 9, 128),
        (16, 32, 1, 130),
        (24, 20, 4, 63),
    ]

    @pytest.mark.parametrize("is_even", [True, False])
    @pytest.mark.parametrize("kind", [np.uint8, np.int8])
    @pytest.mark.parametrize("sizes", EDGES)
    def test_tiles_of_bytes_are_exact(
        kernels: ctypes.CDLL, sizes: tuple[int, int, int, int], kind: Any, is_even: bool
    ) -> None:
        count, columns, taps, depth = sizes
        rng = np.random.default_rng(depth)
        limits = np.iinfo(kind)
        a = rng.integers(limits.min, limits.max, (taps, count, depth), kind, endpoint=True)
        b = rng.integers(-128, 127, (taps, depth, columns), np.int8, endpoint=True)
        panel, rows = panel_of_bytes(b), Rows(a, is_even, rng)
        bias = rng.integers(-(2**30), 2**30, BLOCK, np.int32)
        read = a.astype(np.int64) + (128 if kind is np.int8 else 0)  # as the level below reads them
        whole = bias[:columns] + sum(read[t] @ b[t] for t in range(taps))
        row_sums = read.sum((0, 2)).astype(np.int32)
        scales = rng.uniform(1e-8, 1e-7, BLOCK).astype(np.float32)
        for zero, own in ((0, None), (-7, None), (5, scales)):
            sums = (whole - zero * row_sums[:, None].astype(np.int64)).astype(np.int32)
            steps = np.rint(sums.astype(np.float32) * scales[:columns])
            expected = sums if own is None else np.clip(steps + 3, -90, 100).astype(np.int8)
            made = np.full((count, columns + 2), 77, expected.dtype)
            kernels.multiply_bytes(
                rows.pointers(),
                *map(ctypes.c_int64, (count, taps, depth)),
                int(kind is np.int8),
                pointer(panel),
                zero,
                *map(pointer, (row_sums, bias, made)),
                ctypes.c_int64(columns + 2),
                count,
                columns,
                pointer(own),
            )
            np.testing.assert_array_equal(made[:, :columns], expected)
            assert np.all(made[:, columns:] == 77)

    def panel_of_bfloat16(weights: Array) -> Array:
        taps, depth, columns = weights.shape
        packed = np.zeros((taps, -(-depth // 2) * 2, BLOCK), weights.dtype)
        packed[:, :depth, :columns] = weights
        return np.concatenate([interleaved(tap, 2) for tap in packed])

    def in_tiles(a: Array, b: Array) -> Array:
        """Return the defined sums of 32 numbers at a time."""
        total = np.zeros((a.shape[1], b.shape[2]), np.float32)
        for left, right in zip(a, b, strict=True):
            for first in range(0, left.shape[1], 32):
                some = left[:, first : first + 32]
                total = summed(some, right[first : first + 32], total)
        return total

    @pytest.mark.parametrize("is_even", [True, False])
    @pytest.mark.parametrize(
        "sizes", [(17, 17, 2, 35), (32, 3, 1, 64), (16, 32, 1, 7), (3, 20, 3, 33)]
    )
    def test_tiles_of_bfloat16_sum_as_the_instruction_does(
        kernels: ctypes.CDLL, sizes: tuple[int, int, int, int], is_even: bool
    ) -> None:
        count, columns, taps, depth = sizes
        rng = np.random.default_rng(depth)
        a = rng.standard_normal((taps, count, depth)).astype(ml_dtypes.bfloat16)
        b = rng.standard_normal((taps, depth, columns)).astype(ml_dtypes.bfloat16)
        rows, panel = Rows(a, is_even, rng), panel_of_bfloat16(b)
        bias = rng.standard_normal(BLOCK).astype(np.float32)
        residual = rng.standard_normal((count, columns)).astype(np.float32)

        def multiplied_from(first: int) -> Array:
            made = residual[first:].copy()  # in its place
            kernels.multiply_bfloat16(
                rows.pointers(first),
                *map(ctypes.c_int64, (count, taps, depth)),
                *map(pointer, (panel, bias, made, made)),
                ctypes.c_int64(columns),
                len(made),
                columns,
                ctypes.c_int64(50),
            )
            return made

        made = multiplied_from(0)
        np.testing.assert_array_equal(made, in_tiles(a, b) + bias[:columns] + residual)
        # Whatever rows are beside it, of the same gemm.
        np.testing.assert_array_equal(multiplied_from(count - 1), made[-1:])

    def test_what_lies_beside_rows_and_weights_is_not_used(kernels: ctypes.CDLL) -> None:
        """Infinities beside an odd row would make NaN of zeros."""
        rng = np.random.default_rng(1)
        a = rng.standard_normal((1, 20, 37)).astype(ml_dtypes.bfloat16)
        rows = Rows(a, True, rng)
        rows.memory[rows.memory == 99] = np.inf
        b = rng.standard_normal((1, 37, 32)).astype(ml_dtypes.bfloat16)
        panel = panel_of_bfloat16(b)
        made = np.zeros((20, 32), np.float32)
        sizes = map(ctypes.c_int64, (20, 1, 37))
        some = map(pointer, (panel, None, None, made))
        kernels.multiply_bfloat16(
            rows.pointers(), *sizes, *some, ctypes.c_int64(32), 20, 32, ctypes.c_int64(20)
        )
        np.testing.assert_array_equal(made, in_tiles(a, b))

    @pytest.mark.parametrize("count", [1, 14, 15])
    def test_few_rows_are_those_of_the_level_below(kernels: ctypes.CDLL, count: int) -> None:
        """Rows of a byte tile, or of a bfloat16 gemm."""
        rows = Rows(np.ones((1, count, 4), np.int8), True, np.random.default_rng(0))
        bias, panel = np.zeros(BLOCK, np.int32), panel_of_bytes(np.ones((1, 4, 32), np.int8))
        marked = np.zeros((count, 32), np.float32)
        sizes = [*map(ctypes.c_int64, (count, 1, 4))]
        kernels.multiply_bytes(
            rows.pointers(),
            *(*sizes, 1, pointer(panel), 0, None, pointer(bias), pointer(marked)),
            *(ctypes.c_int64(32), count, 32, None),
        )
        assert np.all(marked == 55.0)
        marked[:] = 0.0
        some = [*map(pointer, (panel, None, None, marked)), ctypes.c_int64(32), count, 32]
        kernels.multiply_bfloat16(rows.pointers(), *sizes, *some, ctypes.c_int64(count))
        assert np.all(marked == 55.0)
