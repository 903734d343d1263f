# SPDX-License-Identifier: MIT
"""Where Arm NN's own CpuRef differs from the conformance cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from armnn_conformance.cases import LayerCase

LEAST: Final = {
    "20.08": {"run by Arm NN, results equal": 1407, "written by Arm NN and read": 2129},
    "23.08": {"run by Arm NN, results equal": 2084, "written by Arm NN and read": 3508},
}
"""How many cases must end so; the kit may have got more since."""

_DIFFERENCES: Final = {
    ("Activation", "at infinity"): "a maximum drops NaN",
    ("ArgMinMax", "NaN"): "NaN is never the largest or the smallest number",
    ("BatchNormalization", "rank 5"): "channels are looked for among four dimensions",
    ("Cast", ""): "quantized values are cast as they are stored",
    (
        "DetectionPostProcess",
        "",
    ): "places without a detection are not written; ties in another order",
    ("Division", "by zero"): "0 / 0 in half precision",
    ("ElementwiseUnary", ""): "integers are computed in 32-bit floats",
    ("GatherNd", "depth"): "indices of several dimensions are weighted wrongly",
    ("InstanceNormalization", "large numbers"): "squares overflow",
    (
        "Lstm",
        "",
    ): "without activation the gate multiplies the candidate; one scale for all of QSymmS16",
    ("Maximum", "NaN"): "a maximum drops NaN",
    ("Mean", "large numbers"): "sums overflow",
    ("Minimum", "NaN"): "a minimum drops NaN",
    (
        "Normalization",
        "",
    ): "Within looks at axes 2 and 3 in both layouts; quantized sums are rounded",
    ("Pad", "rank 5"): "the fifth dimension is not padded",
    ("Pooling2d", "Average of infinities"): "infinity is stored as the largest half",
    ("Pooling2d", "large numbers"): "sums and squares overflow",
    ("Pooling2d", "Max of"): "a maximum drops NaN and begins with the least finite number",
    ("Pooling3d", "Average of infinities"): "infinity is stored as the largest half",
    ("Pooling3d", "large numbers"): "sums and squares overflow",
    ("Pooling3d", "Max of"): "a maximum drops NaN and begins with the least finite number",
    ("Pooling2d", "everything"): "a window larger than the input is divided by its clipped size",
    ("QLstm", "projection"): "a projection is rescaled in another order",
    ("Reduce", "NaN"): "a maximum and a minimum drop NaN",
    ("Reduce", "large numbers"): "sums overflow",
    ("Softmax", ""): "QAsymmU8 is given the scale 1/256",
    ("Transpose", "scales"): "scales per axis stay where they were",
    ("UnidirectionalSequenceLstm", ""): "the states are not written",
}
"""Why results differ, by layer type and a part of the case's name."""

_REFUSALS: Final = {
    "Failed to assign a backend": "its CpuRef lacks the data type",
    "it cannot be optimized": "its CpuRef lacks the data type",
    "An error occurred when preparing the network workloads": "the workload checks more",
    "tensor is null": "a tensor has no elements",
    r"TensorShape set on OutputSlot\[0\] does not match": "its shape function knows fewer shapes",
    "numDimensions must be greater than 0": "a scalar is reshaped",
    "Dimensionality::Scalar must be const": "a scalar is computed",
    "Invalid dimension index: 2": "batch normalization of rank 2",
    "died of signal": "it does not survive the layer",
}
"""Why a file is not run, by what Arm NN says; all of these come behind the reading of the file."""

_DEADLY: Final = (
    "ArgMinMax",
    "Cast",
    "FullyConnected",
    "LogicalBinary",
    "Mean",
    "Quantize",
    "Reduce",
    "Stack",
)
"""The layers that end the process with some of their cases."""


def difference_known(case: LayerCase) -> bool:
    """Return whether Arm NN is known to compute something else."""
    return any(case.layer == layer and part in case.name for layer, part in _DIFFERENCES)


def refusal_known(case: LayerCase, failure: str) -> bool:
    """Return whether Arm NN's refusal is a known one."""
    if "died of signal" in failure:
        return case.layer in _DEADLY
    return any(re.search(pattern, failure) for pattern in _REFUSALS)
