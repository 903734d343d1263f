# SPDX-License-Identifier: MIT
"""One layer beside its handwritten NumPy expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from numpy.typing import NDArray

if TYPE_CHECKING:
    from armnn import DataType, TensorInfo

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One layer and its expression.

    Attributes:
        layer: Its type.
        variant: What tells it from other cases of the type; may be empty.
        inputs: What its inputs store.
        direct: The expression, a function of the inputs.
        fields: Of the descriptor.
        infos: Those of inputs which their arrays do not tell, by the number of the input.
        outputs: What the outputs are to be, where the layer leaves it open.
        tolerance: How far the results may be apart.
    """

    layer: str
    variant: str
    inputs: tuple[Array, ...]
    direct: Callable[..., Any]
    fields: Mapping[str, Any] = field(default_factory=dict)
    infos: Mapping[int, TensorInfo] = field(default_factory=dict)
    outputs: tuple[TensorInfo | DataType, ...] | None = None
    tolerance: float = 1e-4
