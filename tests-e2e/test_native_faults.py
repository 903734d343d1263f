# SPDX-License-Identifier: MIT
"""Faults in C: mutants of the kit's backend are named."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from armnn import CreationOptions, Network, OptimizerOptions, TensorInfo
from armnn.debugging import CompareOptions, Findings, compare
from armnn_backend_api import get_include
from tools.mutants import check

FLAGS = ("-std=c11", "-O1", "-w", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-z,defs")
MUTANTS = {m.what: m for m in check.read_mutants() if m.source == "mutated.c"}
ALONE = {
    "beta is ignored": "Softmax",
    "NHWC is read as NCHW": "Pooling2d",
    "NHWC is written as NCHW": "Pooling2d",
    "padding is a zero of the maximum": "Pooling2d",
    "padding above and below are swapped": "Pooling2d",
    "Concat forgets its third input": "Concat",
    "the second operand of an Addition is the first": "Addition",
    "a weight matrix is never transposed": "FullyConnected",
    "a bias is forgotten": "FullyConnected",
    "the bounds of BoundedReLu are swapped": "Activation",
}
"""Faults that a layer has when it is alone, and its type."""

TOGETHER = (
    "all scratch is at one offset",
    "neighbors in the arena overlap by one element",
)
"""Faults that only several layers in one compiled part have."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("native")


def compiled(folder: Path, what: str) -> Path:
    """Return a folder with the backend, with a fault or, for "", without."""
    target = folder / str(len(list(folder.iterdir())))
    target.mkdir()
    (target / "mutated.c").write_text(
        MUTANTS[what].applied() if what else check.SOURCES["mutated.c"].read_text()
    )
    library = target / "Acme_MutatedNpu_backend.so"
    command = ["gcc", *FLAGS, f"-I{get_include()}", "-o", str(library), "mutated.c", "-lm"]
    subprocess.run(command, cwd=target, check=True)
    return target


def network() -> Network:
    """Return a network with each of the backend's layer types."""
    rng = np.random.default_rng(5)
    net = Network("native")
    x = net.add_input("x", TensorInfo((1, 5, 6, 3)))
    pooled = net.add_pooling2d(
        net.add_activation(x, function="BoundedReLu", a=1.5, b=-2.0, name="Activation"),
        pool_width=3,
        pool_height=3,
        stride_x=1,
        stride_y=1,
        pad_top=2,
        data_layout="NHWC",
        name="Pooling2d",
    )
    joined = net.add_concat([pooled, pooled, net.add_activation(pooled, function="ReLu")], axis=3)
    flat = net.add_reshape(joined, target_shape=(20, 9), name="Reshape")
    weights = net.add_constant(rng.standard_normal((9, 9)).astype(np.float32))
    bias = net.add_constant(rng.standard_normal(9).astype(np.float32))
    dense = net.add_fully_connected(
        flat, weights, bias, transpose_weight_matrix=True, name="FullyConnected"
    )
    added = net.add_addition(dense, flat, name="Addition")
    net.add_output("y", net.add_softmax(added, beta=0.5, axis=1, name="Softmax"))
    return net


def found(folder: Path, what: str) -> Findings:
    return compare(
        network(),
        ["MutatedNpu"],
        samples=2,
        options=OptimizerOptions(rewrite=False),
        creation_options=CreationOptions(
            dynamic_backends_path=str(compiled(folder, what)), probe="off"
        ),
        thoroughness=CompareOptions(repeats=2),
    )


def test_the_backend_without_fault_is_right(folder: Path) -> None:
    findings = found(folder, "")
    assert findings.agrees
    assert findings.by_layer == ()


@pytest.mark.parametrize("what", ALONE)
def test_a_layer_with_a_fault_in_c_is_named(folder: Path, what: str) -> None:
    findings = found(folder, what)
    assert {finding.types for finding in findings.wrong} == {(ALONE[what],)}


@pytest.mark.parametrize("what", TOGETHER)
def test_layers_that_are_wrong_together_in_c_are_named(folder: Path, what: str) -> None:
    findings = found(folder, what)
    assert findings.wrong
    assert all(len(finding.layers) > 1 for finding in findings.wrong)
    assert findings.unexplained == ()
