# SPDX-License-Identifier: MIT
"""Errors as PyArmNN raises them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from armnn.backends.calling import explained, is_blamed
from armnn.errors import ArmnnError


@contextmanager
def arm_nn_errors() -> Iterator[None]:
    """Raise errors of armnn and of backends as RuntimeError, like Arm NN's exceptions.

    Raises:
        RuntimeError: The error, if it is one, else another with its message and with it as cause.
    """
    try:
        yield
    except RuntimeError:
        raise
    except Exception as error:
        if isinstance(error, ArmnnError) or is_blamed(error):
            raise RuntimeError(explained(error)) from error
        raise
