# SPDX-License-Identifier: MIT
"""The Backend API version a layer needs.

It is that of the youngest item that the layer uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple

from armnn.layers._descriptor import Descriptor, Version
from armnn.layers._spec import LayerSpec
from armnn.tensor import TensorInfo
from armnn.types import ArmnnEnum


class RequiredApi(NamedTuple):
    """What a layer needs.

    Attributes:
        version: Major and minor number of the Backend API.
        item: What needs it, for people: "the field 'x' of Convolution2d".
    """

    version: Version
    item: str


def required_api(
    spec: LayerSpec, descriptor: Descriptor, infos: Iterable[TensorInfo | None]
) -> RequiredApi:
    """Return the Backend API version that a layer needs.

    Args:
        spec: The layer type.
        descriptor: Its parameters; a field with its default value needs nothing, as a backend that
            does not know the field does the same.
        infos: Of its inputs and outputs; None for an absent input.
    """
    # max() keeps the first of equals.
    needs = [RequiredApi(spec.since, f"the layer type {spec.name}")]
    needs += _items(spec, descriptor, infos)
    return needs[0] if len(needs) == 1 else max(needs, key=lambda need: need.version)


def _items(
    spec: LayerSpec, descriptor: Descriptor, infos: Iterable[TensorInfo | None]
) -> Iterator[RequiredApi]:
    """Yield what is younger than the layer type."""
    for field in _young_fields(type(descriptor), spec.since):
        value = getattr(descriptor, field.name)
        since = field.metadata.get("since")
        if since is not None and since > spec.since and value != field.default:
            yield RequiredApi(since, f"the field {field.name!r} of {spec.name}")
        if isinstance(value, ArmnnEnum) and value.since > spec.since:
            yield RequiredApi(value.since, f"{value.arm_name} as {field.name!r} of {spec.name}")
    for info in infos:
        if info is not None and info.data_type.since > spec.since:
            yield RequiredApi(info.data_type.since, f"the data type {info.data_type.arm_name}")


def _young_fields(kind: type[Descriptor], since: Version) -> tuple[Any, ...]:
    """Return the fields that may need more than a version."""
    known = _young.get((kind, since))
    if known is None:
        known = _young[kind, since] = tuple(
            [
                field
                for field in fields(kind)
                if field.metadata.get("since", since) > since
                or (isinstance(field.default, ArmnnEnum) and _has_younger(field.default, since))
            ]
        )
    return known


_young: dict[tuple[type[Descriptor], Version], tuple[Any, ...]] = {}


def _has_younger(member: ArmnnEnum, since: Version) -> bool:
    return any(each.since > since for each in type(member))
