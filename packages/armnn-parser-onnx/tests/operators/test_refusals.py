# SPDX-License-Identifier: MIT
"""The newer converters' refusals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from armnn.errors import ParseError
from armnn_parser_onnx.parser import parse

Model = Callable[..., onnx.ModelProto]
node = helper.make_node
F = TensorProto.FLOAT

CONSTANTS = {
    "s": np.array(0.5, np.float32),
    "two": np.array(2),
    "zero": np.array(0),
    "many": np.array([1, 2, 3]),
    "box": np.array([4, 4], np.float32),
    "four": np.array([4, 4]),
    "rate": np.array(16000),
    "low": np.array(0.0, np.float32),
    "high": np.array(80000.0, np.float32),
    "true": np.array(True),
}


def grams(**changes: Any) -> onnx.NodeProto:
    attributes: dict[str, Any] = {
        "mode": "TF",
        "min_gram_length": 1,
        "max_gram_length": 1,
        "max_skip_count": 0,
        "ngram_counts": [0],
        "ngram_indexes": [0, 1],
        "pool_int64s": [5, 6],
    }
    attributes |= changes
    given = {key: value for key, value in attributes.items() if value is not None}
    return node("TfIdfVectorizer", ["x"], ["y"], **given)


CASES: Sequence[tuple[onnx.NodeProto, Sequence[Any], str]] = (
    # attention
    (node("Attention", ["x", "x", "s"], ["y"]), [1, 2, 3, 4], r"the ranks \[4, 4, 0\]: expected 3"),
    (node("Attention", ["x", "x", "x"], ["y"]), [1, 2, 8], "number of heads is 0: expected at"),
    (node("Attention", ["x", "x", "x", "s"], ["y"]), [1, 2, 3, 4], "the mask is a scalar"),
    (
        node("Attention", ["x", "x", "x", "", "x"], ["y"]),
        [1, 2, 3, 4],
        "a past key or a past value: expected both or none",
    ),
    (
        node("Attention", ["x", "x", "x", "", "x", "x", "many"], ["y"]),
        [1, 2, 3, 4],
        "a cache and numbers of keys: expected one of them",
    ),
    (
        node("Attention", ["x", "x", "x"], ["y", "", "", "z"], qk_matmul_output_mode=4),
        [1, 2, 3, 4],
        "'qk_matmul_output_mode' is 4: expected 0 to 3",
    ),
    (
        node("Attention", ["x", "x", "x", "x"], ["y"]),
        [1, 2, 3, 4],
        "the mask is for 4 keys: expected at most 3",
    ),
    (
        node("Attention", ["x", "x", "x", "", "", "", "many"], ["y"], right_window_size=1),
        [3, 1, 10000, 2],
        "the mask of 10000 queries and 10000 keys would be too large",
    ),
    (node("RotaryEmbedding", ["x", "s", "s"], ["y"]), [1, 2, 3, 4], "'cos_cache' is a scalar"),
    # spectra
    (node("DFT", ["x"], ["y"]), [1, 8, 3], "has 3 numbers in its last axis and the transform is"),
    (node("DFT", ["x", "", "two"], ["y"]), [1, 8, 2], "along axis 2 of 3: expected 1 or 2"),
    (node("DFT", ["x", "zero"], ["y"]), [1, 8, 2], "the transform is 0: expected at least 1"),
    (node("DFT", ["x"], ["y"]), [1, 9000, 2], "a transform of length 9000 takes too large"),
    (node("STFT", ["x", "two"], ["y"]), [1, 8, 1], "neither a window nor a length of frames"),
    (
        node("STFT", ["x", "many", "", "two"], ["y"]),
        [1, 8, 1],
        "the input 'frame_step' has 3 elements: expected one",
    ),
    (
        node("MelWeightMatrix", ["two", "zero", "rate", "low", "high"], ["y"]),
        [1],
        r"the parameters \[2, 0, 16000, 0.0, 80000.0\] are out of range",
    ),
    (
        node("MelWeightMatrix", ["two", "two", "rate", "low", "high"], ["y"]),
        [1],
        "the upper edge 80000 is above half of the 16000 samples",
    ),
    # places
    (node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2]), [1, 1, 2, 2], "rank 4: expected 3"),
    (
        node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[1, 1], pads=[2, 2, 2, 2]),
        [1, 1, 2, 2],
        r"was pooled from \[1, 1, -2, -2\]: expected no empty axes",
    ),
    (
        node("MaxUnpool", ["x", "i", "four"], ["y"], kernel_shape=[2, 2]),
        [1, 1, 2, 2],
        r"the output shape is \[4, 4\]: expected at least \[1, 1, 3, 3\]",
    ),
    (
        node("MaxPool", ["x"], ["y", "z"], kernel_shape=[64, 64]),
        [1, 1, 4096, 4096],
        "its windows have more than 16777216 places",
    ),
    (
        node("Col2Im", ["x", "four", "many"], ["y"]),
        [1, 4, 4],
        r"the image is \[4, 4\] and the block \[1, 2, 3\]: expected as many",
    ),
    (
        node("Col2Im", ["x", "four", "four"], ["y"]),
        [1, 16, 2],
        r"the input has shape \[1, 16, 2\]: expected \[N, channels \* 16, 1\]",
    ),
    # counts
    (grams(pool_int64s=None, pool_strings=["a", "b"]), [4], "it counts strings"),
    (grams(ngram_indexes=[-1, 0]), [4], "'ngram_indexes' name no counts"),
    (grams(ngram_counts=[0, 3]), [4], r"'ngram_counts' is \[0, 3\]: expected where the sequences"),
    (grams(min_gram_length=2, max_gram_length=2), [4], "too short for every n-gram of its pool"),
    (
        grams(mode="TFIDF", weights=[1.0, 2.0, 3.0]),
        [4],
        "got 3 weights: expected 2, one for each count",
    ),
    (grams(max_skip_count=2**40), [2**30], "it compares more than 16777216 numbers"),
    # convolutions
    (
        node("DeformConv", ["x", "w", "x"], ["y"]),
        [1, 1, 4, 4],
        r"the offsets have shape \[1, 1, 4, 4\]: expected \[1, 8, 3, 3\]",
    ),
    # others
    (node("EyeLike", ["x"], ["y"]), [2, 2, 2], "the input has rank 3: expected 2"),
    (
        node("TensorScatter", ["x", "s"], ["y"]),
        [2, 2, 2],
        r"the updates have shape \[\]: expected that of the input, \[2,2,2\], but for axis 1",
    ),
    (node("Det", ["x"], ["y"]), [2, 3], "expected square matrices in the last two axes"),
    (
        node("BitCast", ["x"], ["y"], to=TensorProto.INT64),
        [2],
        "Signed64 has 64 bits: expected 32, as Float32 has",
    ),
    (
        node("Resize", ["x", "", "", "four"], ["y"], mode="linear", antialias=1),
        [2**22, 1],
        "blends more than|takes 4194304 x 4 weights",
    ),
    (
        node("Resize", ["x", "box", "", "four"], ["y"],
             coordinate_transformation_mode="tf_crop_and_resize"),
        [2, 2],
        r"the input 'roi' is \[4.0, 4.0\]: expected 4 finite numbers",
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("made", "shape", "message"), CASES, ids=lambda value: getattr(value, "op_type", "")
)
def test_the_reason_is_named(
    model: Model, made: onnx.NodeProto, shape: Sequence[Any], message: str
) -> None:
    kind = TensorProto.INT64 if made.op_type == "TfIdfVectorizer" else F
    inputs = {"x": (kind, shape), "i": (TensorProto.INT64, shape), "w": (F, [1, 1, 2, 2])}
    used = {name: CONSTANTS[name] for name in made.input if name in CONSTANTS}
    outputs = [name for name in made.output if name]
    read = {name: what for name, what in inputs.items() if name in made.input}
    wrong = model(made, read, outputs, used, opset=min(26, onnx.defs.onnx_opset_version()))
    with pytest.raises(ParseError, match=message):
        parse(wrong.SerializeToString())
