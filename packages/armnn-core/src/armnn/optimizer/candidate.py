# SPDX-License-Identifier: MIT
"""A backend that may run layers of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from armnn.backends.base import NetworkBackend
from armnn.backends.named_frames import blamed
from armnn.errors import ArmnnError, BackendError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from armnn.backends import Backend, ModelContext
    from armnn.backends.support import Support
    from armnn.graph import Layer, Network
    from armnn.layers import RequiredApi


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A backend and what it knows of the network.

    Attributes:
        backend: The backend.
        model: Its context for the network, shared by all specialisations.
    """

    backend: Backend
    model: ModelContext

    @property
    def id(self) -> str:
        """The backend's id."""
        return self.backend.id

    def supports(self, layer: Layer) -> Support:
        """Return the backend's answer, or the host's for younger layers.

        The host answers on behalf of an older backend. A backend is never offered what is younger
        than the Backend API that it declares: it could not understand it, and so might compute it
        wrongly.

        Raises:
            BackendError: The backend failed instead of answering.
        """
        from armnn.layers import required_api  # late: nothing is assigned from a cache

        known = self._answer_of_host(layer, required_api)
        if known is not None:
            return known
        try:
            return blamed(self.backend.supports, self.id, layer.name)(layer, self.model)
        except Exception as error:
            raise BackendError(
                f"backend {self.id!r} failed when asked about layer {layer.name!r} ({layer.type}): "
                f"{error}"
            ) from error

    def query(self, network: Network, layers: Sequence[Layer]) -> dict[Layer, Support]:
        """Return the answers about layers of a network.

        They are empty if the backend takes layers one by one, or fails to answer about all of them
        at once: one by one, the layer that it fails at gets its name into the error.
        """
        if not isinstance(self.backend, NetworkBackend):
            return {}
        from armnn.layers import required_api

        answers = {layer: self._answer_of_host(layer, required_api) for layer in layers}
        asked = [layer for layer, answer in answers.items() if answer is None]
        if asked:
            from armnn.backends import SubgraphView  # late: a prepared model asks nothing

            view = SubgraphView.of(network, asked)
            try:
                found = blamed(self.backend.query, self.id, network.name)(view, self.model)
            except ArmnnError:
                return {}
            answers.update(zip(view.layers, found, strict=True))
        return {layer: answer for layer, answer in answers.items() if answer is not None}

    def _answer_of_host(self, layer: Layer, required: Callable[..., RequiredApi]) -> Support | None:
        """Return the refusal of a too young layer, else None.

        It is younger than the backend.
        """
        need = required(layer.spec, layer.descriptor, (*layer.input_infos, *layer.output_infos))
        version = self.backend.api_version
        if (version.major, version.minor) < need.version:
            major, minor = need.version
            from armnn.backends.support import Support

            return Support.no(
                f"needs Backend API {major}.{minor} for {need.item}, the backend declares {version}"
            )
        return None
