# SPDX-License-Identifier: MIT
"""The inputs that networks are compared with."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import items, mapping, refused
from armnn.errors import InvalidArgumentError
from armnn.graph import Network
from armnn.runtime.calls.inputs import ExpectedInputs
from armnn.tensor import TensorInfo, format_shape

Arrays = Mapping[str, NDArray[Any]]


def checked_samples(
    network: Network, inputs: Sequence[Arrays] | None, samples: int
) -> list[dict[str, NDArray[Any]]]:
    """Return the inputs of each sample, checked or random.

    Raises:
        InvalidArgumentError: One is missing or does not fit, or its shape is not known in full.
    """
    infos = {layer.name: layer.output.info for layer in network.inputs}
    if inputs is None:
        for name, info in infos.items():
            if not info.is_static:
                raise InvalidArgumentError(
                    f"the shape {format_shape(info.shape)} of the input {name!r} is not known in "
                    "full: give inputs"
                )
        if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
            raise refused("the number of samples", samples, "1 or more")
        return [
            {name: random_array(name, info, seed) for name, info in infos.items()}
            for seed in range(samples)
        ]
    given = items(inputs, "the inputs", "a list of mappings such as [{'x': array}]")
    if not given:
        raise InvalidArgumentError("the inputs are empty: expected one mapping per sample")
    return [_checked(network.name, infos, each) for each in given]


def _checked(name: str, infos: Mapping[str, TensorInfo], given: Arrays) -> dict[str, NDArray[Any]]:
    expected = ExpectedInputs(name, infos)
    expected.check_mapping(given)
    mapping(given, "the inputs of a sample")
    arrays = expected.checked(given)
    return {each: np.asarray(array) for each, array in zip(infos, arrays, strict=True)}


def random_array(name: str, info: TensorInfo, seed: int) -> NDArray[Any]:
    """Return random values determined by name, shape and seed.

    Real numbers are drawn from the standard normal distribution and quantized values from all
    that can be stored. Plain integers are 0 or 1, which is also an index or a mask to most
    networks.

    Args:
        name: The name of the input, so that two inputs of the same shape differ.
        info: The input, with a known shape.
        seed: At least 0.
    """
    generator = np.random.default_rng((seed, zlib.crc32(name.encode())))
    dtype, shape = info.data_type.numpy_dtype, info.static_shape
    if info.data_type.is_float:
        return generator.standard_normal(shape, np.float32).astype(dtype)
    if info.is_quantized:
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return generator.integers(0, 2, shape).astype(dtype)
