# SPDX-License-Identifier: MIT
"""A part of torch for silero-vad: arrays by another library.

The ONNX mode computes with onnxruntime and holds its arrays in torch, which is 200 MB to fetch.
Where torch is installed it is used instead.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np


class Tensor(np.ndarray):
    """An array with the methods of a tensor."""

    def __new__(cls, data: Any) -> Tensor:
        return np.array(data, np.float32).view(cls)

    def dim(self) -> int:
        return self.ndim

    def unsqueeze(self, axis: int) -> Any:
        return np.expand_dims(self, axis)

    def float(self) -> Any:
        return self.astype(np.float32)

    def numpy(self) -> Any:
        return self.view(np.ndarray)


def from_numpy(array: Any) -> Any:
    return array.view(Tensor)


def is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def zeros(*shape: Any) -> Any:
    return np.zeros(shape[0] if len(shape) == 1 else shape, np.float32).view(Tensor)


def cat(tensors: Any, dim: int) -> Any:
    return np.concatenate(tensors, dim).view(Tensor)


def device(name: str) -> str:
    return name


def set_num_threads(_count: int) -> None:
    """Do nothing; there are no threads."""


class no_grad(nullcontext[None]):  # noqa: N801 - torch's name
    """Nothing to switch off."""

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


def _pad(tensor: Any, widths: tuple[int, int]) -> Any:
    return np.pad(tensor, widths).view(Tensor)


nn = SimpleNamespace(functional=SimpleNamespace(pad=_pad))
