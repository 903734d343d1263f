# SPDX-License-Identifier: MIT
"""The keywords of optimize and load_model; tools/generate_options.py writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from armnn.backends import OptionValue
from armnn.optimizer.options import DebugCallback, ShapeInferenceMethod


class OptimizerKeywords(TypedDict, total=False):
    """The fields of :class:`armnn.OptimizerOptions` as keywords."""

    reduce_fp32_to_fp16: bool
    reduce_fp32_to_bf16: bool
    debug: bool | DebugCallback
    debug_to_file: bool | str
    shape_inference_method: ShapeInferenceMethod | str
    import_enabled: bool
    export_enabled: bool
    model_options: Mapping[str, Mapping[str, OptionValue]] | None
    profiling_enabled: bool
    allow_expanded_dims: bool
    strict: bool
    layer_backends: Mapping[str, str] | None
    rewrite: bool
    min_part: int | None
    verdicts: str
