# SPDX-License-Identifier: MIT
"""Small decoders with random weights, with what families of language models have of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from fakes.decoders import GROUPS, HEADS, HIDDEN, Writer

SIZE, WORDS, PLACES, WIDE = 32, 96, 64, 128


@dataclass(frozen=True)
class Family:
    """What the graph of a decoder has, as onnxruntime-genai's model builder writes it.

    Attributes:
        attention: Attributes of GroupQueryAttention.
        bits: Of the weights.
        block_size: How many of them share a scale.
        points: The kind of their zero points: "none", "packed" or "real".
        layer_norm: Whether norms subtract the mean, and add a bias.
        bias: Whether products of queries, keys and values have one.
        packed: Whether these three are one product.
        head_norm: Whether heads of queries and keys are normalized.
        sinks: Whether each head has a logit that nothing is attended by.
        rotary: The share of a head that is turned.
        gelu: Whether the activation is Gelu, of the approximation by tanh.
        parallel: Whether attention and the layers behind it have one input.
        multipliers: Of the embedding, of what is added to the residual, and of the logits.
        logits_cap: The bound of logits, by tanh; 0 for none.
        tied: Whether the embedding is the head.
        positions: Whether there are position_ids.
    """

    attention: dict[str, Any] = field(default_factory=dict)
    bits: int = 4
    block_size: int = 32
    points: str = "none"
    layer_norm: bool = False
    bias: bool = False
    packed: bool = False
    head_norm: bool = False
    sinks: bool = False
    rotary: float = 1.0
    gelu: bool = False
    parallel: bool = False
    multipliers: tuple[float, float, float] = (1.0, 1.0, 1.0)
    logits_cap: float = 0.0
    tied: bool = False
    positions: bool = False


FAMILIES = {
    "llama": Family(packed=True, points="packed"),
    "llama, 8 bits": Family(bits=8, block_size=16, tied=True),
    "qwen2": Family(bias=True, points="packed", block_size=64),
    "qwen3": Family(head_norm=True, tied=True, points="packed", block_size=16),
    "phi": Family(layer_norm=True, bias=True, rotary=0.5, gelu=True, parallel=True, points="real"),
    "phi3": Family(packed=True, attention={"local_window_size": 6}, block_size=128, positions=True),
    "mistral": Family(attention={"local_window_size": 5}, block_size=64, bits=8, points="packed"),
    "gemma": Family(gelu=True, multipliers=(8.0, 1.0, 1.0), tied=True, points="packed"),
    "gemma2": Family(
        gelu=True,
        multipliers=(8.0, 1.0, 1.0),
        attention={"softcap": 2.0, "scale": 0.3, "local_window_size": 7},
        logits_cap=3.0,
    ),
    "granite": Family(multipliers=(12.0, 0.22, 0.125), attention={"scale": 0.1}, block_size=256),
    "olmo2": Family(head_norm=True, points="real", block_size=16),
    "gpt-oss": Family(sinks=True, bias=True, attention={"local_window_size": 8}, points="packed"),
    "chatglm": Family(rotary=0.5, attention={"rotary_interleaved": 1}, bias=True, packed=True),
    "smooth": Family(attention={"smooth_softmax": 1}, bits=2, points="packed"),
}


class _FamilyWriter(Writer):
    """Nodes of the decoder of a family."""

    def __init__(self, family: Family) -> None:
        super().__init__(family.points)
        self.family = family

    def product(self, x: str, name: str, size: int, columns: int, *, bias: bool = False) -> str:
        family = self.family
        bits, blocks = family.bits, -(-size // family.block_size)
        inputs = [
            x,
            self.octets(f"{name}.q", columns, blocks, family.block_size * bits // 8),
            self.uniform(f"{name}.s", 0.2 / 2**bits, 0.8 / 2**bits, columns, blocks),
            "",
            "",
            "",
        ]
        middle = 1 << bits - 1
        if self.points == "packed":
            inputs[3] = self.octets(f"{name}.z", columns, -(-blocks * bits // 8))
        elif self.points == "real":
            inputs[3] = self.uniform(f"{name}.z", 0.8 * middle, 1.2 * middle, columns, blocks)
        if bias:
            inputs[5] = self.uniform(f"{name}.b", -0.5, 0.5, columns)
        form = {"K": size, "N": columns, "block_size": family.block_size, "bits": bits}
        while not inputs[-1]:
            inputs.pop()
        return self.microsoft("MatMulNBits", inputs, name, **form)

    def times(self, x: str, factor: float, name: str) -> str:
        if factor == 1:
            return x
        return self.add(
            "Mul", [x, self.hold(f"{name}.factor", np.array([factor], np.float32))], name
        )

    def normalized(self, x: str, name: str) -> str:
        given = [x, self.norm(f"{name}.w")]
        if self.family.layer_norm:
            given.append(self.uniform(f"{name}.shift", -0.2, 0.2, HIDDEN))
            return self.add("LayerNormalization", given, name, epsilon=1e-5, axis=-1)
        return self.add("SimplifiedLayerNormalization", given, name, epsilon=1e-5, axis=-1)

    def heads(self, x: str, name: str, count: int) -> str:
        """Normalize the heads of queries or keys."""
        if not self.family.head_norm:
            return x
        split = self.hold(f"{name}.split", np.array([0, 0, -1, SIZE]))
        joined = self.hold(f"{name}.join", np.array([0, 0, count * SIZE]))
        weight = self.uniform(f"{name}.norm", 0.5, 1.5, SIZE)
        parts = self.add("Reshape", [x, split], f"{name}.heads")
        norm = "SimplifiedLayerNormalization"
        made = self.add(norm, [parts, weight], f"{name}.normed", epsilon=1e-6, axis=-1)
        return self.add("Reshape", [made, joined], f"{name}.joined")


def family_decoder(family: Family) -> bytes:
    """Return a decoder of two layers, whose weights are random."""
    w = _FamilyWriter(family)
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", length])
        for name, length in (("input_ids", "new"), ("attention_mask", "total"))
    ]
    if family.positions:
        shape: list[str | int] = ["batch", "new"]
        inputs.append(helper.make_tensor_value_info("position_ids", TensorProto.INT64, shape))
    if family.tied:
        w.product("normalized", "head", HIDDEN, WORDS)
        head = w.nodes.pop()
        rows = w.hold("rows", np.array([WORDS, HIDDEN * family.bits // 8]))
        table = w.add("Reshape", [head.input[1], rows], "table")
        form = {"bits": family.bits, "block_size": family.block_size, "quantize_axis": 1}
        given = [table, "input_ids", *head.input[2:4]]
        embedded = w.microsoft("GatherBlockQuantized", given, "found", **form)
    else:
        table = w.uniform("table", -1, 1, WORDS, HIDDEN)
        embedded = w.add("Gather", [table, "input_ids"], "found")
    w.add("ReduceSum", ["attention_mask", w.hold("axis", np.array([1]))], "sum", keepdims=0)
    w.add("Sub", ["sum", w.hold("one", np.array(1))], "last")
    w.add("Cast", ["last"], "seqlens_k", to=TensorProto.INT32)
    w.add("Shape", ["attention_mask"], "shape")
    w.add("Gather", ["shape", "one"], "total_64")
    w.add("Cast", ["total_64"], "total_length", to=TensorProto.INT32)
    turned = int(SIZE * family.rotary)
    angles = np.arange(PLACES)[:, None] * 100.0 ** (-np.arange(0, turned, 2) / turned)
    w.hold("cos", np.cos(angles).astype(np.float32))
    w.hold("sin", np.sin(angles).astype(np.float32))
    residual = w.times(embedded, family.multipliers[0], "embedded")
    outputs = ["logits"]
    for i in range(2):
        past = [f"past_key_values.{i}.{part}" for part in ("key", "value")]
        present = [f"present.{i}.{part}" for part in ("key", "value")]
        shape = ["batch", GROUPS, "past", SIZE]
        inputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in past]
        outputs += present
        x = w.normalized(residual, f"x{i}")
        if family.packed:
            columns = (HEADS + 2 * GROUPS) * SIZE
            parts = [w.product(x, f"qkv{i}", HIDDEN, columns, bias=family.bias), "", ""]
        else:
            parts = [
                w.product(x, f"{part}{i}", HIDDEN, count * SIZE, bias=family.bias)
                for part, count in (("q", HEADS), ("k", GROUPS), ("v", GROUPS))
            ]
            parts[0] = w.heads(parts[0], f"q{i}", HEADS)
            parts[1] = w.heads(parts[1], f"k{i}", GROUPS)
        given = [*parts, *past, "seqlens_k", "total_length", "cos", "sin"]
        if family.positions or family.sinks:
            given += ["position_ids" if family.positions else "", ""]
        if family.sinks:
            given.append(w.uniform(f"sinks{i}", -1, 2, HEADS))
        kept = {"num_heads": HEADS, "kv_num_heads": GROUPS, "do_rotary": 1, **family.attention}
        attended = w.microsoft("GroupQueryAttention", given, f"a{i}", *present, **kept)
        made = w.product(attended, f"o{i}", HEADS * SIZE, HIDDEN)
        made = w.times(made, family.multipliers[1], f"o{i}.scaled")
        residual = w.add("Add", [residual, made], f"r{i}")
        y = x if family.parallel else w.normalized(residual, f"y{i}")
        gate, up = w.product(y, f"g{i}", HIDDEN, WIDE), w.product(y, f"u{i}", HIDDEN, WIDE)
        if family.gelu:
            active = w.microsoft("FastGelu", [gate], f"active{i}")
        else:
            active = w.add("Mul", [gate, w.add("Sigmoid", [gate], f"sg{i}")], f"active{i}")
        down = w.product(w.add("Mul", [active, up], f"gu{i}"), f"d{i}", WIDE, HIDDEN)
        down = w.times(down, family.multipliers[1], f"d{i}.scaled")
        residual = w.add("Add", [residual, down], f"t{i}")
    w.normalized(residual, "normalized")
    if family.tied:
        head.output[0] = "raw"
        w.nodes.append(head)
        logits = "raw"
    else:
        logits = w.product("normalized", "raw", HIDDEN, WORDS)
    logits = w.times(logits, family.multipliers[2], "scaled")
    if family.logits_cap:
        cap = w.hold("cap", np.array([family.logits_cap], np.float32))
        logits = w.add(
            "Mul", [w.add("Tanh", [w.add("Div", [logits, cap], "small")], "t"), cap], "c"
        )
    w.add("Identity", [logits], "logits")
    return w.model(inputs, outputs)
