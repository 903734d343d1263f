# SPDX-License-Identifier: MIT
"""A loaded network's inputs and outputs, as callers give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from armnn._aliases import first_names
from armnn._arguments import mapping, text
from armnn.errors import InvalidArgumentError
from armnn.runtime.calls.inputs import ExpectedInputs, InputShapes, RealValues, checked_shape
from armnn.runtime.plans.outputs import ExpectedOutputs, Targets
from armnn.storage.model import StoredNetwork
from armnn.tensor import TensorInfo, format_shape

if TYPE_CHECKING:
    from armnn.optimizer import OptimizedNetwork


class Ports:
    """The inputs and outputs of one network, by name.

    Attributes:
        infos: The inputs by name.
        aliases: The second names.
        inputs: Checks the inputs of a run.
        real: Converts real values; None if the network takes what it stores.
    """

    def __init__(self, optimized: OptimizedNetwork | StoredNetwork, *, quantize: bool) -> None:
        self.infos: Mapping[str, TensorInfo] = optimized.inputs
        self.aliases = optimized.aliases
        self.inputs = ExpectedInputs(optimized.name, self.infos)
        self.real = RealValues(self.infos, optimized.outputs) if quantize else None
        self._optimized = optimized
        self._value_inputs = optimized.value_inputs

    @cached_property
    def outputs(self) -> ExpectedOutputs:
        """Checks the arrays that outputs are written into."""
        names = () if self.real is None else self.real.output_names
        return ExpectedOutputs(self._optimized.name, self._optimized.outputs, names)

    def targets(self, outputs: Targets) -> Targets:
        """Return arrays that outputs are written into, by first names.

        Raises:
            InvalidArgumentError: One is not known, or does not fit.
        """
        self.outputs.check_mapping(outputs)
        given = first_names(outputs, self.aliases.outputs)
        self.outputs.check(given)
        return given

    def imported_inputs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is imported for inputs, by first names.

        Raises:
            InvalidArgumentError: An input is not known.
        """
        self.inputs.check_mapping(inputs)
        given = first_names(inputs, self.aliases.inputs)
        self.inputs.check_known(given)
        return given

    def imported_outputs(self, outputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is imported for outputs, by first names.

        Raises:
            InvalidArgumentError: An output is not known, or an array does not fit.
        """
        self.outputs.check_mapping(outputs)
        given = first_names(outputs, self.aliases.outputs)
        self.outputs.check_known(given)
        arrays = {name: each for name, each in given.items() if isinstance(each, np.ndarray)}
        self.outputs.check(arrays)
        return given

    def states(self, states: Mapping[str, str]) -> dict[str, str]:
        """Return which output follows which input, by first names.

        Raises:
            InvalidArgumentError: They are no names.
        """
        expected = "a mapping from names of inputs to those of outputs"
        given = first_names(mapping(states, "states", expected), self.aliases.inputs)
        made = {name: text(out, f"the output of the state {name!r}") for name, out in given.items()}
        return {name: self.aliases.outputs.get(out, out) for name, out in made.items()}

    def examples(self, shapes: InputShapes) -> list[NDArray[Any]]:
        """Return an array of the given shape per input.

        Raises:
            InvalidArgumentError: A shape or an array is missing or does not fit.
        """
        self.inputs.check_mapping(shapes)
        given = first_names(shapes, self.aliases.inputs)
        self.inputs.check_known(given)
        arrays = {name: self._example(name, given.get(name)) for name in self.infos}
        return self.inputs.checked(arrays)

    def _example(self, name: str, given: Sequence[int] | NDArray[Any] | None) -> NDArray[Any]:
        """Return an input's data, or zeros of its shape."""
        info = self.infos[name]
        if isinstance(given, np.ndarray):
            return given
        if name in self._value_inputs:
            raise InvalidArgumentError(
                f"the data of the input {name!r} ({info}) decides how the network is prepared: "
                "expected an array in the place of its shape"
            )
        if given is None and not info.is_static:
            raise InvalidArgumentError(
                f"the input {name!r} needs a shape: its own {format_shape(info.shape)} is not "
                "known in full"
            )
        shape = info.static_shape if given is None else checked_shape(given, name)
        return np.broadcast_to(np.zeros((), info.data_type.numpy_dtype), shape)
