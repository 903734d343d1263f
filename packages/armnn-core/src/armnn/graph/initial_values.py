# SPDX-License-Identifier: MIT
"""The values with which variables begin, as texts in a network's metadata."""

from __future__ import annotations

import math
from collections.abc import Mapping, MutableMapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError
from armnn.tensor import TensorInfo, format_shape

_MOST_NUMBERS: Final = 1 << 16
"""The most numbers of a text; a variable with more that differ has none."""

_FLAGS: Final = {"False": False, "True": True}


def note_initial_value(metadata: MutableMapping[str, str], name: str, data: NDArray[Any]) -> None:
    """Note the value with which a variable begins.

    Its text is one number for all elements, or one for each, in C order. Nothing is noted of more
    than 65536 elements that differ: what a run begins with is the caller's to say then.

    Args:
        metadata: The metadata of the network, which has the text as "initial <name>".
        name: The variable.
        data: The value, as it is stored.
    """
    flat = data.reshape(-1)
    if flat.size and (flat == flat[0]).all():
        flat = flat[:1]
    if 0 < flat.size <= _MOST_NUMBERS:
        metadata[f"initial {name}"] = " ".join(map(str, flat))


def initial_value(
    metadata: Mapping[str, str], name: str, info: TensorInfo, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return the first value of a state: that of the metadata, or zeros.

    Args:
        metadata: The metadata of the network.
        name: The state.
        info: Its description.
        shape: Its shape.

    Returns:
        The value as it is stored, read-only.

    Raises:
        InvalidArgumentError: The text is of another number of elements, or no number.
    """
    dtype = info.data_type.numpy_dtype
    zero = info.zero_points[0] if info.is_quantized and info.zero_points else 0
    words = metadata.get(f"initial {name}", str(zero)).split()
    if len(words) not in (1, math.prod(shape)):
        raise InvalidArgumentError(
            f"the metadata have {len(words)} numbers as the first value of the state {name!r} of "
            f"shape {format_shape(shape)}: expected one, or {math.prod(shape)}"
        )
    try:
        data = np.array([dtype.type(_FLAGS.get(word, word)) for word in words], dtype)
    except ValueError as error:
        raise InvalidArgumentError(
            f"the metadata have no number as the first value of the state {name!r}: {error}"
        ) from error
    return np.broadcast_to(data.reshape(shape if len(words) > 1 else ()), shape)
