# SPDX-License-Identifier: MIT
"""Which constants recurrent layers keep in a file."""

from __future__ import annotations

from typing import Any, Final

from armnn.layers import LAYERS, Descriptor

MEMBERS_OF: Final = {
    "Lstm": "LstmMembers",
    "QLstm": "QLstmMembers",
    "QuantizedLstm": "QuantizedLstmMembers",
    "UnidirectionalSequenceLstm": "LstmMembers",
}
"""The tables of the constants, by layer type."""


def used_members(kind: str, descriptor: Descriptor) -> set[str]:
    """Return the constants that a layer with these parameters uses."""
    options: Any = descriptor
    names = {slot.name for slot in LAYERS[kind].inputs[3:]}
    if kind == "QuantizedLstm":
        return names
    if options.cifg_enabled:
        names -= {"input_to_input_weights", "recurrent_to_input_weights", "input_gate_bias"}
        names -= {"cell_to_input_weights", "input_layer_norm_weights"}
    if not options.peephole_enabled:
        names = {name for name in names if not name.startswith("cell_to_")}
    if not options.projection_enabled:
        names = {name for name in names if not name.startswith("projection_")}
    if not options.layer_norm_enabled:
        names = {name for name in names if not name.endswith("_layer_norm_weights")}
    return names
