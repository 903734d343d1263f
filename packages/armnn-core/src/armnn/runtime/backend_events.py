# SPDX-License-Identifier: MIT
"""What the backends of one network are told: that it is loaded, run and unloaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from armnn.backends import BackendContext
from armnn.errors import BackendError

if TYPE_CHECKING:
    from armnn.runtime.closing import Closing


class BackendEvents:
    """Tells the contexts of a network's backends what happens to it.

    Args:
        network_id: The network.
        contexts: By backend id.
    """

    def __init__(self, network_id: int, contexts: Mapping[str, BackendContext]) -> None:
        self._network_id = network_id
        self._contexts = contexts
        self._loaded: list[str] = []
        # A call per run and context counts where a model takes microseconds.
        self._listening = tuple(
            (backend_id, context.after_enqueue_workload)
            for backend_id, context in contexts.items()
            if type(context).after_enqueue_workload is not BackendContext.after_enqueue_workload
        )

    def before_load(self) -> None:
        """Tell each backend before the network is loaded.

        Raises:
            BackendError: A backend refused; those after it were not told.
        """
        for backend_id, context in self._contexts.items():
            self._tell(backend_id, context.before_load_network)
            self._loaded.append(backend_id)

    def after_load(self) -> None:
        """Tell each backend after the network was loaded.

        Raises:
            BackendError: A backend failed.
        """
        for backend_id, context in self._contexts.items():
            self._tell(backend_id, context.after_load_network)

    def after_run(self) -> None:
        """Tell each backend that listens after a run.

        Raises:
            BackendError: A backend failed.
        """
        for backend_id, listener in self._listening:
            self._tell(backend_id, listener)

    def unload(self, close: Callable[[], object], closing: Closing) -> None:
        """Tell each backend that was told of the loading, before and after the network is closed.

        Args:
            close: Closes the network.
            closing: Keeps what fails.
        """
        contexts = [(each, self._contexts[each]) for each in self._loaded]
        self._loaded = []
        for backend_id, context in contexts:
            closing.step(self._tell, backend_id, context.before_unload_network)
        closing.step(close)
        for backend_id, context in contexts:
            closing.step(self._tell, backend_id, context.after_unload_network)

    def _tell(self, backend_id: str, listener: Callable[[int], None]) -> None:
        try:
            listener(self._network_id)
        except Exception as error:
            raise BackendError(
                f"backend {backend_id!r} failed in {listener.__name__} of network "
                f"{self._network_id}: {error}"
            ) from error
