# SPDX-License-Identifier: MIT
"""Runs of a context on more inputs like the first.

Of models that take microseconds these functions and what they call are most of a run: nothing is
looked up or made in them that could be kept, and they keep it as variables, which are read in less
time than attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Inputs: TypeAlias = "Mapping[str, ArrayLike]"
Named: TypeAlias = "Sequence[tuple[str, NDArray[Any]]]"


def filling(arrays: Named) -> Callable[[Inputs], bool]:
    """Return a function that copies inputs into arrays.

    It returns False if these are other inputs, or their types or shapes are others.
    """
    count = len(arrays)
    expected = [(name, array.dtype, array.shape, array) for name, array in arrays]

    def fill(inputs: Inputs) -> bool:
        if len(inputs) != count:
            return False
        try:
            for name, dtype, shape, array in expected:
                given: Any = inputs[name]
                if given.dtype is not dtype or given.shape != shape:
                    return False
                array[...] = given
        except (KeyError, AttributeError):
            return False
        return True

    return fill


def repeating(
    read: Named, made: Named, run: Callable[[], None]
) -> Callable[[Inputs], dict[str, NDArray[Any]] | None]:
    """Return a function that runs steps on given inputs.

    It returns a new array per output, or None if :func:`filling` says False.

    Args:
        read: The arrays that the steps read, by input.
        made: The arrays that they write, by output.
        run: Runs the steps.
    """
    if len(read) == len(made) == 1:
        return _repeating_one(*read[0], *made[0], run)
    fill = filling(read)
    copies = [(name, array.copy) for name, array in made]

    def repeat(inputs: Inputs) -> dict[str, NDArray[Any]] | None:
        if not fill(inputs):
            return None
        run()
        outputs = {}
        for name, copy in copies:
            outputs[name] = copy()
        return outputs

    return repeat


def _repeating_one(
    name: str, array: NDArray[Any], output: str, made: NDArray[Any], run: Callable[[], None]
) -> Callable[[Inputs], dict[str, NDArray[Any]] | None]:
    """Return the same for one input and one output, quicker."""
    dtype, shape, copy = array.dtype, array.shape, made.copy

    def repeat(inputs: Inputs) -> dict[str, NDArray[Any]] | None:
        try:
            given: Any = inputs[name]
            if given.dtype is not dtype or given.shape != shape or len(inputs) != 1:
                return None
            array[...] = given
        except (KeyError, AttributeError):
            return None
        run()
        return {output: copy()}

    return repeat
