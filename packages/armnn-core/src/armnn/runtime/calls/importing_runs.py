# SPDX-License-Identifier: MIT
"""Runs of networks that import inputs and export outputs."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends.control import RunControl
from armnn.errors import InvalidArgumentError, MemoryImportError
from armnn.runtime.calls.binder import aligned, check_usable
from armnn.runtime.calls.properties import NetworkProperties
from armnn.runtime.plans.binding import Binding
from armnn.runtime.plans.cache import NetworkPlans
from armnn.runtime.plans.closing import Closing
from armnn.runtime.plans.context import ExecutionContext, check_shapes, with_layer_types
from armnn.runtime.plans.outputs import Targets
from armnn.runtime.plans.plan import Plan
from armnn.types import MemorySource

MOST_KEPT: Final = 4
"""Sets of arrays that stay bound for later runs, as a ring of buffers has."""


class ImportingRuns:
    """Runs that use the caller's arrays where they are.

    (Arm NN: ``EnqueueWorkload`` with ``m_InputSource`` or ``m_OutputSource``.) Arrays of the last
    runs stay bound, so that runs on the same ones prepare nothing.
    """

    def __init__(self, plans: NetworkPlans, properties: NetworkProperties) -> None:
        """Begin without bound arrays.

        Args:
            plans: The plans of the network.
            properties: Whether its inputs are imported, and its outputs exported.
        """
        self._plans = plans
        self._title = f"the network {plans.optimized.name!r}"
        self._imports = properties.input_source is MemorySource.MALLOC
        self._exports = properties.output_source is MemorySource.MALLOC
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _BoundArrays] = OrderedDict()

    @property
    def is_needed(self) -> bool:
        """Whether the network imports or exports arrays."""
        return self._imports or self._exports

    def run(
        self, arrays: Sequence[NDArray[Any]], targets: Targets, control: RunControl | None
    ) -> dict[str, NDArray[Any]]:
        """Run the network once.

        Data that decides how it is run is copied, as without imports.

        Raises:
            MemoryImportError: An array cannot be used without a copy.
            ExecutionError: See :meth:`armnn.runtime.plans.context.ExecutionContext.run`.
        """
        plan = self._plans.lone_plan(arrays)
        shapes = {} if plan is None else plan.output_shapes
        known = {name: shape for name, shape in shapes.items() if shape is not None}
        if plan is None or len(known) != len(shapes):
            return self._plans.run(arrays, control, targets)
        check_shapes(targets, known)
        given = dict(zip(self._plans.optimized.inputs, arrays, strict=True))
        key = self._key(given, targets)
        with self._lock:
            bound = self._kept.pop(key, None)
        if bound is None:
            bound = self._bound(plan, given, targets, known)
        try:
            made = bound.run(given, targets, with_layer_types(control, plan.prepared))
        except BaseException:
            bound.context.close()
            raise
        self._keep(key, bound)
        return made

    def close(self) -> None:
        """Forget all arrays.

        Raises:
            ClosingError: Working memory could not be given back.
        """
        closing = Closing(self._title)
        while self._kept:
            closing.step(self._kept.popitem()[1].context.close)
        closing.end()

    def _key(self, given: Mapping[str, NDArray[Any]], targets: Targets) -> Hashable:
        """Return what a binding depends on: shapes and addresses."""
        read = ((each.shape, _address(each) if self._imports else 0) for each in given.values())
        written = targets.items() if self._exports else ()
        return (*read, *((name, _address(each)) for name, each in written))

    def _bound(
        self,
        plan: Plan,
        given: Mapping[str, NDArray[Any]],
        targets: Targets,
        shapes: Mapping[str, tuple[int, ...]],
    ) -> _BoundArrays:
        """Bind a plan to arrays."""
        infos, made = self._plans.optimized.inputs, self._plans.optimized.outputs
        imported = given if self._imports else {}
        exported = _apart(targets, imported) if self._exports else {}
        for name, array in imported.items():
            self._check(array, f"the input {name!r}")
        for name, array in exported.items():
            self._check(array, f"the array for the output {name!r}")
        inputs = {
            name: imported[name] if name in imported else aligned(infos[name], given[name].shape)
            for name in given
        }
        outputs = {
            name: exported[name] if name in exported else aligned(made[name], shape)
            for name, shape in shapes.items()
        }
        context, copied = plan.bound(Binding(inputs, outputs))
        for name in copied:
            is_used = name in imported or name in exported
            if is_used and plan.imports(name, MemorySource.MALLOC):
                context.close()
                raise MemoryImportError(
                    f"the backend of {name!r} of {self._title} imports "
                    f"{MemorySource.MALLOC.arm_name} memory, but not this array: load the network "
                    "without import_enabled and export_enabled, which copies"
                )
        return _BoundArrays(context, inputs, outputs, imported, exported)

    def _check(self, array: NDArray[Any], what: str) -> None:
        try:
            check_usable(array, what)
        except InvalidArgumentError as error:
            raise MemoryImportError(
                f"{error}; {self._title} was loaded for arrays that are used where they are"
            ) from None

    def _keep(self, key: Hashable, bound: _BoundArrays) -> None:
        """Keep arrays for a later run; forget the oldest."""
        with self._lock:
            twin = self._kept.pop(key, None)
            self._kept[key] = bound
            spare = twin
            if spare is None and len(self._kept) > MOST_KEPT:
                _, spare = self._kept.popitem(last=False)
        if spare is not None:
            spare.context.close()


@dataclass(frozen=True, slots=True, eq=False)
class _BoundArrays:
    """A context that stands on arrays.

    Attributes:
        context: The context.
        inputs: What it reads, by input.
        outputs: What it writes, by output.
        imported: The inputs that are the caller's arrays.
        exported: The outputs that are the caller's arrays.
    """

    context: ExecutionContext
    inputs: Mapping[str, NDArray[Any]]
    outputs: Mapping[str, NDArray[Any]]
    imported: Collection[str]
    exported: Collection[str]

    def run(
        self, given: Mapping[str, NDArray[Any]], targets: Targets, control: RunControl | None
    ) -> dict[str, NDArray[Any]]:
        """Run once; copy what is neither imported nor exported."""
        for name, array in given.items():
            if name not in self.imported:
                np.copyto(self.inputs[name], array)
        self.context.run_bound(control)
        made = {}
        for name, array in self.outputs.items():
            target = targets.get(name)
            if target is None:
                made[name] = array.copy()
                continue
            if name not in self.exported:
                np.copyto(target, array)
            made[name] = target
        return made


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _apart(targets: Targets, inputs: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays that share no part of an input."""

    def is_apart(array: NDArray[Any]) -> bool:
        return all(
            (_address(array) == _address(given) and array.nbytes == given.nbytes)
            or not np.may_share_memory(array, given)
            for given in inputs.values()
        )

    return {name: array for name, array in targets.items() if is_apart(array)}
