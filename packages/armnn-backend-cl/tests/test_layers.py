# SPDX-License-Identifier: MIT
"""The layers of Arm NN's GpuAcc: each has kernels here, or a reason, which docs/gpu.md has."""

from __future__ import annotations

from pathlib import Path

import armnn
from armnn import Network, TensorInfo
from armnn_backend_cl.layers.table import LOWERINGS, REASONS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "gpu.md"

# Arm NN 26.07, src/backends/cl/ClWorkloadFactory.cpp
OF_ARM_NN = (
    "Activation", "Addition", "ArgMinMax", "BatchMatMul", "BatchNormalization", "BatchToSpaceNd",
    "Cast", "ChannelShuffle", "Comparison", "Concat", "ConvertFp16ToFp32", "ConvertFp32ToFp16",
    "Convolution2d", "Convolution3d", "DepthToSpace", "DepthwiseConvolution2d", "Dequantize",
    "Division", "ElementwiseBinary", "ElementwiseUnary", "Fill", "Floor", "FullyConnected",
    "Gather", "GatherNd", "InstanceNormalization", "L2Normalization", "LogSoftmax",
    "LogicalBinary", "Lstm", "Maximum", "Mean", "Minimum", "Multiplication", "Normalization",
    "Pad", "Permute", "Pooling2d", "Pooling3d", "Prelu", "QLstm", "Quantize", "QuantizedLstm",
    "Rank", "Reduce", "Reshape", "Resize", "ReverseV2", "ScatterNd", "Slice", "Softmax",
    "SpaceToBatchNd", "SpaceToDepth", "Splitter", "Stack", "StridedSlice", "Subtraction", "Tile",
    "Transpose", "TransposeConvolution2d", "UnidirectionalSequenceLstm",
)  # fmt: skip


def test_each_has_kernels_or_a_reason() -> None:
    assert [layer for layer in OF_ARM_NN if layer not in LOWERINGS] == sorted(REASONS)
    page = PAGE.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    for layer, reason in REASONS.items():
        assert any(f"`{layer}`" in row and row.endswith(f"| {reason} |") for row in rows), layer


def test_the_report_has_the_reason() -> None:
    net = Network("voxels")
    x = net.add_input("x", TensorInfo((1, 2, 2, 2, 1)))
    net.add_output(
        "y", net.add_pooling3d(x, pool_width=2, pool_height=2, pool_depth=2, data_layout="NDHWC")
    )
    model = armnn.load_model(net, backends=["GpuAcc", "CpuRef"])
    assert model.report.layers_by_backend == {"CpuRef": 1}
    assert REASONS["Pooling3d"] in str(model.report)
