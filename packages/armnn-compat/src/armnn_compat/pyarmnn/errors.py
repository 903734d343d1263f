# SPDX-License-Identifier: MIT
"""Errors as PyArmNN raises them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from armnn.errors import ArmnnError


@contextmanager
def arm_nn_errors() -> Iterator[None]:
    """Raise armnn's errors as RuntimeError, like Arm NN's exceptions.

    Raises:
        RuntimeError: An ArmnnError, whose message and cause it has.
    """
    try:
        yield
    except ArmnnError as error:
        if isinstance(error, RuntimeError):
            raise
        raise RuntimeError(str(error)) from error
