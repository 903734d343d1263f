# SPDX-License-Identifier: MIT
"""Recorded costs choose what is right on each CPU.

Nothing is computed: ``tools/choices.py`` asks the sources that choose, with the tiles of the level
that the CPU has, which this one need not have.
"""

from __future__ import annotations

import json
import re
import runpy
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
ASKING = runpy.run_path(str(PACKAGE / "tools/choices.py"))
COSTS = ASKING["built_in_costs"]()
LEVEL_OF = {
    "AMD EPYC, family 25, model 1": "avx2",
    "AMD EPYC, family 25, model 17": "avx512_bf16",
    "AMD EPYC, family 26, model 2": "avx512_bf16",
    "Intel(R) Xeon(R) Processor, family 6, model 207": "avx512_amx",
}
"""Zen 3, Zen 4, Zen 5, Emerald Rapids: the best level of each."""
FEW_OUTPUTS = 8
"""Of layers that are left out of recorded ones."""
MOST_RECORDED = 1.3
"""Times the fastest kernel of a layer: slower ones are in no file of costs."""


class Choice(NamedTuple):
    """What is right for a layer.

    Attributes:
        question: What is asked; height, width and channels of the image, outputs, height, width and
            stride of the window.
        answers: Of each CPU of ``LEVEL_OF``; one of all that agree.
        why: Why CPUs differ, or what all have in common.
    """

    question: str
    answers: tuple[str, ...]
    why: str


CHOICES = (
    Choice(
        "exact 7 7 512 512 3 3 1",
        (*["winograd_1d 4 across"] * 3, "winograd_2d 2"),
        "its weights do not stay in the caches of AMD, and a cold row of weights takes 6.7 ns on "
        "Emerald Rapids, 0.5 to 2.7 elsewhere: tiles of 4 x 4 have the most of them",
    ),
    Choice(
        "exact 14 14 256 256 3 3 1",
        (*["winograd_2d 4"] * 3, "winograd_2d 2"),
        "cold rows as above, which 14 rows do not hide on Emerald Rapids",
    ),
    Choice(
        "exact 12 7 3 4 3 2 1",
        ("plain 2", *["plain"] * 3),
        "so little is saved that a guess of less than half an operation is none",
    ),
    Choice("exact 56 56 64 64 3 3 1", ("winograd_2d 4",), "many tiles share few weights"),
    Choice("exact 28 28 16 16 3 3 1", ("winograd_2d 4",), "the fewest channels of Winograd in 2D"),
    Choice(
        "exact 1 96 32 32 1 3 1",
        (*["winograd_1d 6 across"] * 3, "plain"),
        "a tile of one dimension takes 40 ns on Emerald Rapids, 7 to 16 elsewhere",
    ),
    Choice(
        "exact 56 56 8 8 3 3 1",
        ("winograd_1d 6 across", *["plain 2"] * 3),
        "8 outputs are a register of Zen 3, and half of one elsewhere: two pixels fill it",
    ),
    Choice("exact 24 24 12 2 3 3 1", ("plain 4", *["plain 3"] * 3), "the same"),
    Choice("exact 224 224 3 32 3 3 2", ("plain",), "nothing else takes a stride"),
    Choice("exact 28 28 64 256 1 1 1", ("plain",), "nothing to filter in a window of one pixel"),
    Choice(
        "fast 28 28 64 256 1 1 1",
        ("plain", *["plain bfloat16"] * 3),
        "Zen 3 multiplies no bfloat16",
    ),
    Choice(
        "fast 28 28 64 8 1 1 1", ("plain",), "8 products of a number do not pay for rounding it"
    ),
    Choice(
        "fast 56 56 64 64 3 3 1",
        (*["winograd_2d 6"] * 3, "plain bfloat16"),
        "tile registers multiply faster than Winograd transforms",
    ),
    Choice(
        "fast 7 7 512 512 3 3 1",
        ("winograd_1d 4 across", *["plain bfloat16"] * 3),
        "weights in bfloat16 are half as large, transformed ones twice",
    ),
    Choice("bytes 1 15 1024 1000 1 1 1", ("vectors",), "fewer rows than a tile register has"),
    Choice(
        "bytes 1 16 1024 1000 1 1 1",
        (*["vectors"] * 3, "tile registers"),
        "only Emerald Rapids has tile registers",
    ),
    Choice(
        "bytes 28 28 16 16 1 1 1",
        (*["vectors"] * 3, "tile registers"),
        "16 columns fill a register",
    ),
    Choice("bytes 28 28 8 16 1 1 1", ("vectors",), "8 of the 64 bytes of a register's row"),
    Choice("product 1 1 64 64 1 1 1", ("alone",), "less than a fork anywhere"),
    Choice(
        "product 1 16 64 64 1 1 1",
        ("shared", *["alone"] * 3),
        "Zen 3 needs 1.1 us to begin an operation, where three forks take 2.8",
    ),
    Choice("product 1 128 128 128 1 1 1", ("shared",), "more than three forks anywhere"),
    Choice("depthwise 7 7 64 64 3 3 1", ("alone",), "less than a fork anywhere"),
    Choice(
        "depthwise 14 14 64 64 3 3 1",
        ("shared", "shared", "alone", "shared"),
        "Zen 5 computes it in less than three forks",
    ),
    Choice("depthwise 28 28 64 64 3 3 1", ("shared",), "more than three forks anywhere"),
)


