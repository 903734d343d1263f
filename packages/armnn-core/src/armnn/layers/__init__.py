# SPDX-License-Identifier: MIT
"""The layer table, one module per family of layers."""

from __future__ import annotations

from armnn.layers import (
    activation,
    attention,
    convolution,
    detection,
    dimensions,
    elementwise,
    indexing,
    io,
    joining,
    matmul,
    normalization,
    plumbing,
    pooling,
    quantizing,
    recurrent,
    reduction,
    reshaping,
    resizing,
    selecting,
    sequence,
)
from armnn.layers._descriptor import Descriptor, Version, descriptor, parameter
from armnn.layers._inference import (
    Requested,
    RequestedLike,
    filled_descriptor,
    infer_outputs,
    merge_shapes,
)
from armnn.layers._spec import (
    LAYERS,
    Inputs,
    InputSlot,
    LayerSpec,
    Numerics,
    OutputSlot,
    RequiredApi,
    required_api,
)
from armnn.layers._types import LayerType

FAMILIES = (
    io,
    activation,
    elementwise,
    convolution,
    matmul,
    pooling,
    normalization,
    reduction,
    reshaping,
    indexing,
    joining,
    resizing,
    quantizing,
    recurrent,
    sequence,
    attention,
    selecting,
    detection,
    dimensions,
    plumbing,
)
"""The modules of the families, in the order of the documentation."""

__all__ = [
    "FAMILIES",
    "LAYERS",
    "Descriptor",
    "InputSlot",
    "Inputs",
    "LayerSpec",
    "LayerType",
    "Numerics",
    "OutputSlot",
    "Requested",
    "RequestedLike",
    "RequiredApi",
    "Version",
    "descriptor",
    "filled_descriptor",
    "infer_outputs",
    "merge_shapes",
    "parameter",
    "required_api",
]
