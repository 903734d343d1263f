# SPDX-License-Identifier: MIT
"""The layer table, one module per family of layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from armnn._lazy import on_demand
from armnn.layers._spec import LAYERS, Inputs, InputSlot, LayerSpec, OutputSlot

if TYPE_CHECKING:
    from types import ModuleType

    from armnn.layers._descriptor import Descriptor, Version, descriptor, parameter
    from armnn.layers._inference import (
        Requested,
        RequestedLike,
        filled_descriptor,
        infer_outputs,
        merge_shapes,
    )
    from armnn.layers._types import LayerType
    from armnn.layers._versions import RequiredApi, required_api

    FAMILIES: tuple[ModuleType, ...]
    """The modules of the families, in the order of the documentation."""
else:
    _get, __dir__ = on_demand(
        __name__,
        {
            "_descriptor": "Descriptor Version descriptor parameter",
            "_inference": "Requested RequestedLike filled_descriptor infer_outputs merge_shapes",
            "_types": "LayerType",
            "_versions": "RequiredApi required_api",
        },
    )

    def __getattr__(name: str) -> Any:
        """Import what has the name; FAMILIES are all families."""
        return tuple(map(_get, _FAMILIES)) if name == "FAMILIES" else _get(name)


_FAMILIES = (
    "io",
    "activation",
    "elementwise",
    "convolution",
    "matmul",
    "pooling",
    "normalization",
    "reduction",
    "reshaping",
    "indexing",
    "joining",
    "resizing",
    "quantizing",
    "recurrent",
    "sequence",
    "attention",
    "selecting",
    "detection",
    "dimensions",
    "plumbing",
)

__all__ = [
    "FAMILIES",
    "LAYERS",
    "Descriptor",
    "InputSlot",
    "Inputs",
    "LayerSpec",
    "LayerType",
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
