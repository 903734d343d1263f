# SPDX-License-Identifier: MIT
"""A network: a graph with a method per layer type."""

from __future__ import annotations

from os import stat_result
from typing import Final

from armnn.graph._builders import LayerBuilders
from armnn.graph.layer_graph import LayerGraph

UNNAMED: Final = ""
"""Files beside a model of which only that they were read is known, in ``external_files``."""


class Network(LayerGraph, LayerBuilders):
    """A directed acyclic graph of layers (Arm NN: ``INetwork``).

    Layers are made by ``add_<layer>()``, one typed method per layer type, or by :meth:`add`.
    Each checks its arguments and infers its output at once. The attributes are those of
    :class:`LayerGraph`.
    """

    @property
    def is_self_contained(self) -> bool:
        """Whether all of it comes from the model's one file.

        Parsers that were made for armnn-core 1.2.0 set it, and name no files.
        """
        return not self.external_files

    @is_self_contained.setter
    def is_self_contained(self, value: bool) -> None:
        if not value:
            self.external_files.setdefault(UNNAMED, stat_result([0] * 10))
