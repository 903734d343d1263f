# SPDX-License-Identifier: MIT
"""A drop-in for the part of ``onnxruntime`` that runs models.

Use it under its own name, or put it in the place of the other one before that is imported::

    import armnn_compat.onnxruntime

    armnn_compat.onnxruntime.install()
    import rapidocr_onnxruntime  # its sessions run on armnn from here on

``docs/coming-from-onnxruntime.md`` says what is there, what has no effect and what is refused.
"""

from __future__ import annotations

import sys
from types import ModuleType

from armnn_compat.onnxruntime import capi
from armnn_compat.onnxruntime.binding import IOBinding
from armnn_compat.onnxruntime.capi import (
    onnxruntime_inference_collection,
    onnxruntime_pybind11_state,
)
from armnn_compat.onnxruntime.memory import (
    OrtAllocatorType,
    OrtArenaCfg,
    OrtCompileApiFlags,
    OrtDeviceMemoryType,
    OrtDeviceVendorId,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfo,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
    copy_tensors,
    create_and_register_allocator,
    create_and_register_allocator_v2,
)
from armnn_compat.onnxruntime.model import ModelMetadata, NodeArg
from armnn_compat.onnxruntime.options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)
from armnn_compat.onnxruntime.process import (
    VERSION,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_build_info,
    get_device,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from armnn_compat.onnxruntime.providers import get_available_providers
from armnn_compat.onnxruntime.refused import (
    AdapterFormat,
    LoraAdapter,
    ModelCompiler,
    OrtEpAssignedNode,
    OrtEpAssignedSubgraph,
    OrtEpContextData,
    OrtEpContextDataBuffer,
    OrtEpDevice,
    OrtExternalInitializerInfo,
    OrtHardwareDevice,
    OrtSyncStream,
    SessionIOBinding,
    SparseTensor,
    register_execution_provider_library,
    unregister_execution_provider_library,
)
from armnn_compat.onnxruntime.session import InferenceSession
from armnn_compat.onnxruntime.values import OrtDevice, OrtValue
from armnn_compat.standing_in import AlreadyImportedError, StandIn, withdraw

__version__ = version = VERSION
package_name, cuda_version = "onnxruntime", ""


def install() -> StandIn:
    """Make ``import onnxruntime`` find this module, until :func:`uninstall`.

    Returns:
        A context manager that takes the names away again when its block ends.

    Raises:
        AlreadyImportedError: onnxruntime itself was imported before.
    """
    return StandIn(_modules())


def uninstall() -> None:
    """Make ``import onnxruntime`` find onnxruntime again; imported modules stay."""
    withdraw(_modules())


def _modules() -> dict[str, ModuleType]:
    return {
        "onnxruntime": sys.modules[__name__],
        "onnxruntime.capi": capi,
        "onnxruntime.capi._pybind_state": onnxruntime_pybind11_state,
        "onnxruntime.capi.onnxruntime_pybind11_state": onnxruntime_pybind11_state,
        "onnxruntime.capi.onnxruntime_inference_collection": onnxruntime_inference_collection,
    }


__all__ = [
    "AdapterFormat",
    "AlreadyImportedError",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "LoraAdapter",
    "ModelCompiler",
    "ModelMetadata",
    "NodeArg",
    "OrtAllocatorType",
    "OrtArenaCfg",
    "OrtCompileApiFlags",
    "OrtDevice",
    "OrtDeviceMemoryType",
    "OrtDeviceVendorId",
    "OrtEpAssignedNode",
    "OrtEpAssignedSubgraph",
    "OrtEpContextData",
    "OrtEpContextDataBuffer",
    "OrtEpDevice",
    "OrtExecutionProviderDevicePolicy",
    "OrtExternalInitializerInfo",
    "OrtHardwareDevice",
    "OrtHardwareDeviceType",
    "OrtMemType",
    "OrtMemoryInfo",
    "OrtMemoryInfoDeviceType",
    "OrtSparseFormat",
    "OrtSyncStream",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "SparseTensor",
    "__version__",
    "capi",
    "copy_tensors",
    "create_and_register_allocator",
    "create_and_register_allocator_v2",
    "cuda_version",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_ep_devices",
    "get_version_string",
    "has_collective_ops",
    "install",
    "package_name",
    "preload_dlls",
    "print_debug_info",
    "register_execution_provider_library",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_global_thread_pool_sizes",
    "set_seed",
    "uninstall",
    "unregister_execution_provider_library",
    "version",
]
