# SPDX-License-Identifier: MIT
"""Costs choose kernels, and equal costs choose equal ones."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armnn
from armnn.profiling import Recorder, layer_times
from armnn_backend_neon.costs import UNITS, Costs, file_text
from armnn_backend_neon.measuring import (
    Shape,
    chosen,
    kernels_of,
    measure,
    network_of,
    random_shapes,
)
from armnn_backend_neon.tuning import CACHES, caches, cpu_name, lanes, measure_machine

PACKAGE = Path(__file__).resolve().parents[1]
MEASURING = runpy.run_path(str(PACKAGE / "tools/measure_costs.py"))
TABLES: dict[tuple[str, int], Costs] = MEASURING["read_tables"]()
"""The built-in costs by CPU and floats in a register."""
NS = dict.fromkeys(UNITS, 1.0)
SIZES = {"first_cache": 32768, "second_cache": 1048576, "third_cache": 33554432}
ZEN_3 = ("AMD EPYC, family 25, model 1", 8)
ZEN_4 = ("AMD EPYC, family 25, model 17", 16)
ZEN_5 = ("AMD EPYC, family 26, model 2", 16)
EMERALD_RAPIDS = ("Intel(R) Xeon(R) Processor, family 6, model 207", 16)
OF_AVX2 = (EMERALD_RAPIDS[0], 8)
DEEP = Shape((7, 7), 512, 512, (3, 3))
WIDE = Shape((56, 56), 64, 64, (3, 3))


def child(program: str, **environment: str | Path) -> str:
    """Return what a program in another process prints.

    Costs never change within a process.
    """
    there = {**os.environ, **{name: str(value) for name, value in environment.items()}}
    run = subprocess.run(
        [sys.executable, "-c", program], env=there, check=True, stdout=subprocess.PIPE, text=True
    )
    return run.stdout.strip()


PREDICTED = f"""
from armnn_backend_neon.measuring import Shape, measure
(row,) = measure([{WIDE!r}], ["plain"], rounds=1)
print(row.predicted_ns > 1e12)
"""


ORIGIN = """
from armnn_backend_neon.backend import CpuAccBackend
from armnn_backend_neon.tuning import lanes
print(lanes(), CpuAccBackend().devices()[0].info["costs"])
"""


def test_the_named_cpu_is_the_one_whose_costs_are_used(tmp_path: Path) -> None:
    """Zen 3 has no registers of 16 floats.

    Those of another CPU are the nearest for them.
    """
    floats, origin = child(ORIGIN, XDG_CONFIG_HOME=tmp_path, ARMNN_CPUACC_COSTS="").split(" ", 1)
    assert (origin.removeprefix("built in, of "), int(floats)) in TABLES


@pytest.mark.skipif(", family " not in cpu_name(), reason="the CPU does not tell its generation")
def test_costs_of_a_cpu_of_this_generation_are_nearer_than_those_of_equal_caches(
    tmp_path: Path,
) -> None:
    """One name, "AMD EPYC", is that of several generations."""
    name, _, rest = cpu_name().partition(", family ")
    sister = f"{name.split()[0]} Other, family {rest.split(',')[0]}, model 999"
    far = {cache: 2 * size for cache, size in caches().items()}
    slow = {**NS, "multiply_add": 1e6}
    path = tmp_path / "costs"
    answers = []
    for cpu in (sister, f"{name}, family 999, model 1"):
        own = file_text(cpu, [Costs(16, far, slow)])
        other = file_text("Another", [Costs(16, caches(), NS)]).partition("\n")[2]
        path.write_text(own + other)
        answers.append(child(PREDICTED, ARMNN_CPUACC_COSTS=path))
    assert answers == ["True", "False"]


PRICED = """
from armnn_backend_neon.measuring import Shape, chosen
layer, large = Shape(({side}, {side}), 192, 256, (3, 3)), Shape((1, 1), 2048, 2048, (1, 1))
print(*chosen([layer]), chosen([layer, large])[0], sep=", ")
"""


def test_transformed_weights_have_a_price_beside_constants_that_no_cache_keeps(
    tmp_path: Path,
) -> None:
    """Larger tiles take twice the weights of smaller ones."""
    cpu, side = (ZEN_4, 8) if lanes() > 8 else (ZEN_3, 12)
    table = TABLES[cpu]
    path = tmp_path / "costs"
    answers = []
    for ns in (table.ns, {**table.ns, "memory_byte": 0.0}):
        path.write_text(file_text("any", [Costs(cpu[1], table.caches, ns)]))
        answers.append(child(PRICED.format(side=side), ARMNN_CPUACC_COSTS=path))
    assert answers == ["winograd_2d 4, winograd_2d 2", "winograd_2d 4, winograd_2d 4"]


def test_the_tables_are_as_they_were_generated() -> None:
    text = MEASURING["TABLES"].read_text(encoding="utf-8")
    assert MEASURING["text_of"](TABLES) == text


def test_vectors_multiply_bfloat16_faster_on_amd_and_tile_registers_on_intel() -> None:
    """A product of tile registers is one of 16 x 16 sums over 32 numbers."""
    faster = {
        cpu: costs.ns["bfloat16_multiply_add"] < costs.ns["multiply_add"]
        for cpu, costs in TABLES.items()
        if costs.lanes == 16
    }
    assert faster == {ZEN_4: True, ZEN_5: True, EMERALD_RAPIDS: False}
    ns = TABLES[EMERALD_RAPIDS].ns
    assert ns["tile_register_product"] < 16 * 16 * 32 * ns["multiply_add"] / 5


CHOSEN = """
from armnn_backend_neon.measuring import Shape, chosen
for shape in (
    Shape((7, 7), 512, 512, (3, 3)),
    Shape((56, 56), 64, 64, (3, 3)),
    Shape((1, 96), 32, 32, (1, 3)),
    Shape((56, 56), 8, 8, (3, 3)),
    Shape((28, 28), 64, 256, (1, 1)),
):
    print(*chosen([shape]))
