# SPDX-License-Identifier: MIT
"""An inference runtime whose backends are pip packages.

A model is parsed, optimized, split over the backends that you prefer, and run::

    import armnn

    model = armnn.load_model("model.onnx", backends=["CpuAcc", "CpuRef"])
    outputs = model.run({"x": array})
    print(model.report)

What is exported here is stable; everything else may move. Its modules are imported when they are
first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn import _moved as _moved  # it makes the modules of former import paths
from armnn.__about__ import __version__
from armnn._lazy import on_demand

if TYPE_CHECKING:
    from armnn import compat as compat
    from armnn import debugging as debugging
    from armnn import profiling as profiling
    from armnn import testing as testing
    from armnn.backends import CreationOptions
    from armnn.backends.registry import register_backend, unregister_backend
    from armnn.buffer import Buffer
    from armnn.errors import ArmnnError
    from armnn.graph import Layer, Network, Value
    from armnn.graph.python_operators import register_operator, unregister_operator
    from armnn.layers import LayerType
    from armnn.optimizer import (
        OptimizedNetwork,
        OptimizerOptions,
        Report,
        ReportRow,
        ShapeInferenceMethod,
    )
    from armnn.parsing import parse
    from armnn.parsing.exporting import save
    from armnn.runtime import LoadedNetwork, Record, Runtime, load_model, optimize, verify
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
    from armnn_backend_api.processes import freeze_support
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "backends": "CreationOptions",
            "backends.registry": "register_backend unregister_backend",
            "buffer": "Buffer",
            "errors": "ArmnnError",
            "graph": "Layer Network Value",
            "graph.python_operators": "register_operator unregister_operator",
            "layers": "LayerType",
            "optimizer": "OptimizedNetwork OptimizerOptions Report ReportRow ShapeInferenceMethod",
            "parsing": "parse",
            "parsing.exporting": "save",
            "runtime": "LoadedNetwork Record Runtime load_model optimize verify",
            "tensor": "TensorInfo",
            "types": "ActivationFunction ArgMinMaxFunction BinaryOperation ComparisonOperation "
            "DataLayout DataType LogicalBinaryOperation NormalizationAlgorithmChannel "
            "NormalizationAlgorithmMethod OutputShapeRounding PaddingMethod PaddingMode "
            "PoolingAlgorithm ReduceOperation ResizeMethod ScatterNdFunction UnaryOperation",
            "armnn_backend_api.processes": "freeze_support",
        },
        hidden=("compat", "testing"),  # former names
    )

__all__ = [
    "ActivationFunction",
    "ArgMinMaxFunction",
    "ArmnnError",
    "BinaryOperation",
    "Buffer",
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
    "OptimizerOptions",
    "OutputShapeRounding",
    "PaddingMethod",
    "PaddingMode",
    "PoolingAlgorithm",
    "Record",
    "ReduceOperation",
    "Report",
    "ReportRow",
    "ResizeMethod",
    "Runtime",
    "ScatterNdFunction",
    "ShapeInferenceMethod",
    "TensorInfo",
    "UnaryOperation",
    "Value",
    "__version__",
    "freeze_support",
    "load_model",
    "optimize",
    "parse",
    "register_backend",
    "register_operator",
    "save",
    "unregister_backend",
    "unregister_operator",
    "verify",
]
