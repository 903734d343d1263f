# SPDX-License-Identifier: MIT
"""The speed pages: order of CPUs, counts and staleness."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.models import generate_speed_pages as pages
from benchmarks.models.kernel_sources import digest_of_sources
from benchmarks.models.speed_records import Figures, fastest, folder_of_records


def model(ours: float, peers: dict[str, float], twice: float | None = None) -> dict[str, Any]:
    """Return a model's record for one and two threads.

    It holds milliseconds of CpuAcc and its peers.
    """
    rows = [
        {"runtime": name, "threads": threads, "median_ms": took, "distance": 0.0}
        for threads, own in ((1, ours), (2, twice or ours))
        for name, took in {"CpuAcc": own, "CpuAcc, fast math": own / 2, **peers}.items()
    ]
    rows[0]["multiply_adds"] = 50_000_000
    return {"library": "0" * 16, "other_cores": 0.25, "rows": rows}


def record(cpu: str, factor: float, commit: str | None = "abc1234") -> str:
    """Return a CPU's record, slowed by ``factor``."""
    peers = {"onnxruntime": 4.0, "OpenVINO": 2.0, "OpenVINO, defaults": 0.5}
    models = {
        "net": model(1.0 * factor, peers, 3.0 * factor),
        "other": model(4.0 * factor, peers),
        "net_int8": model(1.0 * factor, {"LiteRT": 2.0}),
        "little": model(0.1 * factor, {"LiteRT": 0.1}),
        "call": model(0.01 * factor, {"LiteRT": 0.005}),
        "alone": model(1.0, {}),
    }
    kernels = {"peak_gflops": 100.0, "gigabytes_per_second": 20.0, "layers": []}
    about = {
        "cpu": cpu,
        "date": "2026-01-02",
        "level": "avx512_bf16",
        "commit": commit,
        "kernels": kernels,
        "machine": {"cores": 2, "openvino": "1.2"},
        "missing": [],
    }
    return json.dumps({"about": about, "models": models})


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    docs = tmp_path / "docs"
    (docs / "speed").mkdir(parents=True)
    (docs / "speed/a.json").write_text(record("Aye", 0.5))
    (docs / "speed/b.json").write_text(record("Bee", 2.0, None))
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{pages.BEGIN}\nold\n{pages.END}\nafter\n")
    monkeypatch.setattr(pages, "DOCS", docs)
    monkeypatch.setattr(pages, "README", readme)
    records = pages.read_records
    monkeypatch.setattr(pages, "read_records", lambda: records(docs / "speed"))
    return docs


