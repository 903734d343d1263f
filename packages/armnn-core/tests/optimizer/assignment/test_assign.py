# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn import ActivationFunction, Network, TensorInfo
from armnn.backends import BackendVersion, Support
from armnn.errors import InvalidArgumentError, OptimizationError
from armnn.layers import _spec
from armnn.optimizer import OptimizedNetwork, OptimizerOptions

INFO = TensorInfo((2, 2))


def three_layers() -> Network:
    network = Network("three")
    value = network.add_input("x", INFO)
    value = network.add_addition(value, value, name="add")
    value = network.add_activation(value, function=ActivationFunction.RELU, name="relu")
    value = network.add_multiplication(value, value, name="mul")
    network.add_output("y", value)
    return network


def backends_of(optimized: OptimizedNetwork) -> dict[str, str]:
    return {row.layer: row.backend for row in optimized.report}


def test_the_first_backend_that_supports_a_layer_runs_it(make_backend, participants) -> None:
    first = make_backend("First", {"Activation": "the input 'input' has rank 2"})
    optimized = OptimizedNetwork(
        three_layers(), participants(first, make_backend("Second")), OptimizerOptions()
    )
    assert backends_of(optimized) == {"add": "First", "relu": "Second", "mul": "First"}


def test_a_fallback_is_recorded_with_its_reason(make_backend, participants) -> None:
    first = make_backend("First", {"Activation": "the input 'input' has rank 2"})
    optimized = OptimizedNetwork(
        three_layers(), participants(first, make_backend("Second")), OptimizerOptions()
    )
    (row,) = optimized.report.fallbacks
    assert (row.layer, row.type, row.backend) == ("relu", "Activation", "Second")
    assert row.reason == "First: the input 'input' has rank 2"
    assert optimized.report.layers_by_backend == {"First": 2, "Second": 1}


def test_strict_mode_raises_instead_of_falling_back(make_backend, participants) -> None:
    refuse = {"Activation": "no activations", "mul": "not this one"}
    parties = participants(make_backend("First", refuse), make_backend("Second"))
    with pytest.raises(OptimizationError, match=r"strict mode: 2 layer\(s\)") as failure:
        OptimizedNetwork(three_layers(), parties, OptimizerOptions(strict=True))
    assert "'relu' (Activation): First: no activations" in str(failure.value)
    assert "'mul' (Multiplication): First: not this one" in str(failure.value)


def test_layers_with_one_reason_are_one_line_with_their_number(make_backend, participants) -> None:
    network = Network("many")
    value = network.add_input("x", INFO)
    for number in range(73):
        value = network.add_activation(value, function="ReLu", name=f"relu_{number}")
    network.add_output("y", network.add_addition(value, value, name="add"))
    refuse = {"Activation": "no activations", "add": "no sums"}
    parties = participants(make_backend("First", refuse), make_backend("Second"))
    with pytest.raises(OptimizationError) as failure:
        OptimizedNetwork(network, parties, OptimizerOptions(strict=True))
    first = ", ".join(f"'relu_{number}' (Activation)" for number in range(3))
    assert str(failure.value).splitlines()[1:3] == [
        f"- 73 layers, {first} and 70 more: First: no activations",
        "- 'add' (Addition): First: no sums",
    ]


def test_strict_mode_is_content_when_nothing_falls_back(make_backend, participants) -> None:
    parties = participants(make_backend("First"), make_backend("Second"))
    optimized = OptimizedNetwork(three_layers(), parties, OptimizerOptions(strict=True))
    assert set(backends_of(optimized).values()) == {"First"}


def test_layers_that_nobody_runs_are_all_listed_with_every_reason(
    make_backend, participants
) -> None:
    parties = participants(
        make_backend("First", {"relu": "no", "mul": "never"}),
        make_backend("Second", {"relu": "neither", "mul": "nor this"}),
    )
    with pytest.raises(OptimizationError, match=r"no backend of \[First, Second\] runs 2") as fail:
        OptimizedNetwork(three_layers(), parties, OptimizerOptions())
    assert "'relu' (Activation): First: no; Second: neither" in str(fail.value)
    assert "'mul' (Multiplication): First: never; Second: nor this" in str(fail.value)


def test_without_cpuref_the_advice_is_to_add_it(make_backend, participants) -> None:
    parties = participants(make_backend("First", {"relu": "no"}))
    with pytest.raises(
        OptimizationError,
        match=r"\nAdd CpuRef to the backends \(armnn-backend-ref brings it\): it runs every type "
        r"of layer\.$",
    ):
        OptimizedNetwork(three_layers(), parties, OptimizerOptions())


def test_where_cpuref_itself_refused_the_advice_is_not_to_add_it(
    make_backend, participants
) -> None:
    parties = participants(
        make_backend("First", {"relu": "no"}), make_backend("CpuRef", {"relu": "no Boolean"})
    )
    with pytest.raises(
        OptimizationError,
        match=r"First: no; CpuRef: no Boolean\nCpuRef, which runs every type of layer, refused "
        r"them as well: change in the model what the reasons name\.$",
    ) as caught:
        OptimizedNetwork(three_layers(), parties, OptimizerOptions())
    assert "Add CpuRef" not in str(caught.value)


