# SPDX-License-Identifier: MIT
"""The tensors of recurrent layers, derived from the layer table."""

from __future__ import annotations

from typing import Any, ClassVar

from armnn.layers import LAYERS, LayerSpec
from armnn_compat.pyarmnn.tensors import ConstTensor

_TENSORS = ("_weights", "_bias")
"""How the inputs end that Arm NN takes as members of the layer."""


def parameter_slots(spec: LayerSpec) -> list[str]:
    """Return the inputs that are members in Arm NN."""
    if spec.name not in PARAMETERS:
        return []
    return [slot.name for slot in spec.inputs if slot.name.endswith(_TENSORS)]


class LstmInputParams:
    """The weights and biases of an Lstm layer.

    Raises:
        AttributeError: There is no such tensor.
        TypeError: The value is no ConstTensor.
    """

    _names: ClassVar[dict[str, str]]

    def __init__(self) -> None:
        self.__dict__.update(dict.fromkeys(self._names))

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(
                f"{type(self).__name__} has no tensor {name!r}: it has {', '.join(self._names)}"
            )
        if value is not None and not isinstance(value, ConstTensor):
            raise TypeError(f"{name} is {value!r}: expected a ConstTensor or None")
        self.__dict__[name] = value

    def tensors(self, spec: LayerSpec) -> dict[str, ConstTensor]:
        """Return the tensors that are there, by the table's names."""
        known = set(parameter_slots(spec))
        found = {slot: self.__dict__[name] for name, slot in self._names.items()}
        return {slot: each for slot, each in found.items() if each is not None and slot in known}


class QuantizedLstmInputParams(LstmInputParams):
    """The weights and biases of a QuantizedLstm layer."""


PARAMETERS: dict[str, type[LstmInputParams]] = {
    "Lstm": LstmInputParams,
    "QLstm": LstmInputParams,
    "QuantizedLstm": QuantizedLstmInputParams,
    "UnidirectionalSequenceLstm": LstmInputParams,
}
"""The classes of recurrent layers' tensors by layer type."""


def _arm_names(layer_type: str) -> dict[str, str]:
    slots = parameter_slots(LAYERS[layer_type])
    return {"m_" + "".join(word.capitalize() for word in slot.split("_")): slot for slot in slots}


LstmInputParams._names = _arm_names("Lstm")
QuantizedLstmInputParams._names = _arm_names("QuantizedLstm")