@pytest.fixture(scope="module")
def chooser(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the program that answers."""
    return ASKING["Chooser"](tmp_path_factory.mktemp("choices"))


def test_each_recorded_cpu_has_a_level() -> None:
    assert COSTS.keys() == set(LEVEL_OF)


def test_layers_get_the_kernel_that_is_right_on_each_cpu(chooser: Any) -> None:
    questions = [choice.question for choice in CHOICES]
    columns = [chooser.answers(COSTS[cpu], level, questions) for cpu, level in LEVEL_OF.items()]
    found = dict(zip(questions, zip(*columns, strict=True), strict=True))
    assert found == {
        choice.question: choice.answers * (1 if len(choice.answers) > 1 else len(LEVEL_OF))
        for choice in CHOICES
    }


def recorded_layers(cpu: str) -> dict[str, dict[str, float]]:
    """Return the times of kernels by question.

    In float32, in the widest registers of a CPU. Layers of few outputs have other kernels since
    most CPUs were measured: their weights took four times the memory.
    """
    (file,) = (
        found
        for path in PACKAGE.glob("costs/*.json")
        if (found := json.loads(path.read_text()))["cpu"] == cpu
    )
    section = max(file["sections"], key=lambda section: int(section["lanes"]))
    layers: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in section["rows"]:
        sizes = re.fullmatch(r"(\d+)-(\d+)@(\d+)x(\d+) (\d+)x(\d+)/(\d+)", row["layer"])
        if sizes is None or "bfloat16" in row["kernel"]:
            continue
        channels, outputs, *image, window_height, window_width, stride = sizes.groups()
        if int(outputs) <= FEW_OUTPUTS:
            continue
        question = " ".join([*image, channels, outputs, window_height, window_width, stride])
        layers[f"exact {question}"][row["kernel"]] = row["ns"]
    return dict(layers)


def mean_loss(layers: dict[str, dict[str, float]], chosen: list[str]) -> float:
    """Return what choices lose, 0 for the fastest kernels."""
    ratios: list[Any] = []
    for name, times in zip(chosen, layers.values(), strict=True):
        least = min(times.values())
        ratios.append(times.get(name, MOST_RECORDED * least) / least)
    return sum(ratios) / len(ratios) - 1


def test_layers_that_were_measured_get_nearly_the_fastest_kernel(chooser: Any) -> None:
    """Costs of another CPU choose worse."""
    for cpu, level in LEVEL_OF.items():
        layers = recorded_layers(cpu)
        assert len(layers) > 400
        losses = {
            other: mean_loss(layers, chooser.answers(COSTS[other], level, list(layers)))
            for other in LEVEL_OF
        }
        assert losses[cpu] < 0.025
        assert min(losses, key=lambda each: losses[each]) == cpu
