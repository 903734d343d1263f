# SPDX-License-Identifier: MIT
"""Conformance cases of pooling: NaN, infinity and large numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.layers.pooling import Pooling2dDescriptor, Pooling3dDescriptor
from armnn.types import DataType, PoolingAlgorithm
from armnn_conformance.cases import EXTREME, LayerCase, case, cases
from armnn_conformance.operands import FLOATS, LARGE, tensor

if TYPE_CHECKING:
    from armnn.layers import Descriptor

_MAX, _AVERAGE, _L2 = PoolingAlgorithm.MAX, PoolingAlgorithm.AVERAGE, PoolingAlgorithm.L2


@cases(Pooling2dDescriptor, Pooling3dDescriptor, types=FLOATS)
def pooling_of_no_ordinary_number(data_type: DataType) -> Iterator[LayerCase]:
    """Cover windows with NaN, infinities, and numbers near the limit.

    A window has two numbers, which are neighbours along the width.
    """
    large, inf = LARGE[data_type], np.inf
    rows = {
        (_MAX, "NaN"): ([[1.0, np.nan], [np.nan, 2.0]], [np.nan, np.nan]),
        (_AVERAGE, "NaN"): ([[1.0, np.nan], [1.0, 2.0]], [np.nan, 1.5]),
        (_MAX, "infinities"): ([[-inf, -inf], [-inf, inf]], [-inf, inf]),
        (_AVERAGE, "infinities"): ([[-inf, 1.0], [inf, 1.0]], [-inf, inf]),
        (_MAX, "large numbers"): ([[-large, -large], [large, 0.0]], [-large, large]),
        (_AVERAGE, "large numbers"): ([[large, large], [-large, -large]], [large, -large]),
        (_L2, "large numbers"): ([[large, large], [-large, -large]], [large, large]),
    }
    two: dict[str, Any] = {"pool_width": 2, "pool_height": 1, "stride_x": 2, "stride_y": 1}
    for (algorithm, name), (windows, results) in rows.items():
        x, title = np.array(windows), f"{algorithm.arm_name} of {name}"
        flat = tensor(data_type, x.reshape(1, 1, 1, 4))
        d: Descriptor = Pooling2dDescriptor(pool_type=algorithm, **two)
        y = tensor(data_type, results).real
        needs = "" if name == "NaN" else EXTREME
        expected = y.reshape(1, 1, 1, 2)
        yield case(data_type, title, d, [flat], expected, edge=True, needs=needs)
        solid = tensor(data_type, x.reshape(1, 1, 1, 1, 4))
        d = Pooling3dDescriptor(pool_type=algorithm, pool_depth=1, stride_z=1, **two)
        expected = y.reshape(1, 1, 1, 1, 2)
        yield case(data_type, title, d, [solid], expected, edge=True, needs=needs)
