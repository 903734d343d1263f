# SPDX-License-Identifier: MIT
# ruff: noqa: F401 - two modules have these names: onnxruntime, and its compiled module
"""The names of onnxruntime's compiled module, but its exceptions."""

from __future__ import annotations

from armnn_compat.onnxruntime.errors import (
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
from armnn_compat.onnxruntime.model import ModelMetadata, NodeArg
from armnn_compat.onnxruntime.options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_ep_devices,
    get_version_string,
    has_collective_ops,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_global_thread_pool_sizes,
    set_seed,
)
from armnn_compat.onnxruntime.values import (
    OrtAllocatorType,
    OrtArenaCfg,
    OrtCompileApiFlags,
    OrtDevice,
    OrtDeviceMemoryType,
    OrtExecutionProviderDevicePolicy,
    OrtHardwareDeviceType,
    OrtMemoryInfo,
    OrtMemoryInfoDeviceType,
    OrtMemType,
    OrtSparseFormat,
    OrtValue,
    copy_tensors,
    create_and_register_allocator,
    create_and_register_allocator_v2,
)
