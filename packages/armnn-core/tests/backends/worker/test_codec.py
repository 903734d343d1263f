# SPDX-License-Identifier: MIT
"""Networks, answers and errors go through documents unchanged."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
from damaged_documents import damaged

from armnn import Network, TensorInfo, errors
from armnn.backends import OptimizationViews, SubgraphView, Substitution, Support
from armnn.backends.worker import protocol
from armnn.backends.worker.protocol import ProtocolError
from armnn.types import DataLayout, DataType

WEIGHTS = np.arange(6, dtype=np.float32).reshape(2, 3)


def no_program(thing: object) -> Any:
    raise AssertionError(f"{thing!r} is no program of this test")


def sample() -> SubgraphView:
    """Return a view with constants, parameters, two outputs and quantization."""
    network = Network("sample")
    x = network.add_input("x", TensorInfo((2, 3), DataType.QASYMM_U8, 0.5, 3))
    real = network.add_dequantize(x, name="real")
    weights = network.add_constant(WEIGHTS, name="weights")
    total = network.add_addition(real, weights, name="total")
    bounded = network.add_activation(total, function="BoundedReLu", a=6.0, name="bounded")
    network.add_output("y", bounded)
    network.add_output("z", total)
    layers = [network.find(name) for name in ("real", "total", "bounded")]
    return SubgraphView.of(network, layers)


def through_json(document: Any) -> Any:
    return json.loads(json.dumps(document))


def test_a_graph_comes_back_with_everything() -> None:
    view = sample()
    document, arrays = protocol.encoded_graph(view, no_program)
    blocks = [protocol.blob_of(each) for each in arrays]
    found, graph = protocol.decoded_graph(through_json(document), blocks, no_program)
    assert [layer.name for layer in found.layers] == ["real", "total", "bounded"]
    assert [layer.type for layer in found.layers] == [layer.type for layer in view.layers]
    assert [layer.descriptor for layer in found.layers] == [x.descriptor for x in view.layers]
    assert [value.info for value in found.inputs] == [value.info for value in view.inputs]
    assert [value.info for value in found.outputs] == [value.info for value in view.outputs]
    (constant,) = (value.constant for value in found.inputs if value.constant is not None)
    np.testing.assert_array_equal(constant, WEIGHTS)
    assert len(graph) == 3
    assert SubgraphView.of(found.network, found.layers).outputs == found.outputs


def test_views_come_back_on_the_hosts_network() -> None:
    view = sample()
    document, arrays = protocol.encoded_graph(view, no_program)
    there, graph = protocol.decoded_graph(
        document, [protocol.blob_of(a) for a in arrays], no_program
    )
    part = there.part(there.layers[1])
    replacement = part.replacement()
    made = replacement.add_pre_compiled(
        [each.output for each in replacement.inputs],
        num_output_slots=1,
        outputs=[part.outputs[0].info],
        name="compiled",
    )
    made[0].producer.compiled = "a program"
    replacement.add_output("out", made[0])
    views = OptimizationViews(
        substitutions=[Substitution(part, replacement)],
        failed=[there.part(there.layers[0])],
        untouched=[there.part(there.layers[2])],
        reasons={"real": "too hard"},
    )
    encoded, constants = protocol.encoded_views(views, graph, lambda thing: {"is": thing})
    found = protocol.decoded_views(
        through_json(encoded), constants, view, protocol.graph_of(view), lambda row: row["is"]
    )
    assert [p.layers for p in found.failed] == [(view.layers[0],)]
    assert [p.layers for p in found.untouched] == [(view.layers[2],)]
    (substitution,) = found.substitutions
    assert substitution.pattern.layers == (view.layers[1],)
    assert substitution.pattern.outputs == view.part(view.layers[1]).outputs
    (layer,) = [each for each in substitution.replacement.layers if each.type == "PreCompiled"]
    assert (layer.name, layer.compiled) == ("compiled", "a program")
    assert found.reasons == {"real": "too hard"}


@pytest.mark.parametrize(
    "answer", [Support(True), Support.no("why"), Support.no("why", DataLayout.NHWC)]
)
def test_answers_come_back(answer: Support) -> None:
    assert protocol.decoded_support(through_json(protocol.encoded_support(answer))) == answer


@pytest.mark.parametrize(
    "stored",
    [None, [1, "", None], [False, "", None], [True, 5, None], [True, "", 99], [True, "", []]],
)
def test_what_is_no_answer_is_refused(stored: object) -> None:
    with pytest.raises(ProtocolError):
        protocol.decoded_support(stored)


class AcmeError(ValueError):
    """An error that only the worker knows."""


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (ProtocolError("no block 3"), ProtocolError, "no block 3"),
        (type("ProtocolError", (OSError,), {})("of HTTP"), OSError, "ProtocolError: of HTTP"),
        (errors.NotFoundError("no device 'x'"), errors.NotFoundError, "no device 'x'"),
        (ZeroDivisionError("boom"), ZeroDivisionError, "boom"),
        (OSError(19, "No such device"), OSError, "[Errno 19] No such device"),
        (AcmeError("no such gain"), ValueError, "AcmeError: no such gain"),
        (KeyError("x"), LookupError, "KeyError: 'x'"),
        (EOFError("end"), errors.BackendError, "EOFError: end"),
        (ValueError(), ValueError, "ValueError"),
    ],
    ids=repr,
)
def test_errors_keep_their_type_as_far_as_the_host_knows_it(
    error: Exception, kind: type[Exception], text: str
) -> None:
    found = protocol.decoded_error(protocol.encoded_error(error))
    assert (type(found), str(found)) == (kind, text)


def test_what_ends_a_process_is_no_error_of_a_worker() -> None:
    assert type(protocol.decoded_error({"error": "SystemExit", "text": "x"})) is errors.BackendError


def test_damaged_graphs_make_a_graph_or_one_error() -> None:
    document, arrays = protocol.encoded_graph(sample(), no_program)
    blocks = [protocol.blob_of(each) for each in arrays]
    numbers, refused = random.Random(2), 0
    for _ in range(400):
        try:
            protocol.decoded_graph(damaged(document, numbers), blocks, no_program)
        except ProtocolError:
            refused += 1
    assert refused > 100


def test_damaged_views_make_views_or_one_error() -> None:
    view = sample()
    document, arrays = protocol.encoded_graph(view, no_program)
    there, graph = protocol.decoded_graph(
        document, [protocol.blob_of(a) for a in arrays], no_program
    )
    part = there.part(there.layers[1])
    replacement = part.replacement()
    total = replacement.add_addition(*(each.output for each in replacement.inputs))
    replacement.add_output("out", total)
    encoded, _ = protocol.encoded_views(
        OptimizationViews(substitutions=[Substitution(part, replacement)]), graph, no_program
    )
    numbers, refused = random.Random(3), 0
    for _ in range(400):
        made = damaged(encoded, numbers)
        try:
            protocol.decoded_views(made, (), view, protocol.graph_of(view), no_program)
        except ProtocolError:
            refused += 1
    assert refused > 100
