# SPDX-License-Identifier: MIT
"""What the caller of a run watches or limits, for those below that can stop early."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from armnn.backends.base import ProfilingSink


class CancelToken(Protocol):
    """Anything that can say that a run shall stop; ``threading.Event`` is one."""

    def is_set(self) -> bool:
        """Whether the run shall stop."""
        ...


@dataclass(frozen=True, slots=True)
class RunControl:
    """What a caller watches or limits in one run; runs without it take the short way.

    Attributes:
        deadline_ns: When the run must have ended (``time.perf_counter_ns``), if ever.
        cancel: Asked before each layer.
        profiler: Gets one event per layer.
    """

    deadline_ns: int | None = None
    cancel: CancelToken | None = None
    profiler: ProfilingSink | None = None


current_control: Final[ContextVar[RunControl | None]] = ContextVar("armnn_run", default=None)
"""The control of the run that this thread is in; a step that takes long asks it now and then."""
