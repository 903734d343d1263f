# SPDX-License-Identifier: MIT
"""Graphs through the public API catch wrong backends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest

from armnn.backends import ArrayHandle, Step, SubgraphView, TensorHandle, Workload
from armnn_conformance.checks.by_name import Checks, NotSupportedError
from armnn_conformance.graphs.families import ALL_FAMILIES, ANY_BATCH
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from fakes import misbehaving

MakeSubject = Callable[[type], Subject]
LAYERS = ["Addition", "Softmax", "Transpose"]


def check(subject: Subject, family: str, layers: Sequence[str] = LAYERS) -> list[str]:
    found = Checks(subject).run("graphs", {"family": family, "layers": layers})
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("family", ALL_FAMILIES)
def test_a_good_backend_passes(make_subject: MakeSubject, family: str) -> None:
    passed = check(make_subject(misbehaving.SmallBackend), family)
    assert all("(" in name for name in passed)


class ForgetfulBackend(misbehaving.SmallBackend):
    """Computes the first layer of a context only once."""

    def create_workload(self, layer, model) -> Workload:  # type: ignore[no-untyped-def]  # typed by the base
        """Return a workload that reads its inputs once."""
        made = super().create_workload(layer, model)

        class Once(Workload):
            def bind(
                self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]
            ) -> Step:
                copies = [
                    None if handle is None else ArrayHandle(handle.info, handle.map().copy())
                    for handle in inputs
                ]
                return made.bind(copies, outputs)

        return Once()


def test_a_backend_that_reads_before_the_run_is_caught(make_subject: MakeSubject) -> None:
    with pytest.raises(NonconformityError, match=r"chain 0 Float32 \(.*\): the result is wrong"):
        check(make_subject(ForgetfulBackend), "chain")


class HoardingBackend(misbehaving.SmallBackend):
    """Computes zeros for a shape that comes again."""

    seen: ClassVar[set[tuple[Any, ...]]] = set()

    def create_workload(self, layer, model) -> Workload:  # type: ignore[no-untyped-def]  # typed by the base
        """Return a workload that is right the first time."""
        made = super().create_workload(layer, model)
        key = (id(model), layer.name, layer.output_infos)
        if key not in self.seen:
            self.seen.add(key)
            return made

        class Zeros(Workload):
            def bind(
                self, inputs: Sequence[TensorHandle | None], outputs: Sequence[TensorHandle]
            ) -> Step:
                def step() -> None:
                    for handle in outputs:
                        handle.map().fill(0)

                return step

        return Zeros()


def test_a_backend_that_is_wrong_when_a_shape_comes_again_is_caught(
    make_subject: MakeSubject,
) -> None:
    message = r"with a batch of \d+, prepared anew after others, the result is wrong"
    with pytest.raises(NonconformityError, match=message):
        check(make_subject(HoardingBackend), ANY_BATCH, ["Addition", "Transpose"])


class SingleBackend(misbehaving.SmallBackend):
    """Takes subgraphs of one layer."""

    def optimize_subgraph(self, view: SubgraphView, model):  # type: ignore[no-untyped-def]  # typed by the base
        """Refuse what has more layers."""
        if len(view.layers) > 1:
            raise ValueError("one layer at a time")
        return super().optimize_subgraph(view, model)


def test_a_backend_that_takes_single_layers_is_caught(make_subject: MakeSubject) -> None:
    with pytest.raises(NonconformityError, match=r"diamond 0 .*: ValueError: one layer at a time"):
        check(make_subject(SingleBackend), "diamond")


def test_contexts_that_share_memory_are_caught(make_subject: MakeSubject) -> None:
    with pytest.raises(
        NonconformityError, match="something that a call writes belongs to the program or is static"
    ):
        check(make_subject(misbehaving.RacyBackend), "in threads")


def test_a_backend_without_layers_has_no_graph(make_subject: MakeSubject) -> None:
    with pytest.raises(NotSupportedError, match="claims no two layers that follow each other"):
        check(make_subject(misbehaving.SmallBackend), "chain", ["Pad"])
