# SPDX-License-Identifier: MIT
"""``.armnn`` files: networks in Arm NN's own file format.

Their schema is ``tools/armnn_files.toml``. Reader and writer are imported when needed.
"""

from __future__ import annotations

import os
from typing import Final

from armnn.graph import Network, Survey
from armnn.storage.armnn_files.reader import read
from armnn.storage.armnn_files.writer import write

__all__ = ["VERSIONS", "parse", "save"]

VERSIONS: Final = ("20.08", "23.08")
"""The versions of Arm NN that files are written for, the newest last."""


def save(
    network: Network,
    path: str | os.PathLike[str],
    *,
    for_arm_nn: str = "23.08",
    beyond_arm_nn: bool = False,
) -> None:
    """Write a network as an ``.armnn`` file.

    The format is that of Arm NN's serializer (``armnnSerializer::ISerializer``). A file for 23.08
    is read by newer versions too, one for 20.08 by all since 20.08 whose deserializer still knows
    weights as members.

    Args:
        network: The network; its constants are written as they are.
        path: The file; it is replaced once all is written.
        for_arm_nn: The oldest Arm NN that has to read it, "20.08" or "23.08".
        beyond_arm_nn: Whether layers, parameters and data types that Arm NN lacks are stored in an
            extension of armnn's own, which Arm NN reads as StandIn layers without a backend.

    Raises:
        NotStorableError: The network has layers or tensors that the format lacks; all are named.
        InvalidArgumentError: An argument is of another kind, or the file cannot be written.
        GraphError: The network has no output.
    """
    write(network, path, for_arm_nn=for_arm_nn, beyond_arm_nn=beyond_arm_nn)


def parse(source: str | os.PathLike[str] | bytes, *, survey: Survey | None = None) -> Network:
    """Read an ``.armnn`` file as a network.

    Files of all versions of Arm NN up to 23.08 are read (``armnnDeserializer::IDeserializer``).

    Args:
        source: The file, or its content.
        survey: Where the layers are noted. With it, those that cannot be converted are no error:
            the network lacks them, and what depends on them.

    Raises:
        ModelFileNotFoundError: There is no such file.
        ModelFileError: The file cannot be read.
        UnsupportedOperatorError: It has layers that cannot be converted; all are named.
        ParseError: The file is malformed.
    """
    return read(source, survey)