"""
DEEP_BY_CPU = {
    ZEN_3: "winograd_1d 4 across",
    ZEN_4: "winograd_2d 2",
    ZEN_5: "winograd_1d 4 across",
    EMERALD_RAPIDS: "winograd_1d 4 across",
    OF_AVX2: "winograd_1d 4 across",
}
"""Tiles of 4 x 4 would have the most weights to read for few rows."""


@pytest.mark.parametrize("cpu", [cpu for cpu in DEEP_BY_CPU if cpu[1] == lanes()])
def test_layers_get_the_kernel_that_is_right_on_each_cpu(
    cpu: tuple[str, int], tmp_path: Path
) -> None:
    """Of those that have registers as wide as this one has."""
    path = tmp_path / "costs"
    path.write_text(file_text(cpu[0], [TABLES[cpu]]))
    deep, *others = child(CHOSEN, ARMNN_CPUACC_COSTS=path).splitlines()
    assert deep == DEEP_BY_CPU[cpu]
    # Many tiles share few weights; 8 outputs are a register of AVX2, and half of a wider one.
    narrow = "plain 2" if cpu[1] == 16 else "winograd_1d 6 across"
    assert others == ["winograd_2d 4", "winograd_1d 6 across", narrow, "plain"]


BEHIND = """
import numpy as np
import armnn
from armnn.profiling import Recorder
for has_maker in (False, True):
    network = armnn.Network()
    x = network.add_input("x", armnn.TensorInfo((1, 6, 6, 16)))
    if has_maker:
        weights = np.ones((1, 1, 1, 16), np.float32)
        x = network.add_depthwise_convolution2d(x, weights, data_layout="NHWC")
    weights = np.ones((24, 1, 1, 16), np.float32)
    network.add_output("y", network.add_convolution2d(x, weights, data_layout="NHWC", name="last"))
    with armnn.Runtime() as runtime:
        options = {"CpuAcc": {"FastMathEnabled": "true"}}
        loaded = runtime.load_model(network, backends=["CpuAcc"], model_options=options)
        recorder = Recorder()
        loaded.run({"x": np.ones((1, 6, 6, 16), np.float32)}, profiler=recorder)
    details = [each.details for each in recorder.events if each.name == "last"]
    print(*(each["kernel"] for each in details if "kernel" in each), sep=", ")
"""


def test_an_image_that_its_maker_rounds_is_not_rounded_again(
    level: str, multiplies_bfloat16: bool, tmp_path: Path
) -> None:
    """Rounding is dear here; a depthwise convolution stores bfloat16."""
    path = tmp_path / "costs"
    ns = {**NS, "bfloat16_multiply_add": 0.1, "element": 1e6}
    path.write_text(file_text("any", [Costs(lanes, SIZES, ns) for lanes in (4, 8, 16)]))
    answers = child(BEHIND, ARMNN_CPUACC_COSTS=path, ARMNN_CPUACC_ISA=level).splitlines()
    assert answers == ["plain", "plain bfloat16" if multiplies_bfloat16 else "plain"]


FINGERPRINTS = """
import os, sys
from collections.abc import Mapping
from pathlib import Path
from armnn.errors import ArmnnError
from armnn_backend_neon.backend import CpuAccBackend
for path in sys.argv[1:] or os.environ["FILES"].split(":"):
    os.environ["ARMNN_CPUACC_COSTS"] = path
    try:
        (cpu,) = CpuAccBackend().devices()
        print(cpu.fingerprint)
    except ArmnnError as error:
        print(str(error).replace(path, "FILE"))
