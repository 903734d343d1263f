# SPDX-License-Identifier: MIT
"""Networks that GpuAcc and CpuAcc share: what crosses, and when one of them gets all."""

from __future__ import annotations

import numpy as np

import armnn
from armnn import Network, TensorInfo


def network() -> Network:
    """Return layers for GpuAcc with one between them that it has no kernels for."""
    net = Network("shared")
    x = net.add_input("x", TensorInfo((1, 4, 4, 8)))
    weights = np.ones((8, 1, 1, 8), np.float32) / 8
    y = net.add_convolution2d(x, net.add_constant(weights), data_layout="NHWC", name="first")
    y = net.add_trilu(y, name="between")
    y = net.add_activation(y, function="ReLu", name="last")
    net.add_output("y", y)
    return net


def test_the_report_says_what_crosses_between_gpu_and_cpu() -> None:
    report = armnn.load_model(network(), backends=["GpuAcc", "CpuAcc"]).report
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


def test_small_islands_join_the_parts_beside_them() -> None:
    report = armnn.load_model(network(), backends=["GpuAcc", "CpuAcc"], min_part=2).report
    assert report.layers_by_backend == {"CpuAcc": 3}
    assert len(report.parts) == 1
