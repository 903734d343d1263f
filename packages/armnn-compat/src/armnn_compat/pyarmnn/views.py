# SPDX-License-Identifier: MIT
"""Views of tensors: the parameters of Concat and Splitter layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from armnn.errors import InvalidArgumentError
from armnn.layers import LAYERS, Descriptor, LayerSpec
from armnn_compat.pyarmnn.shapes import TensorShape

_DEFAULT_AXIS = 1


class _Views:
    """The origin of each view, one coordinate per dimension."""

    spec: ClassVar[LayerSpec]

    def __init__(self, numViews: int = 0, numDimensions: int | None = None) -> None:
        dimensions = (4 if numViews else 0) if numDimensions is None else numDimensions
        self._dimensions = dimensions
        self._origins = [[0] * dimensions for _ in range(numViews)]

    def GetNumViews(self) -> int:
        """Return the number of views."""
        return len(self._origins)

    def GetNumDimensions(self) -> int:
        """Return the number of dimensions of each."""
        return self._dimensions

    def GetViewOrigin(self, idx: int) -> list[int]:
        """Return a view's coordinates, one per view.

        PyArmNN returns that many too, whatever the number of dimensions.
        """
        return self._origins[idx][: len(self._origins)]

    def SetViewOriginCoord(self, view: int, coord: int, value: int) -> None:
        """Set a coordinate of a view's origin.

        Raises:
            RuntimeError: There is no such view or dimension.
        """
        self._set(self._origins, view, coord, value, "Failed to set view origin coordinates.")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment] # coordinates can be assigned

    def _set(self, table: list[list[int]], view: int, coord: int, value: int, failure: str) -> None:
        if not (0 <= view < len(table) and 0 <= coord < self._dimensions):
            raise RuntimeError(
                f"{failure} There are {len(table)} views of {self._dimensions} dimensions: got "
                f"view {view}, dimension {coord}."
            )
        table[view][coord] = int(value)


class ConcatDescriptor(_Views):
    """Where each input begins in the output, and the axis."""

    spec = LAYERS["Concat"]

    def __init__(self, numViews: int = 0, numDimensions: int | None = None) -> None:
        super().__init__(numViews, numDimensions)
        self._axis = _DEFAULT_AXIS

    def SetConcatAxis(self, concatAxis: int) -> None:
        """Set the axis along which inputs are joined."""
        self._axis = int(concatAxis)

    def GetConcatAxis(self) -> int:
        """Return the axis along which inputs are joined."""
        return self._axis

    def for_core(self) -> Descriptor:
        """Return the descriptor of the layer table."""
        return self.spec.descriptor(axis=self._axis)


class SplitterDescriptor(_Views):
    """Where each output begins in the input, and its size."""

    spec = LAYERS["Splitter"]

    def __init__(self, numViews: int = 0, numDimensions: int | None = None) -> None:
        super().__init__(numViews, numDimensions)
        self._sizes = [[0] * self._dimensions for _ in range(numViews)]

    def GetViewSizes(self, idx: int) -> list[int]:
        """Return a view's sizes, one per view."""
        return self._sizes[idx][: len(self._sizes)]

    def SetViewSize(self, view: int, coord: int, value: int) -> None:
        """Set a size of a view.

        Raises:
            RuntimeError: There is no such view or dimension.
        """
        self._set(self._sizes, view, coord, value, "Failed to set view size.")

    def GetOrigins(self) -> ConcatDescriptor:
        """Return the origins only."""
        made = ConcatDescriptor(len(self._origins), self._dimensions)
        made._origins = [list(origin) for origin in self._origins]
        return made

    def for_core(self) -> Descriptor:
        """Return the descriptor of the layer table.

        Raises:
            InvalidArgumentError: The views do not follow each other along one axis.
        """
        axes = [axis for axis in range(self._dimensions) if any(o[axis] for o in self._origins)]
        axis = axes[0] if axes else 0
        sizes = [size[axis] for size in self._sizes]
        ends = [sum(sizes[:index]) for index in range(len(sizes))]
        if len(axes) > 1 or [origin[axis] for origin in self._origins] != ends:
            raise InvalidArgumentError(
                f"the views begin at {self._origins} and have the sizes {self._sizes}: expected "
                "views that follow each other along one axis"
            )
        return self.spec.descriptor(axis=axis, sizes=tuple(sizes))


def CreateDescriptorForConcatenation(
    shapes: Sequence[TensorShape], concatenationDimension: int
) -> ConcatDescriptor:
    """Return the parameters that join tensors of these shapes.

    Args:
        shapes: Those of the inputs.
        concatenationDimension: The axis.

    Raises:
        TypeError: One of them is no TensorShape.
        RuntimeError: They differ along another axis, or there are fewer than two.
    """
    if not all(isinstance(each, TensorShape) for each in shapes):
        raise TypeError(
            "in method 'CreateDescriptorForConcatenation', argument 1 of type 'std::vector< "
            "armnn::TensorShape,std::allocator< armnn::TensorShape > >': got "
            f"{shapes!r}, expected a list of TensorShape"
        )
    if len(shapes) < 2:
        raise RuntimeError("Concatenation requires at least 2 inputs")
    axis = concatenationDimension
    others = {tuple(shape)[:axis] + tuple(shape)[axis + 1 :] for shape in shapes}
    if len(others) > 1 or not 0 <= axis < len(shapes[0]):
        raise RuntimeError(
            "All inputs to concatenation must be the same size along all dimensions  except the "
            f"concatenation dimension {concatenationDimension}: got {list(map(tuple, shapes))}"
        )
    made = ConcatDescriptor(len(shapes), len(shapes[0]))
    made.SetConcatAxis(concatenationDimension)
    start = 0
    for view, shape in enumerate(shapes):
        made.SetViewOriginCoord(view, concatenationDimension, start)
        start += shape[concatenationDimension]
    return made
