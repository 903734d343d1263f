# SPDX-License-Identifier: MIT
"""What an operator takes and makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

UNBOUNDED: Final = 2**31 - 1
"""The most inputs of an operator that takes any number."""


class Parameter:
    """An input or output of an operator.

    Attributes:
        name: Its name.
        type: A type, or the name of a type parameter.
        variadic: Whether it is any number of values, as the last one may be.
        homogeneous: Whether these must be of one type.
    """

    __slots__ = ("homogeneous", "name", "type", "variadic")

    def __init__(
        self,
        name: str,
        type: str,
        variadic: bool = False,
        homogeneous: bool = True,
    ) -> None:
        self.name = name
        self.type = type
        self.variadic = variadic
        self.homogeneous = homogeneous


class AttributeRule:
    """An attribute that an operator may have.

    Attributes:
        type: Its type, a number of ``AttributeProto.AttributeType``.
        required: Whether it must be there.
        default: Its value where it is not; None without one.
    """

    __slots__ = ("default", "required", "type")

    def __init__(self, type: int, required: bool = False, default: Any = None) -> None:
        self.type = type
        self.required = required
        self.default = default


class Schema:
    """An operator at one version.

    Attributes:
        name: The operator.
        domain: Whose operator it is.
        since: The opset that brought this version.
        inputs: What it reads.
        outputs: What it makes.
        counts: The least and the most inputs, the least and the most outputs.
        types: The types that each type parameter may be.
        attributes: Its attributes by name.
        deprecated: Whether the version withdraws it.
        body: What defines it by other operators: "function", "context" if that depends on a node's
            attributes and types, or "".
    """

    __slots__ = (
        "attributes",
        "body",
        "counts",
        "deprecated",
        "domain",
        "inputs",
        "name",
        "outputs",
        "since",
        "types",
    )

    def __init__(
        self,
        name: str,
        domain: str,
        since: int,
        inputs: tuple[Parameter, ...],
        outputs: tuple[Parameter, ...],
        counts: tuple[int, int, int, int],
        types: Mapping[str, tuple[str, ...]],
        attributes: Mapping[str, AttributeRule],
        deprecated: bool = False,
        body: str = "",
    ) -> None:
        self.name = name
        self.domain = domain
        self.since = since
        self.inputs = inputs
        self.outputs = outputs
        self.counts = counts
        self.types = types
        self.attributes = attributes
        self.deprecated = deprecated
        self.body = body
