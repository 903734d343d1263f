# SPDX-License-Identifier: MIT
"""Elements of tensors: their types, and how kernels read and write them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from armnn.quantization import dequantize
from armnn.types import DataType
from armnn_backend_cl.launches import Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from armnn.tensor import TensorInfo

WIDTHS: Final = {8: "uchar", 16: "ushort", 32: "uint", 64: "ulong"}
"""The types of elements that are only moved, by their bits."""

INTEGERS: Final = {
    DataType.SIGNED8: "char",
    DataType.SIGNED16: "short",
    DataType.SIGNED32: "int",
    DataType.SIGNED64: "long",
    DataType.UNSIGNED8: "uchar",
    DataType.UNSIGNED16: "ushort",
    DataType.UNSIGNED32: "uint",
    DataType.UNSIGNED64: "ulong",
}
"""The types that kernels compute with as they are, in OpenCL C."""

INDICES: Final = (DataType.SIGNED32, DataType.SIGNED64)

QUANTIZED: Final = {
    DataType.QASYMM_U8: "uchar",
    DataType.QASYMM_S8: "char",
    DataType.QSYMM_S8: "char",
    DataType.QSYMM_S16: "short",
}

REALS: Final = (DataType.FLOAT32, DataType.FLOAT16, DataType.BFLOAT16, *QUANTIZED)
"""Types of real numbers, which kernels compute in float."""

NUMBERS: Final = (*REALS, *INTEGERS)

ANY: Final = (*NUMBERS, DataType.BOOLEAN)


@dataclass(frozen=True, slots=True)
class Elements:
    """How a kernel reads and writes the elements of a tensor.

    Attributes:
        stored: The type in memory, in OpenCL C.
        value: The type of what a kernel computes.
        read: The value of the element at the pointer ``{p}`` of the tensor ``{x}``.
        write: Writes ``{v}`` there.
    """

    stored: str
    value: str
    read: str = "*({p})"
    write: str = "*({p}) = ({v})"


FLOATS: Final = Elements("float", "float")


def elements_of(info: TensorInfo | None) -> Elements:
    """Return how kernels read and write the elements of a tensor that they compute with.

    Raises:
        Refused: They do not know its type, or it has no scale or several.
    """
    assert info is not None
    kind = info.data_type
    if kind in QUANTIZED:
        if len(info.scales) != 1:
            raise Refused(f"a tensor of {kind.arm_name} has {len(info.scales)} scales, expected 1")
        limits = np.iinfo(kind.numpy_dtype)
        return Elements(
            QUANTIZED[kind],
            "float",
            "real(*({p}), {x}_steps)",
            f"*({{p}}) = quantized({{v}}, {{x}}_steps, {limits.min}, {limits.max})",
        )
    if kind is DataType.FLOAT16:  # no device needs cl_khr_fp16 for these two functions
        return Elements("half", "float", "vload_half(0, {p})", "vstore_half_rte({v}, 0, {p})")
    if kind is DataType.BFLOAT16:
        return Elements("ushort", "float", "as_float((uint)*({p}) << 16)", "*({p}) = bfloat16({v})")
    if kind is DataType.FLOAT32:
        return FLOATS
    if kind is DataType.BOOLEAN:
        return Elements("uchar", "uchar")
    if kind not in INTEGERS:
        raise Refused(f"GpuAcc has no kernels for {kind.arm_name}")
    return Elements(INTEGERS[kind], INTEGERS[kind])


def accessors(**tensors: Elements) -> str:
    """Return the macros by which a kernel reads and writes its tensors.

    For a tensor ``x``: ``X``, its type in memory, ``X_VALUE``, the type of its values,
    ``READ_X(p)`` and ``WRITE_X(p, v)`` of an element, ``LOAD_X(i)`` and ``STORE_X(i, v)`` by its
    index.
    """
    lines = []
    for name, each in tensors.items():
        upper = name.upper()
        lines += [
            f"#define {upper} {each.stored}",
            f"#define {upper}_VALUE {each.value}",
            f"#define READ_{upper}(p) {each.read.format(x=name, p='p')}",
            f"#define WRITE_{upper}(p, v) {each.write.format(x=name, p='p', v='v')}",
            f"#define LOAD_{upper}(i) READ_{upper}(AT({name}) + (i))",
            f"#define STORE_{upper}(i, v) WRITE_{upper}(AT({name}) + (i), v)",
        ]
    return "\n".join([*lines, ""])


FLOATING: Final = (DataType.FLOAT32, DataType.FLOAT16)
"""Types of tensors that kernels read and write as vectors."""


def vectors(name: str, info: TensorInfo) -> str:
    """Return the macros that read vectors of a tensor of a floating type.

    For a tensor ``x``: ``READ_X4(p)``, and ``READ_X_ALL(p)`` of WIDTH elements.
    """
    load = "vload_half" if info.data_type is DataType.FLOAT16 else "vload"
    upper = name.upper()
    return (
        f"#define READ_{upper}4(p) {load}4(0, p)\n"
        f"#if WIDTH == 1\n#define READ_{upper}_ALL READ_{upper}\n"
        f"#else\n#define READ_{upper}_ALL(p) JOINED({load}, WIDTH)(0, p)\n#endif\n"
    )


def vector_accessors(out: TensorInfo, **tensors: TensorInfo) -> str:
    """Return the accessors of tensors of :data:`FLOATING` types and of the output ``out``.

    They include the accessors of vectors, ``STORE_ALL(v, i)`` for the output.
    """
    single = accessors(out=elements_of(out), **{n: elements_of(i) for n, i in tensors.items()})
    is_half = out.data_type is DataType.FLOAT16
    store = "JOINED(JOINED(vstore_half, WIDTH), _rte)" if is_half else "JOINED(vstore, WIDTH)"
    return (
        single
        + "".join(vectors(name, info) for name, info in tensors.items())
        + "#if WIDTH == 1\n#define STORE_ALL(v, i) STORE_OUT(i, v)\n"
        + f"#else\n#define STORE_ALL(v, i) {store}(v, 0, AT(out) + (i))\n#endif\n"
    )


def width_of(info: TensorInfo) -> str:
    """Return the OpenCL type that moves elements as they are stored.

    Raises:
        Refused: They share bytes.
    """
    bits = info.data_type.bits
    if bits not in WIDTHS:
        raise Refused(f"a tensor is {info.data_type.arm_name}, expected at least 8 bits an element")
    return WIDTHS[bits]


def stored_alike(*infos: TensorInfo | None) -> bool:
    """Return whether tensors store values alike, so that elements may be moved between them."""
    first = infos[0]
    assert first is not None
    return not first.is_per_axis and all(
        info is not None and info.is_type_space_match(first) for info in infos
    )


def reals_of(info: TensorInfo) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return a function that makes float32 of the stored elements of a real tensor."""
    if info.is_quantized:
        return lambda stored: dequantize(stored, info)
    return lambda stored: stored.astype(np.float32, copy=False)
