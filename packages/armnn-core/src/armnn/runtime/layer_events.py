# SPDX-License-Identifier: MIT
"""What a profile says of the layers inside a compiled part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from armnn.backends import ProfilingSink

if TYPE_CHECKING:
    from armnn.backends import OptionValue
    from armnn.backends.control import RunControl
    from armnn.optimizer import Report


def with_layer_types(control: RunControl | None, report: Report) -> RunControl | None:
    """Return a control whose profiler learns the types of layers.

    A backend names the layer that it ran inside a part that it compiled, but may not know what
    type the network gave it; the report does.
    """
    if control is None or control.profiler is None:
        return control
    types = {(row.backend, row.layer): row.type for row in report}
    return replace(control, profiler=_LayerTypes(control.profiler, types))


class _LayerTypes(ProfilingSink):
    """Adds "type" to the events of a backend that are named after one of its layers."""

    def __init__(self, sink: ProfilingSink, types: Mapping[tuple[str, str], str]) -> None:
        self._sink = sink
        self._types = types

    def event(self, name: str, start_ns: int, end_ns: int, **details: OptionValue) -> None:
        known = self._types.get((str(details.get("backend", "")), name))
        if known is not None:
            details.setdefault("type", known)
        self._sink.event(name, start_ns, end_ns, **details)
