# SPDX-License-Identifier: MIT
"""Loggers that import ``logging`` with their first message."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import logging


_WARNING: Final = 30
"""The level of ``logging`` until a program sets another."""


class Logger:
    """A logger of ``logging``, made with its first message.

    While nothing has imported ``logging``, nothing is set up to show what is less than a warning.

    Args:
        name: The name that applications know.
    """

    __slots__ = ("_made", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._made: logging.Logger | None = None

    @property
    def level(self) -> int:
        """The least level of what is shown."""
        return self._logger().getEffectiveLevel() if "logging" in sys.modules else _WARNING

    def log(self, level: int, message: str, *values: object) -> None:
        """Log at a level of ``logging``."""
        if level >= _WARNING or "logging" in sys.modules:
            self._logger().log(level, message, *values, stacklevel=2)

    def debug(self, message: str, *values: object) -> None:
        """Log what helps to find a fault."""
        if "logging" in sys.modules:
            self._logger().debug(message, *values, stacklevel=2)

    def info(self, message: str, *values: object) -> None:
        """Log what is as it should be."""
        if "logging" in sys.modules:
            self._logger().info(message, *values, stacklevel=2)

    def warning(self, message: str, *values: object) -> None:
        """Log what a user should see."""
        self._logger().warning(message, *values, stacklevel=2)

    def error(self, message: str, *values: object, exc_info: Any = None) -> None:
        """Log a failure."""
        self._logger().error(message, *values, exc_info=exc_info, stacklevel=2)

    def _logger(self) -> logging.Logger:
        if self._made is None:
            import logging

            self._made = logging.getLogger(self._name)
        return self._made
