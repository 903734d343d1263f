# SPDX-License-Identifier: MIT
"""The backend that runs operators which a program defines in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from armnn.backends.contract import SUPPORTED, Backend, ModelContext, Step, Support, Workload
from armnn.backends.memory import TensorHandle
from armnn.graph.python_operators import PYTHON, OperatorCall, OperatorRegistration
from armnn_backend_api import BACKEND_API_VERSION, BackendVersion

if TYPE_CHECKING:  # a prepared load imports no layers
    from armnn.graph import Layer


class OperatorBackend(Backend):
    """Runs registered operators, in the host's memory.

    Attributes:
        operators: The operators that it was given to run, by domain and name.
    """

    id: ClassVar[str] = PYTHON
    api_version: ClassVar[BackendVersion] = BACKEND_API_VERSION

    def __init__(self) -> None:
        self.operators: dict[str, OperatorRegistration] = {}

    def supports(self, layer: Layer, model: ModelContext) -> Support:  # noqa: ARG002  # contract
        """Return whether a layer is one of a registered operator."""
        if layer.call is not None:
            return SUPPORTED
        return Support.no(f"runs operators of register_operator() only, not {layer.type}")

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:  # noqa: ARG002  # contract
        """Return a workload that runs a layer of a registered operator."""
        assert layer.call is not None  # supports() said so
        self.operators[str(layer.call.operator)] = layer.call.operator
        return _CallWorkload(layer.call)


class _CallWorkload(Workload):
    def __init__(self, call: OperatorCall) -> None:
        self._call = call

    def bind(self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]) -> Step:
        arrays: list[NDArray[Any]] = []
        for handle in inputs:
            assert handle is not None  # the layer reads the inputs that are present
            array = handle.map().view()
            array.flags.writeable = False
            arrays.append(array)
        return self._call.bound(arrays, [handle.map() for handle in outputs])