def test_a_limited_cpu_is_in_the_overview_and_not_in_the_readme(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = json.loads(record("Bee, AVX2", 3.0))
    limited["about"]["is_limited"] = True
    (docs / "speed/c.json").write_text(json.dumps(limited))
    assert run(monkeypatch) == 0
    assert "Bee, AVX2" in (docs / "speed.md").read_text()
    assert (docs / "speed/c.md").exists()
    readme = (docs.parent / "README.md").read_text()
    assert "a Bee (worst" in readme
    assert "AVX2" not in readme


def test_a_cpu_without_large_models_comes_last(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = json.loads(record("Sea", 9.0))
    small["models"] = {"little": small["models"]["little"]}
    (docs / "speed/c.json").write_text(json.dumps(small))
    assert run(monkeypatch) == 0
    header = next(line for line in (docs / "speed.md").read_text().splitlines() if "Sea" in line)
    assert header.rstrip(" |").endswith("Sea")
    assert "Sea" not in (docs.parent / "README.md").read_text()


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["generate_speed_pages", *arguments])
    return pages.main()


def test_a_note_on_the_circumstances_is_on_the_page(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = json.loads(record("Sea", 1.0))
    noted["about"]["note"] = "Others used the host."
    (docs / "speed/c.json").write_text(json.dumps(noted))
    assert run(monkeypatch) == 0
    assert "Others used the host.\n" in (docs / "speed/c.md").read_text()
    assert "the host" not in (docs / "speed/b.md").read_text()


def test_the_cpu_that_does_worst_comes_first_in_the_overview(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(monkeypatch) == 0
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (docs / "speed.md").read_text().splitlines()
        if line.startswith("| ")
    ]
    # Of net and other: 1 / 2 and 4 / 2, so 1 in the middle; twice that on Bee, half on Aye.
    assert rows[0][1:] == ["Bee", "Aye"]
    said = {row[0]: row[1:] for row in rows}
    assert said["float32, 1 ms and more"] == [
        "**2.00**, 4.00 (other), 1 of 2",
        "**0.50**, 1.00 (other), 2 of 2",
    ]
    assert said["quantised"][0] == "**1.00**, 1.00 (net_int8), 1 of 1"
    assert said["float32, 50 µs to 1 ms"][0] == "**2.00**, 2.00 (little), 0 of 1"
    assert said["below 50 µs"][0] == "**4.00**, 4.00 (call), 0 of 1"
    # net takes 3 / 2 with two threads, other 4 / 2, net_int8 1 / 2, little 1; doubled on Bee.
    assert said["all from 50 µs on, 2 threads"][0] == "**2.21**, 4.00 (other), 1 of 4"
    # 100 million operations at 100 GFLOP/s take 1 ms, both peers 2.
    name = "float32, 1 ms and more, were all multiply-adds at the peak"
    assert said[name] == ["**0.50**, 0.50 (net), 2 of 2"] * 2
    # Half the time beside OpenVINO at its defaults, 0.5 ms: 1 and 4, doubled on Bee.
    assert said["float32, 1 ms and more, in bfloat16"][0] == "**4.00**, 8.00 (other), 0 of 2"
    assert said["commit"] == ["not recorded", "abc1234"]
    assert said["openvino"] == ["1.2", "1.2"]


def test_the_readme_says_both_and_keeps_the_rest(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(monkeypatch)
    text = pages.README.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert re.search(r"2\.00 on a Bee \(worst 4\.00\), .*;\n0\.50 on an Aye", text)
    pages.README.write_text("no marks")
    with pytest.raises(ValueError, match=r"README\.md has no .* put them back"):
        run(monkeypatch)


def test_the_plot_has_a_dot_for_each_ratio(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(monkeypatch)
    plot = (docs / "speed.svg").read_text()
    dots = re.findall(r'<circle cx="([\d.]+)".*?fill="(#\w+)".*?<title>(\w+) ([\d.]+)<', plot)
    assert len(dots) == 2 * 5  # "alone" has no peer
    (line,) = {float(x) for x, _, _, ratio in dots if ratio == "1.00"}
    for x, colour, _, ratio in dots:
        assert (float(x) > line) == (float(ratio) > 1)
        assert (colour == "#c2410c") == (float(ratio) > 1)


def test_the_plot_of_models_has_a_dot_per_thread_count_and_cpu_worst_on_top(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(monkeypatch)
    plot = (docs / "speed-models.svg").read_text()
    place, title = (
        r'cx="([\d.]+)" cy="([\d.]+)" r="\d" fill="(#\w+)"',
        r"(\w+) ([\d.]+) threads (\d)",
    )
    dots = re.findall(rf'<circle {place} stroke="white"><title>{title}<', plot)
    assert len(dots) == 2 * 2 * 5  # CPUs, thread counts, models with a peer
    for _, _, colour, _, ratio, _ in dots:
        assert (colour == "#c2410c") == (float(ratio) > 1)
    worst: dict[str, float] = {}
    for *_, name, ratio, _ in sorted(dots, key=lambda dot: float(dot[1])):
        worst[name] = max(worst.get(name, 0), float(ratio))
    assert list(worst.values()) == sorted(worst.values(), reverse=True)
    # One CPU beside the other, and in each of them what is faster to the left.
    by_cpu = sorted((float(x), float(ratio)) for x, _, _, name, ratio, _ in dots if name == "call")
    assert [ratio for _, ratio in by_cpu] == [4.0, 4.0, 1.0, 1.0]


def test_what_is_stale_is_named_and_a_page_without_a_record_goes(
    docs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch)
    assert run(monkeypatch, "--check") == 0
    assert "| net | 2 |" in (docs / "speed/b.md").read_text()
    (docs / "speed/b.json").unlink()
    assert run(monkeypatch, "--check") == 1
    stale = re.findall(r"^(\S+) is stale: run python", capsys.readouterr().out, re.MULTILINE)
    assert sorted(stale) == [
        *("README.md", "docs/speed-models.svg", "docs/speed.md", "docs/speed.svg"),
        "docs/speed/b.md",
    ]
    run(monkeypatch)
    assert not (docs / "speed/b.md").exists()


def test_a_cpu_without_bfloat16_claims_nothing_for_it(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = json.loads((docs / "speed/a.json").read_text())
    without["about"]["level"] = "avx2"
    row = without["models"]["net"]["rows"][1]
    assert (row["runtime"], row["threads"]) == ("CpuAcc, fast math", 1)
    row["error_of_range"] = 0.25
    (docs / "speed/a.json").write_text(json.dumps(without))
    run(monkeypatch)
    bee, aye = (docs.parent / "README.md").read_text().split(";\n")
    assert "in bfloat16" in bee
    assert "in bfloat16" not in aye
    lines = (docs / "speed.md").read_text().splitlines()
    (row,) = (line for line in lines if line.startswith("| float32, 1 ms and more, in bfloat16"))
    assert [cell.strip() for cell in row.split("|")[2:-1]][1] == "no bfloat16 there"
    said = (docs / "speed/a.md").read_text()
    assert (
        "off from float64 by 2.5e-01 of their range at the median, at most by 2.5e-01 (net)" in said
    )
    assert "off from float64" not in (docs / "speed/b.md").read_text()


def test_figures_older_than_the_kernels_say_so(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    today = json.loads(record("Sea", 1.0))
    for each in today["models"].values():
        each["sources"] = digest_of_sources()
    (docs / "speed/a.json").write_text(json.dumps(today))
    some = json.loads(json.dumps(today)) | {"about": {**today["about"], "cpu": "Dee"}}
    some["models"]["net"]["sources"] = "0" * 16
    (docs / "speed/d.json").write_text(json.dumps(some))
    run(monkeypatch)
    said = {name: (docs / f"speed/{name}.md").read_text() for name in "abd"}
    assert "Older than the kernels" not in said["a"]
    assert "since the measurement of all 6 models (2026-01-02 at the latest" in said["b"]
    assert "since the measurement of 1 of 6 models (2026-01-02" in said["d"]
    assert "commit abc1234): net.\n" in said["d"]
    overview = (docs / "speed.md").read_text()
    (row,) = (line for line in overview.splitlines() if "sources last changed" in line)
    assert [cell.strip() for cell in row.split("|")[2:-1]] == ["6 of 6", "0 of 6", "1 of 6"]


def test_figures_of_a_busy_machine_say_how_old_they_are(
    docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "speed/busy").mkdir()
    about = {"date": "2026-01-02", "commit": "abc1234", "cpus": 2}
    for name, sources in (("a", digest_of_sources()), ("b", "0" * 16)):
        text = json.dumps({"about": {**about, "sources": sources}, "rows": []})
        (docs / f"speed/busy/{name}.json").write_text(text)
    run(monkeypatch)
    said = {name: (docs / f"speed/{name}.md").read_text().split("## Busy")[1] for name in "ab"}
    assert "2026-01-02, commit abc1234, 2 CPUs." in said["a"]
    assert "have changed since" not in said["a"]
    assert "CpuAcc's sources have changed since.\n" in said["b"]


def test_records_of_another_cpu_are_not_taken() -> None:
    cpus = ("AMD EPYC (Zen 3)", "AMD EPYC (Zen 5)", "AMD EPYC (Zen 5), AVX2")
    assert len({folder_of_records(cpu) for cpu in cpus}) == len(cpus)


def test_the_digest_of_sources_changes_with_a_kernel_and_not_with_a_test(tmp_path: Path) -> None:
    (tmp_path / "cpp/kernels").mkdir(parents=True)
    (tmp_path / "levels.toml").write_text("[[level]]")
    kernel = tmp_path / "cpp/kernels/gemm.h"
    kernel.write_text("1")

    def digest() -> str:
        digest_of_sources.cache_clear()
        return digest_of_sources(tmp_path)

    first = digest()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_gemm.py").write_text("2")
    (tmp_path / "cpp/kernels/vector_emulated.h").write_text("of builds for tests")
    assert digest() == first
    kernel.write_text("2")
    assert digest() != first
    kernel.rename(tmp_path / "cpp/gemm.h")
    assert digest() != first


def test_each_runtime_has_its_fastest_process() -> None:
    """One process may be slow, another fail."""
    first, second = model(3.0, {"OpenVINO": 2.0}), model(1.0, {"OpenVINO": 4.0})
    second["other_cores"] = 0.5
    failed = {"runtime": "OpenVINO", "threads": 2, "error": "no memory"}
    second["rows"] = [failed if row["runtime"] == "OpenVINO" else row for row in second["rows"]]
    found = fastest([first, second])
    assert Figures(found, 1).ratio() == 0.5
    assert [row["median_ms"] for row in found["rows"]] == [1.0, 0.5, 2.0] * 2
    assert found["other_cores"] == 0.5
