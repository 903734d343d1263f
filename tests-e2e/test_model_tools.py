# SPDX-License-Identifier: MIT
"""The models session's verdicts follow from its figures."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import armnn
from tools.models import agreement, catalog, peers
from tools.models import generate_models_page as pages


def distance(ours: object, theirs: object, step: float | None = None) -> SimpleNamespace:
    """Return the distance of one output of one run."""
    arrays = ([[np.asarray(array)]] for array in (ours, theirs))
    found: SimpleNamespace = agreement.distance(*arrays, [step])
    return found


def test_a_real_output_is_compared_with_its_range() -> None:
    found = distance([1.0, 3.0, 5.004], [1.0, 3.0, 5.0])
    assert found.largest == pytest.approx(0.001)
    assert found.mean == pytest.approx(0.001 / 3)


def test_one_number_is_compared_with_its_size() -> None:
    assert distance([100.1], [100.0]).largest == pytest.approx(0.001)


def test_a_quantized_output_is_compared_in_steps() -> None:
    found = distance(np.array([1, 2, 3, 7], np.int8), np.array([1, 3, 3, 4], np.int8), 1.0)
    assert (found.largest, found.mean, found.within) == (3.0, 1.0, 0.75)


def test_a_dequantized_output_is_compared_in_steps() -> None:
    found = distance(np.float32([0.5, 0.25]), np.float32([0.25, 0.25]), 0.125)
    assert (found.largest, found.within) == (2.0, 0.5)


def test_another_choice_is_noticed_and_a_tie_is_none() -> None:
    assert not distance([1.0, 2.0], [2.0, 1.0]).same_choice
    assert distance([1.0, 2.0], [2.0, 2.0]).same_choice


def test_an_output_without_elements_agrees() -> None:
    found = distance(np.zeros((0, 2)), np.zeros((0, 2)))
    assert (found.largest, found.within, found.same_choice) == (0.0, 1.0, True)


@pytest.mark.parametrize("other", [np.zeros(3, np.float32), np.zeros((2, 1)), np.zeros(1)])
def test_an_output_of_another_shape_or_type_is_refused(other: object) -> None:
    with pytest.raises(ValueError, match="expected float64"):
        distance(other, np.zeros(2)) if np.shape(other) != (3,) else distance(other, np.zeros(3))


def test_an_output_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="not finite where"):
        distance([np.nan, 1.0], [0.0, 1.0])
    assert distance([np.nan, 1.0], [np.nan, 1.0]).largest == 0.0


def judged(ours: SimpleNamespace, *, in_steps: bool, **others: SimpleNamespace) -> str:
    said: str = agreement.verdict(ours, others, in_steps=in_steps)
    return said


def test_the_verdict_on_real_outputs_needs_the_same_choice() -> None:
    near = agreement.Distance(0.001, 0.0, 1.0, True)
    assert judged(near, in_steps=False) == "within 0.001 of the range"
    assert judged(agreement.Distance(0.001, 0.0, 1.0, False), in_steps=False) == ""
    assert judged(agreement.Distance(0.0011, 0.0, 1.0, True), in_steps=False) == ""


def test_the_verdict_on_quantized_outputs_looks_at_the_yardsticks_last() -> None:
    far = agreement.Distance(9.0, 2.0, 0.9, False)
    assert judged(agreement.Distance(9.0, 1.0, 0.995, True), in_steps=True) == "within one step"
    assert judged(far, in_steps=True) == ""
    assert judged(far, in_steps=True, near=agreement.Distance(8.0, 2.0, 1.0, True)) == ""
    assert judged(far, in_steps=True, far=far) == "no further than far"


def test_the_verdict_on_quantized_onnx_models_may_look_at_the_mean() -> None:
    near = agreement.Distance(2.0, 0.5, 0.9, True)
    assert agreement.verdict(near, {}, in_steps=True) == ""
    said = agreement.verdict(near, {}, in_steps=True, on_average=True)
    assert said == "within half a step on average"
    small = agreement.Distance(0.02, 0.001, 0.9, True)
    said = agreement.verdict(small, {}, in_steps=False, on_average=True)
    assert said == "within 0.001 on average"
    far = agreement.Distance(0.02, 0.0011, 0.9, True)
    assert agreement.verdict(far, {}, in_steps=False, on_average=True) == ""


def test_the_step_of_an_output_is_that_of_what_is_dequantized_at_the_end() -> None:
    network = armnn.Network()
    info = armnn.TensorInfo((2,), armnn.DataType.QASYMM_S8, 0.25, 3)
    value = network.add_input("x", info)
    network.add_output("y", network.add_dequantize(value))
    assert agreement.output_steps(network) == [0.25]
    network.add_output("z", value)
    assert agreement.output_steps(network) == [0.25, 1.0]
    real = network.add_input("r", armnn.TensorInfo((2,), armnn.DataType.FLOAT32))
    network.add_output("s", real)
    assert agreement.output_steps(network) == [None, None, None]


def write_catalog(folder: Path, models: str) -> Path:
    path = folder / "models.toml"
    path.write_text('[packages.toy]\nversion = "1"\nlicense = "MIT"\n' + models)
    return path


def test_a_model_made_of_another_comes_from_its_package(tmp_path: Path) -> None:
    models = '[models.a]\npackage = "toy"\nmember = "a.onnx"\nsha256 = "0"\n'
    models += '[models.b]\nsource = "a"\nrecipe = "r"\ninputs."*" = { low = -1, high = 1 }\n'
    made = catalog.read_catalog(write_catalog(tmp_path, models))["b"]
    assert (made.package.name, made.member, made.suffix) == ("toy", "a.onnx", ".onnx")
    assert made.feed("any") == catalog.Feed(low=-1, high=1)


@pytest.mark.parametrize(
    ("models", "error"),
    [
        ('[models.a]\npackage = "other"\nmember = "a"\nsha256 = "0"\n', KeyError),
        ('[models.a]\nsource = "none"\n', KeyError),
        ('[models.a]\npackage = "toy"\nmember = "a"\nsha256 = "0"\nsize = 3\n', TypeError),
    ],
)
def test_a_catalog_with_a_mistake_is_refused(
    tmp_path: Path, models: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        catalog.read_catalog(write_catalog(tmp_path, models))


def test_feeds_are_what_the_catalog_says_and_the_same_every_time(tmp_path: Path) -> None:
    models = '[models.a]\npackage = "toy"\nmember = "a"\nsha256 = "0"\n'
    models += "inputs.x = { shape = [50], low = -3, high = 2 }\n"
    models += "inputs.n = { shape = [], value = 7 }\ninputs.i = { low = 2, high = 4 }\n"
    model = catalog.read_catalog(write_catalog(tmp_path, models))["a"]
    infos = {
        "x": armnn.TensorInfo((None,), armnn.DataType.FLOAT32),
        "n": armnn.TensorInfo((), armnn.DataType.SIGNED64),
        "i": armnn.TensorInfo((None, 60), armnn.DataType.SIGNED32),
    }
    first, second = peers.make_feeds(model, infos, 2)
    assert first["x"].shape == (50,)
    assert -3 <= first["x"].min() < -1
    assert 1 < first["x"].max() <= 2
    assert first["n"] == 7
    assert first["i"].shape == (1, 60)
    assert set(first["i"].reshape(-1).tolist()) == {2, 3}
    assert not np.array_equal(first["x"], second["x"])
    again, _ = peers.make_feeds(model, infos, 2)
    assert all(np.array_equal(first[name], again[name]) for name in infos)


def test_the_page_is_up_to_date() -> None:
    assert pages.PAGE.read_text(encoding="utf-8") == pages.page()


def test_records_of_other_models_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = tmp_path / "models.json"
    records.write_text(json.dumps({"versions": {}, "models": {"toy": {}}}))
    monkeypatch.setattr(pages, "RECORDS", records)
    with pytest.raises(ValueError, match=r"has other models than the catalog.*'toy'"):
        pages.page()
