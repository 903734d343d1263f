# SPDX-License-Identifier: MIT
"""The interface ``onnx.backend.base``, for ONNX's own tests.

It runs on the runtime, and needs the package ``onnx``. ``armnn_parser_onnx.backend`` is a backend
in ONNX's sense: ``prepare``, ``run_model``, ``run_node`` and ``supports_device`` are its functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import armnn
from armnn.errors import ArmnnError, InvalidArgumentError
from armnn_parser_onnx.parser import parse

try:
    import onnx
    from onnx import helper
    from onnx.backend.base import Backend, BackendRep
except ImportError as error:
    raise ImportError(
        f"armnn_parser_onnx.backend needs the package onnx, which cannot be imported ({error}): "
        "pip install onnx"
    ) from error


_DEFAULT_BACKENDS = ("CpuRef",)


class ArmnnBackendRep(BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: onnx.ModelProto, backends: Sequence[str]) -> None:
        network = parse(model.SerializeToString())
        self._loaded = armnn.load_model(network, backends=list(backends))

    def run(self, inputs: Any, **_options: Any) -> tuple[NDArray[Any], ...]:
        """Run the model.

        Args:
            inputs: One array for each input in the model's order, one array alone, or arrays by
                name.

        Returns:
            The outputs in the model's order.

        Raises:
            InvalidArgumentError: There are more arrays than inputs, or too few.
            UnsupportedOperatorError: With the values of its inputs, too, layers cannot compute it.
        """
        return tuple(self._loaded.run(self._feeds(inputs)).values())

    def _feeds(self, inputs: Any) -> dict[str, NDArray[Any]]:
        names = list(self._loaded.inputs)
        if isinstance(inputs, Mapping):
            return {name: np.asarray(array) for name, array in inputs.items()}
        given = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        if len(given) != len(names):
            raise InvalidArgumentError(
                f"the model has the inputs {names}: got {len(given)} arrays, expected one for each"
            )
        return {name: np.asarray(array) for name, array in zip(names, given, strict=True)}


class ArmnnBackend(Backend):
    """ONNX models on the backends of this runtime."""

    @classmethod
    def prepare(
        cls,
        model: onnx.ModelProto,
        device: str = "CPU",
        *,
        backends: Sequence[str] = _DEFAULT_BACKENDS,
        **_options: Any,
    ) -> ArmnnBackendRep:
        """Load a model.

        Args:
            model: The model.
            device: ONNX's word for the kind of device, "CPU" being the one that is known.
            backends: Where layers may run, the preferred backend first.

        Raises:
            InvalidArgumentError: The device is not known.
            UnsupportedOperatorError: The model uses operators that layers cannot compute.
            ParseError: The model is malformed.
        """
        if not cls.supports_device(device):
            raise InvalidArgumentError(
                f"the device {device!r} is not known: expected 'CPU'; `backends` says which "
                "backends run the model"
            )
        return ArmnnBackendRep(model, backends)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **options: Any,
    ) -> tuple[NDArray[Any], ...]:
        """Run one node as a model of its own.

        Args:
            node: The node.
            inputs: One array for each input that the node has.
            device: As for :meth:`prepare`.
            outputs_info: Not needed: types and shapes follow from the inputs.
            options: As for :meth:`prepare`, and ``opset_version``, the version of ONNX's operators;
                by default the newest that the installed onnx knows.

        Raises:
            InvalidArgumentError: The number of arrays is not the number of inputs.
        """
        del outputs_info
        names = list(dict.fromkeys(name for name in node.input if name))
        arrays = [np.asarray(array) for array in inputs]
        if len(arrays) != len(names):
            raise InvalidArgumentError(
                f"the node of type {node.op_type!r} has the inputs {names}: got {len(arrays)} "
                f"arrays, expected {len(names)}"
            )
        given = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in zip(names, arrays, strict=True)
        ]
        made = [helper.make_tensor_value_info(name, 0, None) for name in node.output if name]
        version = options.pop("opset_version", onnx.defs.onnx_opset_version())
        model = helper.make_model(
            helper.make_graph([node], "node", given, made),
            opset_imports=[helper.make_opsetid(node.domain, version)],
        )
        return cls.prepare(model, device, **options).run(arrays)

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_options: Any) -> bool:
        """Return whether model and device are usable."""
        if not cls.supports_device(device):
            return False
        try:
            parse(model.SerializeToString())
        except ArmnnError:
            return False
        return True

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether a device is known: "CPU", perhaps with number.

        The name is ONNX's.
        """
        kind, _, number = device.partition(":")
        return kind == "CPU" and (not number or number.isdecimal())


prepare = ArmnnBackend.prepare
run_model = ArmnnBackend.run_model
run_node = ArmnnBackend.run_node
supports_device = ArmnnBackend.supports_device
is_compatible = ArmnnBackend.is_compatible
