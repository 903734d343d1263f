# SPDX-License-Identifier: MIT
"""Runs that reuse the reservation of an earlier run.

Of a model that takes microseconds it would be most of a run to go through the gate, look for the
plan and take a context each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from armnn.backends.contract import RunControl
from armnn.runtime.plans.cache import NetworkPlans, Reservation
from armnn.runtime.plans.closing import Gate
from armnn.runtime.plans.plan import POOL_LIMIT
from armnn.runtime.plans.steps import Inputs, Targets


class RepeatedRuns:
    """The runs of one network without profiler.

    A reservation that waits counts as inside of the gate, and its plan as in use. It is given back
    when a run has other shapes, and at the end.

    Args:
        gate: What runs go through.
        plans: The plans of the network.
    """

    def __init__(self, gate: Gate, plans: NetworkPlans) -> None:
        self._gate = gate
        self._plans = plans
        self._waiting: deque[Reservation] = deque()  # its methods are atomic: they need no lock
        self._take, self._wait = self._waiting.pop, self._waiting.append
        self._places = deque((None,) * POOL_LIMIT)  # those left; likewise
        self._has_ended = False

    def run_again(
        self,
        inputs: Inputs,
        targets: Targets | None = None,
        control: RunControl | None = None,
        *,
        is_checked: bool = True,
    ) -> dict[str, NDArray[Any]] | None:
        """Run with an earlier reservation; return None if none fits.

        Without control, and with targets that are not checked, what it returns knows the second
        names of outputs.

        Args:
            inputs: By name; not checked.
            targets: Arrays of the caller's for some outputs.
            control: What the caller limits.
            is_checked: Whether the targets are; if not, None is also for those that need it.
        """
        try:
            reservation = self._take()  # the last one used: its memory is in the cache
        except IndexError:
            return None
        try:
            if targets is None and control is None:
                outputs = reservation.repeat(inputs)
            elif targets is not None and not is_checked:
                outputs = reservation.repeat_into(inputs, targets)
            else:
                outputs = reservation.repeat_with(inputs, targets, control)
        except BaseException:
            try:
                reservation.spoil()
            finally:
                self._give_back(reservation)
            raise
        self._wait(reservation)
        if self._has_ended:
            self.release()
        return outputs

    def run_first(
        self,
        inputs: Sequence[NDArray[Any]],
        targets: Targets | None,
        control: RunControl | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Run with checked inputs, and keep the reservation if possible.

        Raises:
            ClosedError: The gate is closed.
        """
        self.release()
        self._gate.enter()
        is_kept = False
        try:
            reservation = self._plans.reserve(inputs)
            try:
                outputs = reservation.run(inputs, control, targets)
                is_kept = reservation.is_repeatable and self._takes_place()
            finally:
                if not is_kept:
                    reservation.release()
        finally:
            if not is_kept:
                self._gate.leave()
        if is_kept:
            self._wait(reservation)
            if self._has_ended:
                self.release()
        return outputs

    def _takes_place(self) -> bool:
        """Take one of the places, if any is left."""
        try:
            self._places.pop()
        except IndexError:
            return False
        return True

    def release(self) -> None:
        """Give back what waits for a next run."""
        while True:
            try:
                reservation = self._take()
            except IndexError:
                return
            self._give_back(reservation)

    def end(self) -> None:
        """Keep nothing from now on."""
        self._has_ended = True  # first: who sees it too late finds that the other looks again
        self.release()

    def _give_back(self, reservation: Reservation) -> None:
        try:
            reservation.release()
        finally:
            self._places.append(None)
            self._gate.leave()
