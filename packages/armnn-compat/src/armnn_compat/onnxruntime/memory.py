# SPDX-License-Identifier: MIT
"""Descriptions of memory and devices, without effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from armnn_compat.onnxruntime.values import OrtValue


class OrtAllocatorType(IntEnum):
    """How an allocator gets memory."""

    INVALID = -1
    ORT_DEVICE_ALLOCATOR = 0
    ORT_ARENA_ALLOCATOR = 1


class OrtMemType(IntEnum):
    """What memory is for."""

    CPU_INPUT = -2
    CPU_OUTPUT = -1
    CPU = -1
    DEFAULT = 0


class OrtDeviceMemoryType(IntEnum):
    """Who reaches the memory of a device."""

    DEFAULT = 0
    HOST_ACCESSIBLE = 5


class OrtMemoryInfoDeviceType(IntEnum):
    """Kinds of devices that have memory."""

    CPU = 0
    GPU = 1
    FPGA = 2
    NPU = 3


class OrtHardwareDeviceType(IntEnum):
    """Kinds of devices that run nodes."""

    CPU = 0
    GPU = 1
    NPU = 2


class OrtDeviceVendorId(IntEnum):
    """The PCI numbers of vendors."""

    NONE = 0
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


class OrtExecutionProviderDevicePolicy(IntEnum):
    """By what a device would be chosen; without effect."""

    DEFAULT = 0
    PREFER_CPU = 1
    PREFER_NPU = 2
    PREFER_GPU = 3
    MAX_PERFORMANCE = 4
    MAX_EFFICIENCY = 5
    MIN_OVERALL_POWER = 6


class OrtCompileApiFlags(IntEnum):
    """What compiling ahead of time would refuse."""

    NONE = 0
    ERROR_IF_NO_NODES_COMPILED = 1
    ERROR_IF_OUTPUT_FILE_EXISTS = 2


class OrtSparseFormat(IntEnum):
    """How a sparse tensor would be stored."""

    ORT_SPARSE_UNDEFINED = 0
    ORT_SPARSE_COO = 1
    ORT_SPARSE_CSRC = 2
    ORT_SPARSE_BLOCK_SPARSE = 4


@dataclass(frozen=True, slots=True)
class OrtMemoryInfo:
    """Memory of a device."""

    name: str
    allocator_type: OrtAllocatorType
    device_id: int
    mem_type: OrtMemType
    device_vendor_id: int = 0
    device_mem_type: OrtDeviceMemoryType = OrtDeviceMemoryType.DEFAULT

    @staticmethod
    def create_v2(
        name: str,
        device_type: OrtMemoryInfoDeviceType,
        vendor_id: int,
        device_id: int,
        device_mem_type: OrtDeviceMemoryType,
        alignment: int,
        allocator_type: OrtAllocatorType,
    ) -> OrtMemoryInfo:
        """Return the memory of a device of a vendor."""
        del device_type, alignment
        return OrtMemoryInfo(
            name, allocator_type, device_id, OrtMemType.DEFAULT, vendor_id, device_mem_type
        )


class OrtArenaCfg:
    """The sizes of an arena; -1 is the default.

    Args:
        sizes: The first four sizes in the order of the attributes, or all of them by name.

    Raises:
        TypeError: They are neither.
        ValueError: There is no size of a name.
    """

    max_mem: int = 0
    arena_extend_strategy: int = -1
    initial_chunk_size_bytes: int = -1
    max_dead_bytes_per_chunk: int = -1
    initial_growth_chunk_size_bytes: int = -1
    max_power_of_two_extend_bytes: int = -1

    def __init__(self, *sizes: int | Mapping[str, int]) -> None:
        known = list(OrtArenaCfg.__annotations__)
        if len(sizes) == 1 and isinstance(sizes[0], Mapping):
            given = dict(sizes[0])
        elif len(sizes) == 4 and not any(isinstance(size, Mapping) for size in sizes):
            given = dict(zip(known, sizes, strict=False))  # type: ignore[arg-type]  # checked above
        else:
            raise TypeError(f"OrtArenaCfg got {sizes!r}: expected four sizes, or sizes by name")
        for name, size in given.items():
            if name not in known:
                raise ValueError(f"Invalid OrtArenaCfg option: {name!r}; there are {known}")
            setattr(self, name, int(size))


def create_and_register_allocator(mem_info: OrtMemoryInfo, arena_cfg: OrtArenaCfg | None) -> None:
    """Do nothing: each model plans an arena of its own."""
    del mem_info, arena_cfg


def create_and_register_allocator_v2(
    provider_type: str,
    mem_info: OrtMemoryInfo,
    options: Mapping[str, str],
    arena_cfg: OrtArenaCfg | None,
) -> None:
    """Do nothing: each model plans an arena of its own."""
    del provider_type, mem_info, options, arena_cfg


def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: object = None) -> None:
    """Copy values into others of the same types and shapes.

    Raises:
        ValueError: There are more of one than of the other.
        RuntimeError: A type or shape differs.
    """
    del stream
    if len(src) != len(dst):
        raise ValueError(f"src has {len(src)} values and dst has {len(dst)}: expected as many")
    for source, target in zip(src, dst, strict=True):
        target.update_inplace(source.numpy())
