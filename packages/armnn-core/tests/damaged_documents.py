# SPDX-License-Identifier: MIT
"""Documents of the protocol with a wrong value."""

from __future__ import annotations

import copy
import random
from typing import Any


def damaged(document: Any, numbers: random.Random) -> Any:
    """Return a copy with one value replaced."""
    made = copy.deepcopy(document)
    places: list[tuple[Any, Any]] = []

    def walk(thing: Any) -> None:
        for key in thing if isinstance(thing, dict) else range(len(thing)):
            places.append((thing, key))
            if isinstance(thing[key], (dict, list)):
                walk(thing[key])

    walk(made)
    where, key = numbers.choice(places)
    values = [
        None,
        -1,
        0,
        1,
        2,
        1 << 70,
        1e400,
        "",
        "Input",
        "x" * 50,
        [],
        {},
        [[]],
        True,
        "\ud800",
    ]
    where[key] = numbers.choice(values)
    return made
