# SPDX-License-Identifier: MIT
"""The envelope of a serialised program: what it was made by, of and for."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from armnn.backends.cache import StaleEntryError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a serialised program was made by, of and for.

    Attributes:
        backend: The id of the backend.
        backend_version: Its own version.
        api_version: The Backend API version that it needs.
        device: The id of the device; empty for the backend's first.
        device_fingerprint: What the backend says of device, driver and library.
        graph_fingerprint: The sha256 of the graph with its constants.
        options: The user's options, as "name=value", in order.
    """

    backend: str
    backend_version: str
    api_version: str
    device: str
    device_fingerprint: str
    graph_fingerprint: str
    options: tuple[str, ...]

    def header(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return dataclasses.asdict(self)

    def json(self) -> str:
        """Return it as JSON, the same text for the same values."""
        return json.dumps(self.header(), sort_keys=True)

    def difference(self, found: Envelope) -> str:
        """Return why a program in another envelope does not fit; "" if it does."""
        for field in dataclasses.fields(self):
            ours, theirs = getattr(self, field.name), getattr(found, field.name)
            if ours != theirs:
                return f"its {field.name} is {theirs!r}, expected {ours!r}"
        return ""

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> Envelope:
        """Return the envelope of :meth:`header`.

        Raises:
            StaleEntryError: It is none.
        """
        texts = {name: value for name, value in header.items() if isinstance(value, str)}
        options = header.get("options")
        wanted = {field.name for field in dataclasses.fields(cls)}
        if texts.keys() | {"options"} != wanted or len(header) != len(wanted):
            raise StaleEntryError(
                f"its header has {sorted(header)}, expected texts {sorted(wanted)}"
            )
        if not isinstance(options, list) or not all(isinstance(each, str) for each in options):
            raise StaleEntryError(f"its options are {options!r}, expected a list of texts")
        return cls(**texts, options=tuple(options))