"""


def test_a_file_of_costs_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    good = file_text("any", [Costs(16, SIZES, NS)])
    files = {
        "no such": None,
        "empty": "",
        "header": good.replace("costs 2", "costs 1", 1),
        "unknown": good + "sideways 3\n",
        "number": good.replace("\ntile 1", "\ntile -1"),
        "missing": good.replace("\ntile 1\n", "\n"),
        "cache": good.replace("second_cache 1048576\n", ""),
        "before": "armnn CpuAcc costs 2\ntile 1\n",
        "lanes": good.replace("lanes 16", "lanes 0"),
        "nothing": "armnn CpuAcc costs 2\n# later\n",
    }
    for name, text in files.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    paths = ":".join(str(tmp_path / name) for name in files)
    lines = child(FINGERPRINTS, FILES=paths).splitlines()
    expected = [
        "No such file or directory",
        "there are no costs",
        "line 1: expected 'armnn CpuAcc costs 2'",
        "'sideways' is not known",
        "got '-1', expected a number from 0 on",
        "'tile' is missing",
        "a cache is missing",
        "line 2: expected cpu or lanes, got 'tile'",
        "got '0', expected lanes from 1 on",
        "there are no costs",
    ]
    for line, part in zip(lines, expected, strict=True):
        assert "the costs of ARMNN_CPUACC_COSTS=FILE cannot be used: " in line
        assert part in line
        assert "`armnn tune --machine -o FILE` writes such a file" in line


def test_programs_depend_on_the_costs(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text(file_text("any", [Costs(16, SIZES, NS)]))
    other.write_text(file_text("any", [Costs(16, SIZES, {**NS, "tile": 2.0})]))
    first, again, second = (
        child(FINGERPRINTS, FILES=path).split(", costs ") for path in (one, one, other)
    )
    assert first == again
    assert (first[0], first[1] == second[1]) == (second[0], False)


def test_what_was_kept_is_used_on_that_cpu_only(tmp_path: Path) -> None:
    kept = tmp_path / "armnn" / "CpuAcc.costs"
    kept.parent.mkdir()
    program = (
        "from armnn_backend_neon.backend import CpuAccBackend\n"
        "print(CpuAccBackend().devices()[0].info['costs'])"
    )
    environment = {"XDG_CONFIG_HOME": tmp_path, "ARMNN_CPUACC_COSTS": ""}
    for cpu, origin in ((cpu_name(), str(kept)), ("another", "built in, of ")):
        kept.write_text(file_text(cpu, [Costs(16, SIZES, NS)]))
        assert child(program, **environment).startswith(origin)
    kept.write_text(kept.read_text().replace("costs 2", "costs 1", 1))
    assert child(program, **environment).endswith(
        f"; {kept} is of another version of CpuAcc: run `armnn tune --machine` again"
    )


def test_a_profile_has_the_kernel_and_its_predicted_time() -> None:
    network = armnn.Network()
    x = network.add_input("x", armnn.TensorInfo((1, 14, 14, 32)))
    weights = network.add_constant(np.ones((32, 1, 1, 32), np.float32))
    network.add_output("y", network.add_convolution2d(x, weights, data_layout="NHWC", name="conv"))
    recorder = Recorder()
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"])
        loaded.run({"x": np.ones((1, 14, 14, 32), np.float32)}, profiler=recorder)
        times = layer_times(recorder.events, loaded.report)
    (time,) = (t for t in times if t.type == "Convolution2d")
    (event,) = (event for event in recorder.events if "kernel" in event.details)
    assert event.details["kernel"] == "plain"
    assert json.loads(str(event.details["work"]))["multiply_add"] >= 14 * 14 * 32 * 32
    assert time.predicted_milliseconds == pytest.approx(event.details["predicted_ns"] / 1e6)


def test_a_grouped_convolution_does_the_work_of_all_groups() -> None:
    """Its profile compares the time of all with it."""
    network = armnn.Network()
    x = network.add_input("x", armnn.TensorInfo((1, 14, 14, 64)))
    weights = network.add_constant(np.ones((64, 1, 1, 16), np.float32))
    network.add_output("y", network.add_convolution2d(x, weights, data_layout="NHWC"))
    recorder = Recorder()
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(network, backends=["CpuAcc"])
        loaded.run({"x": np.ones((1, 14, 14, 64), np.float32)}, profiler=recorder)
    (event,) = (event for event in recorder.events if "kernel" in event.details)
    work = json.loads(str(event.details["work"]))
    assert 14 * 14 * 16 * 64 <= work["multiply_add"] < 2 * 14 * 14 * 16 * 64
    assert work["operation"] == 1


def test_the_units_are_those_of_the_sources() -> None:
    declared = re.findall(
        r"^  X\((\w+)\)", (PACKAGE / "cpp/costs/work.h").read_text(), re.MULTILINE
    )
    assert tuple(declared) == UNITS


def test_this_machine_is_measured_and_the_file_is_read(tmp_path: Path) -> None:
    measured = measure_machine()
    assert set(measured["costs"]) == set(UNITS)
    assert 0.0 < measured["costs"]["multiply_add"] < 10.0
    path = tmp_path / "costs"
    path.write_text(measured["text"])
    program = (
        "from armnn_backend_neon.backend import CpuAccBackend\n"
        "print(CpuAccBackend().devices()[0].info['costs'])"
    )
    assert child(program, ARMNN_CPUACC_COSTS=path) == f"ARMNN_CPUACC_COSTS={path}"


def test_the_caches_are_those_of_the_system() -> None:
    sizes = caches()
    assert list(sizes) == list(CACHES)
    assert all(8 * 1024 <= size <= 4 * 1024**3 for size in sizes.values())


@pytest.mark.parametrize("name", ["plain", "winograd_2d 2", "winograd_1d 4 across"])
def test_a_named_kernel_computes_a_layer_where_it_can(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARMNN_CPUACC_KERNEL", name)
    shapes = [Shape((12, 12), 16, 16, (3, 3)), Shape((5, 5), 16, 16, (1, 1))]
    assert _forced(shapes) == [name, "plain"]


def test_every_chosen_kernel_is_among_those_that_are_measured() -> None:
    shapes = list(random_shapes(60, seed=3))
    names = chosen(shapes)
    assert [
        name for shape, name in zip(shapes, names, strict=True) if name in kernels_of(shape)
    ] == (names)
    assert len({name.split()[0] for name in names}) == 3


def test_a_layer_is_measured_by_each_kernel_that_can_compute_it() -> None:
    """Tiles of 6 x 6 outputs are of fast math."""
    rows = measure([DEEP, Shape((6, 6), 8, 16, (1, 1))], rounds=2)
    assert [row.kernel for row in rows if row.shape == DEEP] == sorted(
        set(kernels_of(DEEP)) - {"winograd_2d 6"}
    )
    assert [row.kernel for row in rows if row.shape != DEEP] == ["plain"]
    assert all(row.ns == min(row.runs) and len(row.runs) == 2 for row in rows)


def test_fast_math_chooses_no_kernel_that_is_predicted_to_take_longer() -> None:
    few_channels = [Shape((300 // n, 200), 3, 8 * n, (3, 3)) for n in (1, 2, 4)]
    # Few weights: the halved ones of many layers are worth some time.
    few_weights = [s for s in random_shapes(120, seed=5) if s.channels * s.outputs < 3000]
    shapes = [*few_channels, *few_weights]
    exact, fast = (_details(shapes, fast_math=fast_math) for fast_math in (False, True))
    for shape, one, other in zip(shapes, exact, fast, strict=True):
        assert one["kernel"] in kernels_of(shape)
        assert other["kernel"] in kernels_of(shape, fast_math=True)
        # Filtering has to save a little more than nothing.
        assert other["predicted_ns"] <= one["predicted_ns"] / 0.99 + 300


def _forced(shapes: list[Shape]) -> list[Any]:
    return [details["kernel"] for details in _details(shapes)]


def _details(shapes: list[Shape], *, fast_math: bool = False) -> list[Mapping[str, Any]]:
    """Return what is known of each layer's kernel."""
    recorder = Recorder()
    options = {"FastMathEnabled": str(fast_math).lower()}
    with armnn.Runtime() as runtime:
        loaded = runtime.load_model(
            network_of(shapes), backends=["CpuAcc"], model_options={"CpuAcc": options}
        )
        x = {f"x{i}": np.ones((1, *s.image, s.channels), np.float32) for i, s in enumerate(shapes)}
        loaded.run(x, profiler=recorder)
    return [event.details for event in recorder.events if "kernel" in event.details]
