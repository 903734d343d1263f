# SPDX-License-Identifier: MIT
"""Nodes in a part of ONNX's textual form.

A node is ``output, ... = Operator <name = number, name: kind = @attribute> (input, ...)``; what
stands between ``<`` and ``>`` may be left out. A number is an integer, a float, or a list of
integers in brackets.
"""

from __future__ import annotations

import functools
import re

from armnn_parser_onnx.wire.making import make_attribute
from armnn_parser_onnx.wire.messages import Attribute, Node

_NODE = re.compile(r"\s*([\w\s,]+?)\s*=\s*(\w+)\s*(?:<([^>]*)>)?\s*\(([^)]*)\)\s*")
_ATTRIBUTE = re.compile(r"\s*(\w+)\s*(?::\s*\w+\s*)?=\s*(@\w+|\[[^\]]*\]|[^,\s]+)\s*(?:,|$)")


def read_nodes(text: str) -> list[Node]:
    """Return the nodes of a text.

    They must not be changed: texts that were read before have the same ones.

    Raises:
        ValueError: It is not in this form.
    """
    return [*_nodes_of(text)]


@functools.lru_cache(64)
def _nodes_of(text: str) -> tuple[Node, ...]:
    """Return the nodes, once for each of few texts."""
    nodes, place = [], 0
    while place < len(text):
        found = _NODE.match(text, place)
        if found is None:
            raise ValueError(f"no node at {text[place : place + 40]!r}")
        outputs, operator, attributes, inputs = found.groups()
        nodes.append(
            Node(
                op_type=operator,
                input=_names(inputs),
                output=_names(outputs),
                attribute=[
                    _attribute(name, value) for name, value in _ATTRIBUTE.findall(attributes or "")
                ],
            )
        )
        place = found.end()
    return tuple(nodes)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")] if text.strip() else []


def _attribute(name: str, text: str) -> Attribute:
    if text.startswith("@"):
        return Attribute(name=name, ref_attr_name=text[1:])
    if text.startswith("["):
        return make_attribute(name, [int(each) for each in text[1:-1].split(",")])
    is_integer = text.removeprefix("-").isdigit()
    return make_attribute(name, int(text) if is_integer else float(text))
