# SPDX-License-Identifier: MIT
"""Small decoders with random weights, as exporters write them, and folders of language models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

Array = NDArray[Any]

LAYERS, HIDDEN, HEADS, GROUPS, SIZE, BLOCK = 2, 64, 4, 2, 16, 32
CONTEXT = 384
"""How many tokens the models of folders take; more than a cache has at first."""

TEMPLATE = (
    "{% for message in messages %}<|begin|>{{ message['role'] }}\n{{ message['content'] }}<|end|>"
    "{% endfor %}{% if add_generation_prompt %}<|begin|>assistant\n{% endif %}"
)
"""A chat template like those of public models."""


class Writer:
    """Nodes and initializers of a decoder with random weights."""

    def __init__(self, points: str = "none") -> None:
        self.nodes: list[NodeProto] = []
        self.held: list[TensorProto] = []
        self.points = points
        self.random = np.random.default_rng(11)

    def hold(self, name: str, data: Array) -> str:
        self.held.append(numpy_helper.from_array(data, name))
        return name

    def add(
        self, op_type: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: Any
    ) -> str:
        node = helper.make_node(op_type, inputs, list(outputs), domain=domain, **attributes)
        self.nodes.append(node)
        return outputs[0]

    def microsoft(self, op_type: str, inputs: list[str], *outputs: str, **attributes: Any) -> str:
        return self.add(op_type, inputs, *outputs, domain="com.microsoft", **attributes)

    def product(self, x: str, name: str, size: int, columns: int) -> str:
        blocks = size // BLOCK
        inputs = [
            x,
            self.octets(f"{name}.q", columns, blocks, BLOCK // 2),
            self.uniform(f"{name}.s", 0.01, 0.05, columns, blocks),
        ]
        if self.points == "packed":
            inputs.append(self.octets(f"{name}.z", columns, -(-blocks // 2)))
        elif self.points == "real":
            inputs.append(self.uniform(f"{name}.z", 6, 9, columns, blocks))
        sizes = {"K": size, "N": columns, "block_size": BLOCK, "bits": 4}
        return self.microsoft("MatMulNBits", inputs, name, **sizes)

    def norm(self, name: str) -> str:
        return self.uniform(name, 0.5, 1.5, HIDDEN)

    def octets(self, name: str, *shape: int) -> str:
        return self.hold(name, self.random.integers(0, 256, shape, np.uint8))

    def uniform(self, name: str, least: float, most: float, *shape: int) -> str:
        return self.hold(name, self.random.uniform(least, most, shape).astype(np.float32))

    def model(self, inputs: list[ValueInfoProto], outputs: list[str], opset: int = 21) -> bytes:
        shapes: dict[str, list[str | None]] = {"logits": ["batch", "new", None]}
        results = [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, shapes.get(n)) for n in outputs
        ]
        graph = helper.make_graph(self.nodes, "decoder", inputs, results, self.held)
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        content: bytes = model.SerializeToString()
        return content


def decoder(points: str, told: str = "mask", words: int = 96, places: int = 32) -> bytes:
    """Return a decoder of two layers, in the layout of onnxruntime-genai's model builder.

    Args:
        points: The kind of its zero points: "none", "packed" or "real".
        told: How it is told which rows are new: by a mask, by places beside it, or by numbers.
        words: The size of its vocabulary.
        places: How many positions its rotations are known for.
    """
    w = Writer(points)
    ids, mask = (
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", length])
        for name, length in (("input_ids", "new"), ("attention_mask", "total"))
    )
    inputs, outputs = [ids, mask], ["logits"]
    if told == "numbers":
        inputs[1:] = [
            helper.make_tensor_value_info("seqlens_k", TensorProto.INT32, ["batch"]),
            helper.make_tensor_value_info("total_length", TensorProto.INT32, []),
        ]
    elif told == "places":
        shape: list[str | int] = ["batch", "new"]
        inputs.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, shape))
    table, scales = w.octets("table", words, HIDDEN // 2), ("table.s", 0.02, 0.1, words)
    held = [table, "input_ids", w.uniform(*scales, HIDDEN // BLOCK)]
    skip = w.microsoft("GatherBlockQuantized", held, "embedded", block_size=BLOCK)
    if told != "numbers":
        w.add("ReduceSum", ["attention_mask", w.hold("axis", np.array([1]))], "sum", keepdims=0)
        w.add("Sub", ["sum", w.hold("one", np.array(1))], "last")
        w.add("Cast", ["last"], "seqlens_k", to=TensorProto.INT32)
        w.add("Shape", ["attention_mask"], "shape")
        w.add("Gather", ["shape", w.hold("second", np.array(1))], "total_64")
        w.add("Cast", ["total_64"], "total_length", to=TensorProto.INT32)
    angles = np.arange(places)[:, None] * 100.0 ** (-np.arange(0, SIZE, 2) / SIZE)
    w.hold("cos", np.cos(angles).astype(np.float32))
    w.hold("sin", np.sin(angles).astype(np.float32))
    x = w.add("SimplifiedLayerNormalization", [skip, w.norm("n")], "x", epsilon=1e-5, axis=-1)
    for i in range(LAYERS):
        past = [f"past_key_values.{i}.{part}" for part in ("key", "value")]
        present = [f"present.{i}.{part}" for part in ("key", "value")]
        shape = ["batch", GROUPS, "past", "kv_cache_dim"]  # which the builder leaves open
        inputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in past]
        outputs += present
        packed = w.product(x, f"qkv{i}", HIDDEN, (HEADS + 2 * GROUPS) * SIZE)
        given = [packed, "", "", *past, "seqlens_k", "total_length", "cos", "sin"]
        given += ["position_ids"] * (told == "places")
        heads = {"num_heads": HEADS, "kv_num_heads": GROUPS, "do_rotary": 1}
        attended = w.microsoft("GroupQueryAttention", given, f"a{i}", *present, **heads)
        mixed = w.product(attended, f"o{i}", HEADS * SIZE, HIDDEN)
        given = [mixed, skip, w.norm(f"n{i}")]
        norm = "SkipSimplifiedLayerNormalization"
        x = w.microsoft(norm, given, f"y{i}", "", "", f"s{i}", epsilon=1e-5)
        gate, up = w.product(x, f"g{i}", HIDDEN, 128), w.product(x, f"u{i}", HIDDEN, 128)
        w.add("Sigmoid", [gate], f"sg{i}")
        w.add("Mul", [gate, f"sg{i}"], f"silu{i}")
        down = w.product(w.add("Mul", [f"silu{i}", up], f"gu{i}"), f"d{i}", 128, HIDDEN)
        given = [down, f"s{i}", w.norm(f"m{i}")]
        x = w.microsoft(norm, given, f"x{i}", "", "", f"t{i}", epsilon=1e-5)
        skip = f"t{i}"
    # The names of products are those of their outputs.
    w.add("Identity", [w.product(x, "head", HIDDEN, words)], "logits")
    return w.model(inputs, outputs)


def plain_decoder(words: int, places: int) -> bytes:
    """Return a decoder of one layer as plain exports have it: its caches get longer by Concat."""
    w = Writer()
    kinds = {"input_ids": ["batch", "new"], "attention_mask": ["batch", "total"]}
    kinds["position_ids"] = ["batch", "new"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name, shape in kinds.items()
    ]
    tables = [
        w.add("Gather", [w.uniform(name, -1, 1, rows, HIDDEN), ids], f"{name}.rows")
        for name, rows, ids in (("words", words, "input_ids"), ("places", places, "position_ids"))
    ]
    x = w.add("Add", tables, "x")
    w.hold("split", np.array([0, 0, HEADS, SIZE]))
    heads = {}
    for part in ("query", "key", "value"):
        made = w.add("MatMul", [x, w.uniform(f"{part}.w", -0.3, 0.3, HIDDEN, HIDDEN)], part)
        made = w.add("Reshape", [made, "split"], f"{part}.split")
        heads[part] = w.add("Transpose", [made], f"{part}.heads", perm=[0, 2, 1, 3])
    for part in ("key", "value"):
        past, present = f"past_key_values.0.{part}", f"present.0.{part}"
        shape: list[str | int] = ["batch", HEADS, "past", SIZE]
        inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, shape))
        heads[part] = w.add("Concat", [past, heads[part]], present, axis=2)
    turned = w.add("Transpose", [heads["key"]], "turned", perm=[0, 1, 3, 2])
    scores = w.add("MatMul", [heads["query"], turned], "scores")
    # A token sees those at its place and before, where the mask has them.
    w.add("Shape", ["attention_mask"], "sizes")
    w.add("Gather", ["sizes", w.hold("1", np.array(1))], "total.size")
    at = w.add("Range", [w.hold("zero", np.array(0)), "total.size", "1"], "at")
    rows = w.add("Unsqueeze", ["position_ids", w.hold("axes", np.array([1, 3]))], "rows")
    w.add("LessOrEqual", [at, rows], "before")
    w.add("Cast", ["attention_mask"], "there", to=TensorProto.BOOL)
    w.add("Unsqueeze", ["there", w.hold("axes2", np.array([1, 2]))], "there.row")
    w.add("And", ["before", "there.row"], "seen")
    w.add("Where", ["seen", scores, w.hold("never", np.array(-1e9, np.float32))], "masked")
    w.add("Softmax", ["masked"], "weights", axis=-1)
    mixed = w.add("MatMul", ["weights", heads["value"]], "mixed")
    mixed = w.add("Transpose", [mixed], "mixed.rows", perm=[0, 2, 1, 3])
    mixed = w.add("Reshape", [mixed, w.hold("joined", np.array([0, 0, HIDDEN]))], "joined.rows")
    y = w.add("Add", [x, mixed], "y")
    w.add("MatMul", [y, w.uniform("head", -0.3, 0.3, HIDDEN, words)], "logits")
    return w.model(inputs, ["logits", "present.0.key", "present.0.value"])


def write_tokenizer(folder: Path) -> int:
    """Write a tokenizer of bytes, some pairs of them and two marks; return how many words it has.

    The marks are ``<|begin|>`` and ``<|end|>``.
    """
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [("t", "h"), ("e", "r"), ("\u0120", "a"), ("Ã", "©")]
    vocabulary = {word: at for at, word in enumerate([*letters, *map("".join, pairs)])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    marks = [AddedToken(each, special=True) for each in ("<|begin|>", "<|end|>")]
    made.add_special_tokens(marks)
    made.save(str(folder / "tokenizer.json"))
    special = {"bos_token": "<|begin|>", "eos_token": "<|end|>"}
    special["tokenizer_class"] = "PreTrainedTokenizerFast"
    (folder / "tokenizer_config.json").write_text(
        json.dumps({**special, "chat_template": TEMPLATE})
    )
    size: int = made.get_vocab_size()
    return size


def genai_config(words: int, **changes: Any) -> dict[str, Any]:
    """Return a configuration of onnxruntime-genai's for :func:`decoder`; changes are of its model.

    The last word ends a text.
    """
    decoder = {
        "filename": "model.onnx",
        "head_size": SIZE,
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": GROUPS,
        "session_options": {"log_id": "onnxruntime-genai", "provider_options": []},
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
    }
    tokens = {"bos_token_id": words - 2, "eos_token_id": [words - 1], "pad_token_id": words - 1}
    model = {"type": "llama", "vocab_size": words, "context_length": CONTEXT, "decoder": decoder}
    search = {"do_sample": False, "max_length": CONTEXT, "past_present_share_buffer": True}
    return {"model": {**model, **tokens, **changes}, "search": search}


def write_genai_folder(folder: Path, points: str = "packed") -> Path:
    """Write a language model as onnxruntime-genai's builder does; return its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    words = write_tokenizer(folder)
    (folder / "model.onnx").write_bytes(decoder(points, "mask", words, CONTEXT))
    (folder / "genai_config.json").write_text(json.dumps(genai_config(words)))
    return folder


def write_hugging_face_folder(
    folder: Path, make: Callable[[int], bytes] = lambda words: plain_decoder(words, CONTEXT)
) -> Path:
    """Write a language model as exports of Hugging Face's are; return its folder.

    Args:
        folder: Where.
        make: Makes the model for a number of words.
    """
    (folder / "onnx").mkdir(parents=True, exist_ok=True)
    words = write_tokenizer(folder)
    (folder / "onnx" / "model.onnx").write_bytes(make(words))
    config = {"max_position_embeddings": CONTEXT, "eos_token_id": 0, "vocab_size": words}
    (folder / "config.json").write_text(json.dumps(config))
    generation = {"eos_token_id": words - 1, "temperature": 0.7, "top_k": 20, "max_new_tokens": 9}
    (folder / "generation_config.json").write_text(json.dumps(generation))
    return folder
