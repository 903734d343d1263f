# SPDX-License-Identifier: MIT
"""One HTML file that shows a network, by itself."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from importlib.resources import files
from string import Template
from typing import Any, Final

LIBRARY: Final = "dagre.min.js"
"""Lays the graph out; ``bundled.toml`` records where it comes from."""

_ESCAPES: Final = {
    ord(character): f"\\u{ord(character):04x}" for character in ("<", ">", "&", "\u2028", "\u2029")
}
"""Characters that could end a script in HTML, as JSON spells them."""


def page(document: Mapping[str, Any], trace: Mapping[str, Any] | None = None) -> str:
    """Return the HTML of a document.

    Names come from strangers: the document is JSON in which no character ends the script, the page
    makes texts of them and no markup, and its policy runs the two scripts of this package only and
    forbids every connection. Only a click on its link to Perfetto hands the trace to that page.

    Args:
        document: Of :func:`armnn.viewing.described`.
        trace: Of :func:`armnn.viewing.trace_for_page`, if there is a profile.
    """
    library, script, style = (_asset(name) for name in (LIBRARY, "view.js", "view.css"))
    library = library.partition("\n//# sourceMappingURL=")[0]
    policy = (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_digest(library)} {_digest(script)}; style-src {_digest(style)}"
    )
    return Template(_asset("view.html")).substitute(
        title=html.escape(str(document["name"])),
        policy=html.escape(policy, quote=True),
        style=style,
        document=_embedded(document),
        trace=_embedded(trace),
        library=library,
        script=script,
    )


def _embedded(document: Mapping[str, Any] | None) -> str:
    return json.dumps(document, separators=(",", ":")).translate(_ESCAPES)


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _digest(source: str) -> str:
    """Return a source of a content security policy: these bytes."""
    digest = hashlib.sha256(source.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
