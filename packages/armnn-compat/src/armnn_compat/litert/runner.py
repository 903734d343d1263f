# SPDX-License-Identifier: MIT
"""``SignatureRunner``: a model as a function of arrays by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from armnn.errors import InvalidArgumentError
from armnn_compat.litert.model import Model


class TensorRunner(Protocol):
    """An ``Interpreter``, as its signature runners use it."""

    model: Model

    def resize_tensor_input(self, input_index: int, tensor_size: Sequence[int]) -> None:
        """Give an input other dimensions."""

    def allocate_tensors(self) -> None:
        """Prepare the model for the dimensions of its inputs."""

    def set_tensor(self, tensor_index: int, value: NDArray[Any]) -> None:
        """Copy an array into an input."""

    def invoke(self) -> None:
        """Run the model."""

    def get_tensor(self, tensor_index: int) -> NDArray[Any]:
        """Return a copy of a tensor."""

    def get_tensor_details(self) -> list[dict[str, Any]]:
        """Return what is known of each tensor."""


class SignatureRunner:
    """Runs a signature; ``Interpreter.get_signature_runner`` makes it.

    Args:
        interpreter: The interpreter of the model.
        signature_key: The signature.

    Raises:
        InvalidArgumentError: The model has no such signature, or it is one of another subgraph
            than the main one.
    """

    def __init__(self, interpreter: TensorRunner, signature_key: str) -> None:
        signatures = interpreter.model.signatures
        if signature_key not in signatures:
            raise InvalidArgumentError(
                f'Invalid signature_key provided: "{signature_key}"; the model has '
                f"{list(signatures)}"
            )
        self._signature = signatures[signature_key]
        if self._signature.subgraph != 0:
            raise InvalidArgumentError(
                f"the signature {signature_key!r} is one of subgraph {self._signature.subgraph}: "
                "only those of the main subgraph, 0, can be run"
            )
        self._interpreter = interpreter

    def __call__(self, **inputs: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Run the model.

        Args:
            inputs: An array for each input of the signature, of any size that the model takes.

        Returns:
            The outputs of the signature by name.

        Raises:
            InvalidArgumentError: The inputs are not those of the signature.
        """
        known = self._signature.inputs
        if len(inputs) != len(known):
            raise InvalidArgumentError(
                "Invalid number of inputs provided for running a SignatureDef, expected "
                f"{len(known)} ({', '.join(known)}) vs provided {len(inputs)}"
            )
        for name in inputs:
            if name not in known:
                raise InvalidArgumentError(
                    f"Invalid Input name ({name}) for SignatureDef; it has {', '.join(known)}"
                )
        for name, value in inputs.items():
            self._interpreter.resize_tensor_input(known[name], np.shape(value))
        self._interpreter.allocate_tensors()
        for name, value in inputs.items():
            self._interpreter.set_tensor(known[name], value)
        self._interpreter.invoke()
        outputs = self._signature.outputs
        return {name: self._interpreter.get_tensor(index) for name, index in outputs.items()}

    def get_input_details(self) -> dict[str, dict[str, Any]]:
        """Return what is known of each input, by name."""
        return {name: self._details(index) for name, index in self._signature.inputs.items()}

    def get_output_details(self) -> dict[str, dict[str, Any]]:
        """Return what is known of each output, by name."""
        return {name: self._details(index) for name, index in self._signature.outputs.items()}

    def _details(self, index: int) -> dict[str, Any]:
        return self._interpreter.get_tensor_details()[index]
