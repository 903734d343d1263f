# SPDX-License-Identifier: MIT
"""An inference runtime whose backends are pip packages.

A model is parsed, optimised, split over the backends that you prefer, and run::

    import armnn

    model = armnn.load_model("model.onnx", backends=["CpuAcc", "CpuRef"])
    outputs = model.run({"x": array})
    print(model.report)

What is exported here is stable; everything else may move.
"""

from __future__ import annotations

from armnn.__about__ import __version__
from armnn.backends import CreationOptions
from armnn.errors import ArmnnError
from armnn.graph import Layer, Network, Value
from armnn.layers import LayerType
from armnn.optimizer import OptimizedNetwork, Report, ReportRow
from armnn.parsing import parse
from armnn.runtime import LoadedNetwork, Runtime, load_model, optimize
from armnn.tensor import TensorInfo
from armnn.types import (
    ActivationFunction,
    ArgMinMaxFunction,
    BinaryOperation,
    ComparisonOperation,
    DataLayout,
    DataType,
    LogicalBinaryOperation,
    NormalizationAlgorithmChannel,
    NormalizationAlgorithmMethod,
    OutputShapeRounding,
    PaddingMethod,
    PaddingMode,
    PoolingAlgorithm,
    ReduceOperation,
    ResizeMethod,
    ScatterNdFunction,
    UnaryOperation,
)

__all__ = [
    "ActivationFunction",
    "ArgMinMaxFunction",
    "ArmnnError",
    "BinaryOperation",
    "ComparisonOperation",
    "CreationOptions",
    "DataLayout",
    "DataType",
    "Layer",
    "LayerType",
    "LoadedNetwork",
    "LogicalBinaryOperation",
    "Network",
    "NormalizationAlgorithmChannel",
    "NormalizationAlgorithmMethod",
    "OptimizedNetwork",
    "OutputShapeRounding",
    "PaddingMethod",
    "PaddingMode",
    "PoolingAlgorithm",
    "ReduceOperation",
    "Report",
    "ReportRow",
    "ResizeMethod",
    "Runtime",
    "ScatterNdFunction",
    "TensorInfo",
    "UnaryOperation",
    "Value",
    "__version__",
    "load_model",
    "optimize",
    "parse",
]
