# SPDX-License-Identifier: MIT
"""Copies, control flow, markers and compiled layers.

No model file asks for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from armnn.layers._descriptor import Descriptor, parameter
from armnn.layers._spec import Inputs, Shapes, layer, parts_on_demand, result, slot

if TYPE_CHECKING:
    from armnn.layers.plumbing_control import DebugDescriptor as DebugDescriptor
    from armnn.layers.plumbing_control import MapDescriptor as MapDescriptor
    from armnn.layers.plumbing_control import MemCopyDescriptor as MemCopyDescriptor
    from armnn.layers.plumbing_control import MemImportDescriptor as MemImportDescriptor
    from armnn.layers.plumbing_control import MergeDescriptor as MergeDescriptor
    from armnn.layers.plumbing_control import SwitchDescriptor as SwitchDescriptor
    from armnn.layers.plumbing_control import UnmapDescriptor as UnmapDescriptor
else:
    __getattr__ = parts_on_demand(__name__)

_MOST_OUTPUTS = 1 << 16
"""No operator has more; each would be a value of the network at once."""


def _pre_compiled(descriptor: PreCompiledDescriptor, _inputs: Inputs) -> Shapes:
    return [None] * descriptor.num_output_slots


@layer(
    43,
    inputs=[slot("inputs", "The inputs of the sub-graph.", variadic=True)],
    outputs=[result("output", "The maker says each of them.", like="", variadic=True)],
    infer=_pre_compiled,
    no_kernel="the backend that compiled it runs it",
    count_outputs=lambda descriptor: descriptor.num_output_slots,
)
class PreCompiledDescriptor(Descriptor):
    """A subgraph that a backend compiled into its own object.

    Attributes:
        num_output_slots: How many outputs there are.
    """

    num_output_slots: int = parameter(1, at_least=0, at_most=_MOST_OUTPUTS)


def _stand_in(descriptor: StandInDescriptor, _inputs: Inputs) -> Shapes:
    return [None] * descriptor.num_outputs


@layer(
    57,
    inputs=[slot("inputs", "The inputs of the operator.", variadic=True)],
    outputs=[result("output", "The maker says each of them.", like="", variadic=True)],
    infer=_stand_in,
    no_kernel="it stands in for an operator that the parser does not know",
    count_outputs=lambda descriptor: descriptor.num_outputs,
)
class StandInDescriptor(Descriptor):
    """An operator that a parser does not know.

    Attributes:
        num_outputs: How many outputs there are.
    """

    num_outputs: int = parameter(0, at_least=0, at_most=_MOST_OUTPUTS)