def test_a_hint_with_a_typing_error_says_what_may_be_meant(make_backend, participants) -> None:
    network = three_layers()
    network.find("relu").backend_hint = "second"
    optimized = OptimizedNetwork(
        network, participants(make_backend("First"), make_backend("Second")), OptimizerOptions()
    )
    (row,) = optimized.report.fallbacks
    assert row.reason == (
        "second: is not one of the backends of this runtime; did you mean 'Second'?"
    )


def test_choice_comes_before_hint_and_hint_before_preference(make_backend, participants) -> None:
    network = three_layers()
    network.find("relu").backend_hint = "Third"
    network.find("mul").backend_hint = "Third"
    parties = participants(make_backend("First"), make_backend("Second"), make_backend("Third"))
    options = OptimizerOptions(layer_backends={"mul": "Second"})
    optimized = OptimizedNetwork(network, parties, options)
    assert backends_of(optimized) == {"add": "First", "relu": "Third", "mul": "Second"}
    assert not optimized.report.fallbacks


def test_a_choice_or_hint_that_is_refused_falls_back_with_its_reason(
    make_backend, participants
) -> None:
    network = three_layers()
    network.find("relu").backend_hint = "Gone"
    parties = participants(make_backend("First"), make_backend("Second", {"mul": "not here"}))
    options = OptimizerOptions(layer_backends={"mul": "Second"})
    optimized = OptimizedNetwork(network, parties, options)
    reasons = {row.layer: row.reason for row in optimized.report.fallbacks}
    assert reasons == {
        "relu": "Gone: is not one of the backends of this runtime",
        "mul": "Second: not here",
    }


def test_a_backend_is_not_offered_what_is_younger_than_its_api(
    make_backend, participants, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = _spec._items

    def younger(spec, descriptor, infos):
        yield from items(spec, descriptor, infos)
        if spec.name == "Activation":
            yield _spec.RequiredApi((1, 3), "the field 'a' of Activation")

    monkeypatch.setattr(_spec, "_items", younger)
    old = make_backend("Old", api_version=BackendVersion(1, 2))
    new = make_backend("New", api_version=BackendVersion(1, 3))
    optimized = OptimizedNetwork(three_layers(), participants(old, new), OptimizerOptions())
    (row,) = optimized.report.fallbacks
    assert row.reason == (
        "Old: needs Backend API 1.3 for the field 'a' of Activation, the backend declares 1.2"
    )


def test_a_backend_that_fails_to_answer_is_named(make_backend, participants) -> None:
    def fail(self, layer, model):
        raise ZeroDivisionError("boom")

    parties = participants(make_backend("Broken", supports=fail))
    with pytest.raises(ZeroDivisionError, match=r"boom\nraised by supports .*'add'.*'Broken'"):
        OptimizedNetwork(three_layers(), parties, OptimizerOptions())


def test_a_refusal_without_a_reason_says_so(make_backend, participants) -> None:
    silent = make_backend("Silent", supports=lambda *_: Support(False))
    optimized = OptimizedNetwork(
        three_layers(), participants(silent, make_backend("Second")), OptimizerOptions()
    )
    assert optimized.report.rows[0].reason == "Silent: gave no reason"


def test_a_choice_for_a_layer_that_does_not_exist_is_refused(make_backend, make_runtime) -> None:
    runtime = make_runtime(make_backend("First"))
    with pytest.raises(InvalidArgumentError, match=r"layer 'rellu'.*did you mean 'relu'"):
        runtime.optimize(three_layers(), ["First"], layer_backends={"rellu": "First"})
    with pytest.raises(InvalidArgumentError, match=r"layer 'q'.*armnn inspect lists the layers"):
        runtime.optimize(three_layers(), ["First"], layer_backends={"q": "First"})


def test_constant_layers_are_folded_and_not_assigned(make_backend, participants) -> None:
    network = Network()
    two = network.add_constant(np.full((2, 2), 2, np.float32))
    four = network.add_addition(two, two, name="four")
    network.add_output("y", network.add_multiplication(network.add_input("x", INFO), four))
    optimized = OptimizedNetwork(network, participants(make_backend("First")), OptimizerOptions())
    assert [row.type for row in optimized.report] == ["Multiplication"]
    constants = [layer.data for layer in optimized.network.layers if layer.type == "Constant"]
    assert [data.tolist() for data in constants if data is not None] == [[[4, 4], [4, 4]]]


def test_a_chosen_layer_is_not_folded_away(make_backend, participants) -> None:
    network = Network()
    x = network.add_input("x", TensorInfo((1, 2, 4, 4)))
    ones = np.ones(3, np.float32)
    value = network.add_convolution2d(x, np.ones((3, 2, 1, 1), np.float32), name="conv")
    network.add_output(
        "y", network.add_batch_normalization(value, ones, ones, ones, ones, name="n")
    )
    parties = participants(make_backend("First"), make_backend("Second"))
    folded = OptimizedNetwork(network, parties, OptimizerOptions())
    assert backends_of(folded) == {"conv": "First"}
    kept = OptimizedNetwork(network, parties, OptimizerOptions(layer_backends={"n": "Second"}))
    assert backends_of(kept) == {"conv": "First", "n": "Second"}
