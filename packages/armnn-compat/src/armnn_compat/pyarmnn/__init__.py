# SPDX-License-Identifier: MIT
"""A drop-in for ``pyarmnn``, Arm NN's package until 24.11.

Use it under its own name, or put it in the place of the other one before that is imported::

    import armnn_compat.pyarmnn

    armnn_compat.pyarmnn.install()
    import pyarmnn as ann  # runs on armnn

Names are PyArmNN's. Enumerations are constants such as ``DataType_Float32``, and descriptors derive
from the layer table. ``docs/coming-from-arm-nn.md`` says what works and what is refused.
"""

from __future__ import annotations

import difflib
import sys
import types
from typing import NoReturn

from armnn_compat import standing_in
from armnn_compat.pyarmnn import _generated, _version
from armnn_compat.pyarmnn._ownership import mark
from armnn_compat.pyarmnn._version import (
    ARMNN_VERSION,
    GetMajorVersion,
    GetMinorVersion,
    GetVersion,
    __arm_ml_version__,
    __version__,
    check_armnn_version,
)
from armnn_compat.pyarmnn.constants import CONSTANTS
from armnn_compat.pyarmnn.descriptors import (
    CreateDescriptorForConcatenation,
    LstmInputParams,
    QuantizedLstmInputParams,
)
from armnn_compat.pyarmnn.network import (
    DESCRIPTORS,
    IConnectableLayer,
    IInputSlot,
    INetwork,
    IOutputSlot,
)
from armnn_compat.pyarmnn.optimization import (
    BackendId,
    BackendOption,
    BackendOptions,
    IDeviceSpec,
    IOptimizedNetwork,
    Optimize,
    OptimizerOptions,
)
from armnn_compat.pyarmnn.parsers import (
    IDeserializer,
    IOnnxParser,
    ITfLiteParser,
    TfLiteParserOptions,
)
from armnn_compat.pyarmnn.runtime import (
    CreationOptions,
    ExternalProfilingOptions,
    INetworkProperties,
    IProfiler,
    IRuntime,
    ProfilerData,
    get_profiling_data,
)
from armnn_compat.pyarmnn.tensors import (
    BINDINGS,
    ConstTensor,
    PermutationVector,
    Tensor,
    TensorInfo,
    TensorShape,
    dequantize,
    make_input_tensors,
    make_output_tensors,
    quantize,
    workload_tensors_to_ndarray,
)
from armnn_compat.standing_in import AlreadyImportedError, withdraw

_REMOVED = {
    "ICaffeParser": "Arm NN dropped its parser of Caffe models in 21.02: convert them to ONNX",
    "ITfParser": "Arm NN dropped its parser of TensorFlow models in 21.02: convert them to .tflite",
}


def _is_own(kind: type) -> bool:
    return kind.__module__.startswith(__name__) and not issubclass(kind, Exception)


globals().update(CONSTANTS)
globals().update(DESCRIPTORS)
globals().update(BINDINGS)
mark(each for each in tuple(globals().values()) if isinstance(each, type) and _is_own(each))


def __getattr__(name: str) -> NoReturn:
    """Raise AttributeError with the missing name and the closest one."""
    reason = _REMOVED.get(name, "")
    close = difflib.get_close_matches(name, __all__, 1, 0.7)
    hint = f"; did you mean {close[0]!r}?" if close and not reason else ""
    raise AttributeError(
        f"armnn's replacement of pyarmnn has no {name!r}{': ' * bool(reason)}{reason}{hint}"
    )


def install() -> standing_in.StandIn:
    """Make ``import pyarmnn`` find this module, until :func:`uninstall`.

    Returns:
        A context manager that takes the names away again when its block ends.

    Raises:
        AlreadyImportedError: pyarmnn itself was imported before.
    """
    return standing_in.StandIn(_modules())


def uninstall() -> None:
    """Make ``import pyarmnn`` find PyArmNN again; imported modules stay."""
    withdraw(_modules())


def _modules() -> dict[str, types.ModuleType]:
    here = sys.modules[__name__]
    bindings = dict.fromkeys(_generated.MODULES, here)
    return {
        "pyarmnn": here,
        "pyarmnn._version": _version,
        "pyarmnn._generated": _generated,
        **{f"pyarmnn._generated.{name}": module for name, module in bindings.items()},
    }


__all__ = [
    "ARMNN_VERSION",
    "AlreadyImportedError",
    "BackendId",
    "BackendOption",
    "BackendOptions",
    "ConstTensor",
    "CreateDescriptorForConcatenation",
    "CreationOptions",
    "ExternalProfilingOptions",
    "GetMajorVersion",
    "GetMinorVersion",
    "GetVersion",
    "IConnectableLayer",
    "IDeserializer",
    "IDeviceSpec",
    "IInputSlot",
    "INetwork",
    "INetworkProperties",
    "IOnnxParser",
    "IOptimizedNetwork",
    "IOutputSlot",
    "IProfiler",
    "IRuntime",
    "ITfLiteParser",
    "LstmInputParams",
    "Optimize",
    "OptimizerOptions",
    "PermutationVector",
    "ProfilerData",
    "QuantizedLstmInputParams",
    "Tensor",
    "TensorInfo",
    "TensorShape",
    "TfLiteParserOptions",
    "__arm_ml_version__",
    "__version__",
    "check_armnn_version",
    "dequantize",
    "get_profiling_data",
    "install",
    "make_input_tensors",
    "make_output_tensors",
    "quantize",
    "uninstall",
    "workload_tensors_to_ndarray",
    *CONSTANTS,
    *DESCRIPTORS,
    *BINDINGS,
]
