# SPDX-License-Identifier: MIT
"""What a caller decides about how a network is prepared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OptimizerOptions:
    """Options of the preparation.

    Counterpart of Arm NN's ``OptimizerOptions``.

    Attributes:
        strict: Whether a layer that its first backend refuses is an error; without it the layer
            falls back to the next backend and the report says why.
        layer_backends: The backend that a layer shall run on, by the layer's name; asked before
            the layer's own hint and before the preferences.
        rewrite: Whether the backend-independent passes run.
    """

    strict: bool = False
    layer_backends: Mapping[str, str] = field(default_factory=dict)
    rewrite: bool = True
