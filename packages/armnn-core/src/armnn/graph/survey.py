# SPDX-License-Identifier: MIT
"""The operators of a model file, and those not convertible."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a model's file.

    Attributes:
        type: What the format calls it, "Conv" for one.
        name: What the file calls this one; unique in the file.
    """

    type: str
    name: str

    def __init__(self, type: str, name: str) -> None:  # one for each operator: a tenth of the time
        assign = object.__setattr__
        assign(self, "type", type)
        assign(self, "name", name)


@dataclass(slots=True)
class Survey:
    """The operators of a file that is parsed tolerantly.

    A parser that is given one raises no UnsupportedOperatorError: the network lacks what cannot be
    converted, and what is made from that.

    Attributes:
        operators: Those that an output depends on, in the order of the file, each with the reason
            why it cannot be converted, "" if it can.
        cut_off: Those that read what another one, which cannot be converted, would make.
    """

    operators: dict[Operator, str] = field(default_factory=dict)
    cut_off: dict[Operator, None] = field(default_factory=dict)

    @property
    def refused(self) -> dict[Operator, str]:
        """Those that cannot be converted, with the reasons."""
        return {operator: reason for operator, reason in self.operators.items() if reason}
