# SPDX-License-Identifier: MIT
"""The page on speed says what its records hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.models.generate_speed_page import page, read_records

if TYPE_CHECKING:
    from pathlib import Path

MODELS = {
    "net": {"CpuAcc": [1.0, 3.0], "onnxruntime": [4.0, 4.0], "OpenVINO": [2.0, 2.0]},
    "other": {"CpuAcc": [8.0, 4.0], "onnxruntime": [4.0, 4.0]},
    "net_int8": {"CpuAcc": [1.0, 1.0], "LiteRT": [2.0, None]},
    "little": {"CpuAcc": [0.1, 0.1], "LiteRT": [0.2, 0.2]},
    "call": {"CpuAcc": [0.01, 0.01], "LiteRT": [0.005, 0.005]},
    "alone": {"CpuAcc": [1.0, 1.0]},
}
FAST = {"CpuAcc, fast math": [0.5, 0.5], "OpenVINO, defaults": [1.0, 1.0]}


def write(folder: Path, cpu: str, level: str, factor: float) -> None:
    """Write a record in which CpuAcc takes some times as long."""
    models = {
        name: {
            runtime: [time and time * (factor if runtime == "CpuAcc" else 1) for time in row]
            for runtime, row in {**rows, **(FAST if name == "net" else {})}.items()
        }
        for name, rows in MODELS.items()
    }
    record = {"about": {"cpu": cpu, "level": level, "note": f"Of {cpu}."}, "models": models}
    (folder / f"{cpu}.json").write_text(json.dumps(record))


def test_ratios_are_to_the_fastest_peer_and_the_worst_cpu_comes_first(tmp_path: Path) -> None:
    write(tmp_path, "Aye", "avx512_bf16", 1)
    write(tmp_path, "Bee", "avx2", 2)
    text = page(read_records(tmp_path))
    rows = {
        cells[0]: cells[1:]
        for line in text.splitlines()
        if line.startswith("| ")
        for cells in [[cell.strip() for cell in line.strip("|").split("|")]]
    }
    assert rows["one thread"] == ["Bee", "Aye"]
    # Of net and other: 1 / 2 and 8 / 4, so 1 in the middle; twice that on Bee.
    assert rows["float32, 1 ms and more"] == [
        "**2.00**, 4.00 (other), 1 of 2",
        "**1.00**, 2.00 (other), 1 of 2",
    ]
    assert rows["quantized"] == [
        "**1.00**, 1.00 (net_int8), 1 of 1",
        "**0.50**, 0.50 (net_int8), 1 of 1",
    ]
    assert rows["float32, 50 µs to 1 ms"][1] == "**0.50**, 0.50 (little), 1 of 1"
    assert rows["below 50 µs"][0] == "**4.00**, 4.00 (call), 0 of 1"
    # With two threads net takes 3 / 2, other 4 / 4, little 1 / 2, and net_int8 has no peer.
    assert rows["all from 50 µs on, two threads"][1] == "**0.91**, 1.50 (net), 2 of 3"
    # OpenVINO counts with its defaults there; other was not measured with fast math.
    assert rows["float32, 1 ms and more, in bfloat16"] == [
        "no bfloat16 there",
        "**0.50**, 0.50 (net), 1 of 1",
    ]
    assert rows["net_int8"] == ["2, 1.00, -", "1, 0.50, -"]
    assert rows["alone"][1] == "1, -, -"
    assert "Bee: Of Bee.\n" in text
