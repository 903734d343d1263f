# SPDX-License-Identifier: MIT
from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

import armnn
from armnn import CreationOptions, Network, OptimizerOptions, TensorInfo
from armnn.backends import Step, Workload
from armnn.backends.registry import BackendRegistry
from armnn.errors import BackendError, InvalidArgumentError, UnknownBackendError
from armnn_tools.debugging import (
    CompareOptions,
    ErrorKind,
    Findings,
    bench,
    compare,
    comparing,
)
from fakes import SelectiveBackend
from fakes.faults import (
    FAULTS,
    PAIRS,
    Call,
    Fault,
    FaultyBackend,
    pair_of,
    planted_network,
)

if TYPE_CHECKING:
    from armnn.backends import Backend

AS_BUILT = OptimizerOptions(rewrite=False)
BY_NAME = {fault.name: fault for fault in FAULTS}
QUICK = CompareOptions(repeats=2)


@pytest.fixture(scope="module")
def right() -> Backend:
    return BackendRegistry(CreationOptions()).get("CpuRef")


@contextmanager
def registered(backend: Backend) -> Iterator[None]:
    armnn.register_backend(backend.id, lambda: backend)
    try:
        yield
    finally:
        armnn.unregister_backend(backend.id)


def found_by(network: Network, right: Backend, *faults: Fault, **options: Any) -> Findings:
    with registered(FaultyBackend(right, *faults)):
        options.setdefault("thoroughness", QUICK)
        return compare(network, ["Faulty"], options=AS_BUILT, **options)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_each_planted_fault_is_named_and_nothing_else(fault: Fault, right: Backend) -> None:
    network = planted_network(fault.network, fault.layer)
    how = CompareOptions(repeats=20) if fault.is_flaky else QUICK
    findings = found_by(network, right, fault, thoroughness=how)
    (wrong,) = findings.wrong
    assert wrong.layers[-1] == f"planted {fault.layer}"
    assert len(wrong.layers) == (2 if fault.is_fused else 1)
    assert wrong.is_flaky == fault.is_flaky
    assert findings.reference_runs <= 3
    assert findings.unexplained == ()


@pytest.mark.parametrize("names", PAIRS, ids=" and ".join)
def test_two_faults_at_once_are_both_named(names: tuple[str, str], right: Backend) -> None:
    first, second = (BY_NAME[name] for name in names)
    network = pair_of((first.network, first.layer), (second.network, second.layer))
    findings = found_by(network, right, first, second)
    assert {wrong.layers[0] for wrong in findings.wrong} >= {
        f"planted {first.layer}",
        f"planted {second.layer}",
    }
    assert all(wrong.types[0] in (first.layer, second.layer) for wrong in findings.wrong)


@pytest.mark.parametrize("name", sorted({fault.network for fault in FAULTS}))
def test_a_right_backend_has_no_wrong_layer(name: str, right: Backend) -> None:
    layer = next(fault.layer for fault in FAULTS if fault.network == name)
    thorough = CompareOptions(every_layer=True, repeats=1)
    findings = found_by(planted_network(name, layer), right, thoroughness=thorough)
    assert findings.agrees
    assert findings.by_layer
    assert findings.unexplained == ()
    assert not any(finding.note for finding in findings.by_layer)


def test_a_branch_beside_a_fusion_is_not_named(right: Backend) -> None:
    net = Network("beside")
    x = net.add_input("x", TensorInfo((1, 8)))
    first = net.add_multiplication(x, x, name="square")
    side = net.add_softmax(x, name="beside")
    net.add_output("side", net.add_softmax(side, name="behind"))
    net.add_output("y", net.add_activation(first, function="ReLu", name="wrong"))

    squares: list[bool] = []  # not empty in a compiled part with a square

    def begun(call: Call) -> list[Any]:
        if not call.follows:
            squares[:] = [True] * (call.layer.type == "Multiplication")
        return call.right()

    def halved(call: Call) -> list[Any]:
        return [call.operand("input") * np.float32(0.5)] if squares else call.right()

    faults = [changed("begun", each, begun) for each in ("Multiplication", "Softmax")]
    faults.append(Fault("halved", "", "Activation", halved, is_fused=True))
    (wrong,) = found_by(net, right, *faults).wrong
    assert wrong.layers == ("square", "wrong")


