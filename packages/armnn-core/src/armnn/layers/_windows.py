# SPDX-License-Identifier: MIT
"""Windows that move along the spatial axes of their input."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from armnn.layers._descriptor import Descriptor

Pairs: TypeAlias = tuple[tuple[int, int], ...]

_SIDES = {
    "x": ("pad_left", "pad_right"),
    "y": ("pad_top", "pad_bottom"),
    "z": ("pad_front", "pad_back"),
}


class WindowDescriptor(Descriptor):
    """A layer with windows in two or three dimensions."""

    __slots__ = ()

    spatial_axes: ClassVar[str] = "yx"
    """The last letters of its parameters, depth (if any) and height first."""

    @property
    def padding(self) -> Pairs:
        """What is added (before, after) each spatial axis.

        A transposed convolution takes it off its output.
        """
        sides = [_SIDES[axis] for axis in self.spatial_axes]
        return tuple([(getattr(self, before), getattr(self, after)) for before, after in sides])

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride along each spatial axis."""
        return tuple([getattr(self, f"stride_{axis}") for axis in self.spatial_axes])

    @property
    def dilations(self) -> tuple[int, ...]:
        """The dilation along each spatial axis."""
        return tuple([getattr(self, f"dilation_{axis}") for axis in self.spatial_axes])
