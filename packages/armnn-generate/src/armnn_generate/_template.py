# SPDX-License-Identifier: MIT
"""The process in which chat templates run; it imports nothing of ours but its channel."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from armnn_backend_api.processes import Channel


class _RefusedError(Exception):
    """The template calls ``raise_exception``."""


def serve(_: None, channel: Channel) -> None:
    """Render templates until no further request comes; say first that this process is there."""
    channel.send(ready=True)
    for request in channel.requests():
        try:
            channel.send(text=_rendered(**request))
        except _RefusedError as error:
            channel.send(refused=str(error)[:500])
        except Exception as error:  # whatever a stranger's template raises
            channel.send(fault=f"{type(error).__name__}: {error}"[:500])


def _rendered(template: str, values: dict[str, Any], characters: int) -> str:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _now
    pieces, length = [], 0
    for piece in environment.from_string(template).generate(**values):
        length += len(piece)
        if length > characters:
            raise ValueError(f"it writes more than {characters} characters")
        pieces.append(piece)
    return "".join(pieces)


def _to_json(value: object, indent: int | None = None, **_: object) -> str:
    # The filter of jinja2 writes for HTML.
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: object) -> None:
    raise _RefusedError(str(message))


def _now(form: str) -> str:
    return datetime.datetime.now().strftime(form)