def test_a_flaky_layer_gets_its_rate(right: Backend) -> None:
    fault = BY_NAME["race"]
    network = planted_network(fault.network, fault.layer)
    findings = found_by(network, right, fault, thoroughness=CompareOptions(repeats=20))
    (wrong,) = findings.wrong
    assert (wrong.wrong_runs, wrong.runs) == (3, 60)


class _Unbindable(Workload):
    def bind(self, *_: object) -> Step:
        raise RuntimeError("no such shape")


def test_a_backend_that_does_not_take_the_tensors_has_failed(
    right: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = Network("unbindable")
    x = net.add_input("x", TensorInfo((2,)))
    net.add_output("y", net.add_floor(x, name="floor"))
    backend = FaultyBackend(right)
    monkeypatch.setattr(backend, "create_workload", lambda *_: _Unbindable())
    with registered(backend):
        (wrong,) = compare(net, ["Faulty"], thoroughness=QUICK).wrong
    assert wrong.figures.kind is ErrorKind.FAILURE
    assert wrong.figures.detail == "a backend does not take its tensors: no such shape"


def changed(name: str, layer: str, change: Callable[[Call], list[Any]]) -> Fault:
    return Fault(name, "", layer, change)


def two_steps() -> Network:
    network = Network("steps")
    x = network.add_input("x", TensorInfo((3, 4)))
    value = network.add_activation(x, function="TanH", a=1.0, b=1.0, name="first")
    network.add_output("y", network.add_softmax(value, name="second"))
    return network


def test_a_backend_that_fails_while_it_runs_is_named(right: Backend) -> None:
    def fail(call: Call) -> list[Any]:
        raise BackendError("the device is gone")

    (wrong,) = found_by(two_steps(), right, changed("gone", "Softmax", fail)).wrong
    assert wrong.layers == ("second",)
    assert wrong.figures.kind is ErrorKind.FAILURE
    assert "the device is gone" in wrong.figures.detail
    assert wrong.signature.magnitude is None


def test_findings_are_in_graph_order_and_the_first_wrong_one_is_known(right: Backend) -> None:
    half = changed("half", "Activation", lambda call: [call.right()[0] / 2])
    more = changed("more", "Softmax", lambda call: [call.right()[0] + 1])
    findings = found_by(two_steps(), right, half, more)
    assert [wrong.layers for wrong in findings.wrong] == [("first",), ("second",)]
    assert findings.first is findings.wrong[0]
    assert not findings.agrees


def test_one_layer_is_judged_by_its_worst_sample(right: Backend) -> None:
    above = changed("above", "Activation", lambda call: [np.minimum(call.right()[0], 0.5)])
    samples = [{"x": np.full((3, 4), value, np.float32)} for value in (0.1, 2.0, 0.2)]
    (wrong,) = found_by(two_steps(), right, above, inputs=samples).wrong
    assert wrong.sample == 1
    assert wrong.figures.got == 0.5
    assert wrong.figures.expected == pytest.approx(np.tanh(2.0))


def with_computed_shape() -> Network:
    """Return a network in two segments."""
    network = Network("computed")
    x = network.add_input("x", TensorInfo((None, 4)))
    places = network.add_non_zero(
        network.add_comparison(x, np.zeros((1, 1), np.float32), operation="Greater")
    )
    rows = network.add_transpose(places, dim_mappings=(1, 0))
    picked = network.add_gather_nd(x, rows, name="picked")
    network.add_output("y", network.add_elementwise_unary(picked, operation="Exp", name="late"))
    return network


def test_layers_behind_computed_shapes_are_examined_in_open_networks(right: Backend) -> None:
    sample = {"x": np.float32([[1, -2, 3, 0], [0.5, 0, -1, 2]])}
    wrong = changed("wrong", "ElementwiseUnary", lambda call: [call.right()[0] * 1.001])
    network = with_computed_shape()
    assert [each.layers for each in found_by(network, right, wrong, inputs=[sample]).wrong] == [
        ("late",)
    ]
    assert found_by(network, right, inputs=[sample]).agrees


def test_layers_that_fall_back_to_the_reference_are_not_judged(right: Backend) -> None:
    half = changed("half", "Activation", lambda call: [call.right()[0] / 2])
    inner = FaultyBackend(right, half)
    with registered(SelectiveBackend("Some", {"Softmax": True}, inner=inner)):
        assert compare(two_steps(), ["Some", "CpuRef"], options=AS_BUILT, thoroughness=QUICK).agrees


def test_rounding_that_grows_is_no_wrong_layer(right: Backend) -> None:
    """Subtract close numbers: each layer alone is right."""
    network = Network("grows")
    x = network.add_input("x", TensorInfo((64,)))
    near = network.add_elementwise_unary(x, operation="Exp", name="near")
    value = network.add_subtraction(
        near, network.add_constant(np.exp(np.full(64, 0.5, np.float32)))
    )
    network.add_output("y", value)
    last_place = changed(
        "last place",
        "ElementwiseUnary",
        lambda call: [np.nextafter(call.right()[0], np.float32(9))],
    )
    sample = {"x": np.full(64, 0.5, np.float32) + np.linspace(0, 1e-6, 64).astype(np.float32)}
    findings = found_by(network, right, last_place, inputs=[sample])
    assert findings.agrees
    assert findings.unexplained


def test_as_dict_holds_every_finding(right: Backend) -> None:
    fault = BY_NAME["NaN in one lane"]
    findings = found_by(planted_network(fault.network, fault.layer), right, fault)
    document = json.loads(json.dumps(findings.as_dict()))
    assert document["agrees"] is False
    (wrong,) = [row for row in document["verdicts"] if row["wrong"]]
    assert (wrong["kind"], wrong["layers"]) == ("NaN", ["planted Maximum"])
    assert findings.verdicts is findings.by_layer  # the name of released versions


def test_arguments_are_checked(right: Backend) -> None:
    network = two_steps()
    opened = Network("open")
    opened.add_output("y", opened.add_floor(opened.add_input("x", TensorInfo((None, 2)))))
    with pytest.raises(InvalidArgumentError, match="number of samples is 0, expected 1 or more"):
        compare(network, ["CpuRef"], samples=0)
    with pytest.raises(InvalidArgumentError, match=r"shape \[\?,2\] of the input 'x' is not known"):
        compare(opened, ["CpuRef"])
    with pytest.raises(InvalidArgumentError, match="the inputs are empty: expected one mapping"):
        compare(network, ["CpuRef"], inputs=[])
    with pytest.raises(InvalidArgumentError, match="'x'"):
        compare(network, ["CpuRef"], inputs=[{"y": np.zeros((3, 4), np.float32)}])
    with pytest.raises(InvalidArgumentError, match="the repeats is 0, expected 1 or more"):
        CompareOptions(repeats=0)
    with pytest.raises(UnknownBackendError, match="Nothere"):
        compare(network, ["Nothere"])


def test_a_reference_that_lacks_a_layer_says_so(right: Backend) -> None:
    part = SelectiveBackend("Part", {"Softmax": True}, inner=right)
    message = "the reference 'Part' cannot judge layer 'first'"
    with registered(part), pytest.raises(BackendError, match=message):
        compare(two_steps(), ["CpuRef"], reference="Part")


def test_fast_math_is_judged_with_bfloat16_operands(right: Backend) -> None:
    """The option decides whether the same error is right."""

    def narrowed(call: Call) -> list[Any]:
        names = ("input", "weights")
        rounded = {
            name: call.operand(name).astype(ml_dtypes.bfloat16).astype(np.float32) for name in names
        }
        return call.right(rounded)

    class Fast(FaultyBackend):
        id = "Fast"

    network = planted_network("dense", "FullyConnected")
    with registered(Fast(right, changed("narrow", "FullyConnected", narrowed))):
        chosen = OptimizerOptions(rewrite=False, model_options={"Fast": {"FastMathEnabled": True}})
        assert compare(network, ["Fast"], options=chosen, thoroughness=QUICK).agrees
        (wrong,) = compare(network, ["Fast"], options=AS_BUILT, thoroughness=QUICK).wrong
    assert wrong.layers == ("planted FullyConnected",)


def test_quantized_layers_are_measured_in_steps(right: Backend) -> None:
    fault = BY_NAME["one step up"]
    (wrong,) = found_by(planted_network(fault.network, fault.layer), right, fault).wrong
    assert wrong.figures.unit == "steps"
    assert 1 <= wrong.figures.largest <= 1.5
    assert wrong.signature.magnitude == 0


def test_a_decision_that_rounding_turns_over_is_no_fault_of_a_fusion(right: Backend) -> None:
    """The fusion rounds otherwise and so turns an index over."""
    network = Network("decides")
    x = network.add_input("x", TensorInfo((2, 40)))
    value = network.add_softmax(network.add_activation(x, function="TanH", a=1.0, b=1.0))
    chosen = network.add_arg_min_max(value, function="Max", axis=1, name="chosen")
    made = network.add_cast(chosen, output="Float32", name="made")
    network.add_output("y", network.add_elementwise_unary(made, operation="Exp"))

    def last_place(call: Call) -> list[Any]:
        (made,) = call.right()
        made[:, 1] = np.nextafter(made[:, 1], np.float32(9))
        return [made]

    fault = Fault("last place", "", "Softmax", last_place, is_fused=True)
    sample = {"x": np.ones((2, 40), np.float32)}
    findings = found_by(network, right, fault, inputs=[sample])
    assert findings.agrees
    assert findings.unexplained


def test_the_model_is_closed_before_its_layers_are_examined(
    right: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    closed, examined = bench.LoadedPart.close, comparing.Examiner.layer

    def close(part: bench.LoadedPart) -> None:
        order.append("closed")
        closed(part)

    def layer(examiner: comparing.Examiner, *arguments: Any, **options: Any) -> Any:
        order.append("examined")
        return examined(examiner, *arguments, **options)

    monkeypatch.setattr(bench.LoadedPart, "close", close)
    monkeypatch.setattr(comparing.Examiner, "layer", layer)
    half = changed("half", "Activation", lambda call: [call.right()[0] / 2])
    assert len(found_by(two_steps(), right, half).wrong) == 1
    assert order[:2] == ["closed", "examined"]


def test_a_backend_that_need_not_keep_nan_is_right_in_fusions_too(right: Backend) -> None:
    class Losing(FaultyBackend):
        @property
        def capabilities(self) -> dict[str, bool]:
            return {"PropagatesNaN": False}

    lost = Fault("lost", "", "Softmax", lambda call: [np.nan_to_num(call.right()[0])], True)
    for made, wrong in ((FaultyBackend, 1), (Losing, 0)):
        with registered(made(right, lost)):
            inputs = [{"x": np.full((3, 4), np.nan, np.float32)}]
            findings = compare(
                two_steps(), ["Faulty"], inputs=inputs, options=AS_BUILT, thoroughness=QUICK
            )
        assert len(findings.wrong) == wrong


def test_other_inputs_for_stale_results_take_no_memory() -> None:
    values = np.array([[1, -3, 2], [np.nan, 0, 1]], np.float32)
    infos = {"x": TensorInfo((2, 3)), "i": TensorInfo((2,), armnn.DataType.SIGNED32)}
    inputs = {"x": values, "i": np.array([4, 5], np.int32)}
    backwards = bench.disturbed(infos, inputs)
    np.testing.assert_array_equal(backwards["x"], [[1, 0, np.nan], [2, -3, 1]])
    assert np.shares_memory(backwards["x"], values)
    largest = bench.disturbed(infos, inputs, negated=True)
    np.testing.assert_array_equal(largest["x"], np.full((2, 3), 3))
    assert not any(largest["x"].strides)
    assert backwards["i"] is largest["i"] is inputs["i"]
    quantized = {"x": TensorInfo((2,), armnn.DataType.QASYMM_S8, 1.0, 0)}
    stored = {"x": np.array([-128, 127], np.int8)}
    assert bench.disturbed(quantized, stored, negated=True)["x"].tolist() == [127, 127]
