# SPDX-License-Identifier: MIT
"""The names of capabilities, and the search for one."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from armnn._arguments import closest, text
from armnn.backends.options import OptionValue
from armnn.errors import UnknownNameError


class Capability(StrEnum):
    """The known capabilities; the first nine are Arm NN's.

    ``Backend.capabilities`` states them by these names, true or false. The conformance kit checks
    by behaviour what a backend states as true. A vendor may add names of its own.
    """

    NON_CONST_WEIGHTS = "NonConstWeights"
    """Layers take weights and biases that are computed or fed, not only constants."""
    ASYNC_EXECUTION = "AsyncExecution"
    """Steps run while their caller does something else: the extension ``armnn.async/1``."""
    PROTECTED_CONTENT_ALLOCATION = "ProtectedContentAllocation"
    """Working memory may come from an allocator of protected memory (``DmaBufProtected``)."""
    CONSTANT_TENSORS_AS_INPUTS = "ConstantTensorsAsInputs"
    """Constants, such as weights, come as inputs of a layer."""
    PRE_IMPORT_IO_TENSORS = "PreImportIOTensors"
    """A step that was bound to a caller's memory reads and writes it there, run after run."""
    EXTERNALLY_MANAGED_MEMORY = "ExternallyManagedMemory"
    """Working memory comes from the runtime, thus from an allocator that the user names."""
    MULTI_AXIS_PACKING = "MultiAxisPacking"
    """Tensors that live at the same time may share a block of memory, side by side."""
    SINGLE_AXIS_PACKING = "SingleAxisPacking"
    """Tensors that live one after the other may use the same block of memory."""
    HAS_FP16 = "HasFp16"
    """Layers compute on Float16."""
    PROPAGATES_NAN = "PropagatesNaN"
    """A result of NaN is NaN, never a number; true unless it is stated to be false."""
    KEEPS_EXTREMES = "KeepsExtremes"
    """Infinity is read and written as such, and no sum or square on the way to a result that is a
    number of the type overflows; true unless it is stated to be false."""
    RELEASES_CONSTANTS = "ReleasesConstants"
    """``compile`` of a C backend neither reads a constant again nor refuses a node once it has
    dropped a constant that it kept: the host may then free the data."""


def has_capability(
    capabilities: Mapping[str, OptionValue], name: str, value: OptionValue = True
) -> bool:
    """Return whether a capability has a value, by default true.

    Counterpart of Arm NN's ``HasMatchingCapability``. A name that is not stated is false, but for
    PropagatesNaN and KeepsExtremes.

    Args:
        capabilities: What a backend states.
        name: Of :class:`Capability`, or a vendor's.
        value: What it must be.

    Raises:
        UnknownNameError: The name is not stated and looks like a misspelt one that is known.
    """
    name = text(name, "the name of a capability")
    if name in capabilities:
        stated = capabilities[name]
        return stated == value and isinstance(stated, bool) == isinstance(value, bool)
    known = {*capabilities, *(each.value for each in Capability)}
    meant = None if name in known else closest(name, sorted(known))
    if meant is not None:
        raise UnknownNameError(f"there is no capability {name!r}; did you mean {meant!r}?")
    return value is (name in (Capability.PROPAGATES_NAN, Capability.KEEPS_EXTREMES))
