# SPDX-License-Identifier: MIT
"""Networks that GpuAcc and CpuAcc share: what crosses, and when the host gets a part, too."""

from __future__ import annotations

import numpy as np

import armnn
from armnn import Network, TensorInfo


def network(size: int = 4, channels: int = 8) -> Network:
    """Return layers for GpuAcc with one between them that it has no kernels for."""
    net = Network("shared")
    x = net.add_input("x", TensorInfo((1, size, size, channels)))
    weights = np.ones((channels, 1, 1, channels), np.float32) / channels
    y = net.add_convolution2d(x, net.add_constant(weights), data_layout="NHWC", name="first")
    y = net.add_trilu(y, name="between")
    y = net.add_activation(y, function="ReLu", name="last")
    net.add_output("y", y)
    return net


def test_the_report_says_what_crosses_between_gpu_and_cpu() -> None:
    report = armnn.load_model(network(), backends=["GpuAcc", "CpuAcc"], min_part=1).report
    rows = {row.layer: row for row in report}
    assert {name: row.backend for name, row in rows.items()} == {
        "first": "GpuAcc",
        "between": "CpuAcc",
        "last": "GpuAcc",
    }
    (refusal,) = rows["between"].refusals
    assert str(refusal.reason) == "GpuAcc has no kernels for Trilu"
    borders = [border for part in report.parts for border in part.borders]
    assert [(border.source, border.bytes, border.copied) for border in borders] == [
        ("GpuAcc", 512, True),
        ("CpuAcc", 512, True),
    ]


def test_parts_that_are_less_work_than_their_copies_join_the_host() -> None:
    report = armnn.load_model(network(), backends=["GpuAcc", "CpuAcc"]).report
    assert report.layers_by_backend == {"CpuAcc": 3}
    assert len(report.parts) == 1
    assert report.rows[0].reason == (
        "GpuAcc: its part (1 layer, 1024 multiply-adds, 512 bytes of results) is less work "
        "than the 2 copies (1024 bytes) that moving it saves"
    )


def test_parts_that_are_more_work_than_their_copies_stay() -> None:
    report = armnn.load_model(network(size=64, channels=64), backends=["GpuAcc", "CpuAcc"]).report
    # The activation, of 1 MiB, is less work than what it saves: a copy there and one back.
    assert [(row.layer, row.backend) for row in report] == [
        ("first", "GpuAcc"),
        ("between", "CpuAcc"),
        ("last", "CpuAcc"),
    ]
