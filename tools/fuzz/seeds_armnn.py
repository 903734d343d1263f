# SPDX-License-Identifier: MIT
"""Small ``.armnn`` files for the fuzzer: conformance cases, stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from armnn.errors import NotStorableError
from armnn.types import DataType
from armnn_conformance.cases import covered_layers, samples_of
from armnn_conformance.running import network_of
from armnn_parser_armnn import VERSIONS
from armnn_parser_armnn.writer import export
from tools.fuzz.flat_mutants import mutate

if TYPE_CHECKING:
    from armnn.graph import Network

__all__ = ["mutate", "seeds"]

_TYPES = (DataType.FLOAT32, DataType.QASYMM_U8, DataType.BFLOAT16)


def seeds() -> Mapping[str, bytes]:
    """Return the files by name.

    There is one for each layer type, data type and version, and one of the extension.
    """
    return dict(_files())


def _files() -> Iterator[tuple[str, bytes]]:
    for layer in covered_layers():
        for data_type in _TYPES:
            for case in samples_of(layer, data_type):
                network = network_of(case)
                for version in VERSIONS:
                    try:
                        yield f"{case.id} {version}", _content(network, for_arm_nn=version)
                    except NotStorableError:
                        continue
                yield f"{case.id} beyond", _content(network, beyond_arm_nn=True)


def _content(network: Network, **options: Any) -> bytes:
    return b"".join(bytes(piece) for piece in export(network, **options))
