# SPDX-License-Identifier: MIT
"""Real networks on CpuRef give what onnxruntime gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray
from PIL import Image

import armnn

Float32Array = NDArray[np.float32]

RELATIVE = 1e-4
ABSOLUTE = 1e-5
IMAGENET_MEAN = np.array([0.485, 0.456, 0.406], np.float32)
IMAGENET_STD = np.array([0.229, 0.224, 0.225], np.float32)
# Model name, height and width of its picture.
NETWORKS = [
    ("page_orientation", (224, 224)),
    ("text_direction", (48, 192)),
    ("resnet50", (224, 224)),
]


@dataclass(frozen=True)
class Pair:
    """One model, loaded by us and by onnxruntime."""

    name: str
    picture: tuple[int, int]
    ours: armnn.LoadedNetwork
    oracle: onnxruntime.InferenceSession

    @property
    def has_dynamic_batch(self) -> bool:
        return not isinstance(self.oracle.get_inputs()[0].shape[0], int)

    def check(self, data: Float32Array) -> dict[str, NDArray[np.generic]]:
        """Compare all outputs for one input and return ours."""
        feed = {self.oracle.get_inputs()[0].name: data}
        names = [output.name for output in self.oracle.get_outputs()]
        expected = dict(zip(names, self.oracle.run(names, feed), strict=True))
        actual = self.ours.run(feed)
        assert list(actual) == names
        for name, array in expected.items():
            assert actual[name].dtype == array.dtype
            np.testing.assert_allclose(
                actual[name], array, rtol=RELATIVE, atol=ABSOLUTE, err_msg=name, strict=True
            )
        return actual


@pytest.fixture(scope="module", params=NETWORKS, ids=lambda network: network[0])
def pair(request: pytest.FixtureRequest, model: Callable[[str], Path]) -> Pair:
    name, picture = request.param
    path = model(name)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # resnet50 carries an initializer that nothing uses
    options.intra_op_num_threads = 1
    oracle = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return Pair(name, picture, armnn.load_model(path, backends=["CpuRef"]), oracle)


def normalized(path: Path, size: tuple[int, int]) -> Float32Array:
    """Return a picture normalized for ImageNet classifiers.

    It is a batch of one in NCHW.
    """
    height, width = size
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB").resize((width, height)), np.float32)
    values: Float32Array = (pixels * np.float32(1 / 255) - IMAGENET_MEAN) / IMAGENET_STD
    return values.transpose(2, 0, 1)[np.newaxis]


@pytest.mark.parametrize("seed", range(3))
def test_random_input_gives_what_onnxruntime_gives(pair: Pair, seed: int) -> None:
    random = np.random.default_rng(seed)
    pair.check(random.standard_normal((1, 3, *pair.picture), dtype=np.float32))


def test_a_real_picture_gives_what_onnxruntime_gives(pair: Pair, page: Path) -> None:
    pair.check(normalized(page, pair.picture))


def test_batches_of_different_sizes_agree_where_the_batch_is_dynamic(pair: Pair) -> None:
    random = np.random.default_rng(20)
    for batch in (1, 3, 2) if pair.has_dynamic_batch else (1,):
        pair.check(random.standard_normal((batch, 3, *pair.picture), dtype=np.float32))


def test_every_layer_runs_on_the_backend_that_was_asked_for(pair: Pair) -> None:
    assert {row.backend for row in pair.ours.report} == {"CpuRef"}


@pytest.mark.parametrize(("quarter_turns", "label"), [(0, "90"), (1, "0"), (2, "270"), (3, "180")])
def test_the_page_classifier_knows_which_way_the_page_was_turned(
    model: Callable[[str], Path], page: Path, quarter_turns: int, label: str
) -> None:
    network = armnn.load_model(model("page_orientation"), backends=["CpuRef"])
    labels = network.metadata["character"].split()
    turned_back = np.rot90(normalized(page, (224, 224)), quarter_turns, axes=(2, 3))
    (scores,) = network.run({"x": turned_back}).values()
    assert labels[int(np.argmax(scores))] == label
