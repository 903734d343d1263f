# SPDX-License-Identifier: MIT
"""Small decoders with random weights as plain exports write them: caches get longer by Concat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper

from fakes.decoders import GROUPS, HEADS, HIDDEN, Writer

SIZE, WORDS, PLACES = 16, 96, 64
LEAST = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class Export:
    """How an exporter writes what is not the same in all of them.

    Attributes:
        mask: "boolean", as for scaled dot product attention; "added", as transformers' eager mode
            has it; "table", a part of a constant; "layer", for the operator Attention.
        places: The places of tokens: "given" as an input, from the length of the caches ("range"),
            from the sum of the mask ("counted"); "cut" are given places in a table that is cut to
            the number of all tokens.
        window: How many tokens a query sees; 0 for all.
        softcap: The bound of scores, 0 for none.
        bias: Whether scores get less with the distance of a key.
        looks_back: Whether the first query of a call sees all tokens of the call.
        tells: Whether the number of tokens is among what is computed.
        chunk: How many tokens see each other only; 0 for all.
        faint: What gets another factor after 50 tokens: "scores", "weights", "keys", "values".
        least: The least score of a key that is seen; 0 for none.
        far: After how many tokens places have other angles; 0 for never.
        pads: Whether the mask of tokens is read.
    """

    mask: str = "boolean"
    places: str = "given"
    window: int = 0
    softcap: float = 0.0
    bias: bool = False
    looks_back: bool = False
    tells: bool = False
    chunk: int = 0
    faint: str = ""
    least: float = 0.0
    far: int = 0
    pads: bool = True


EXPORTS = {
    "scaled dot product": Export(),
    "window, softcap": Export(places="range", window=20, softcap=3.0),
    "eager": Export("added", "cut"),
    "counted places": Export("added", "counted"),
    "table": Export("table", "given"),
    "local table": Export("table", "range", window=20),
    "Attention": Export("layer"),
}

OTHERS = {
    "bias": Export("added", bias=True),
    "both directions": Export("boolean", looks_back=True),
    "length": Export("boolean", tells=True),
    "chunks": Export("boolean", chunk=40),
    "angles by length": Export("boolean", far=50),
    "factor of scores": Export("boolean", faint="scores"),
    "factor of weights": Export("boolean", faint="weights"),
    "factor of keys": Export("boolean", faint="keys"),
    "factor of values": Export("boolean", faint="values"),
    "least score": Export("boolean", least=-40.0),
    "mask of others": Export("boolean", pads=False),
}
"""Those that keep their caches as they are."""


class _ExportWriter(Writer):
    """Nodes of an export."""

    def __init__(self, export: Export) -> None:
        super().__init__()
        self.export = export

    def number(self, name: str, value: int | list[int]) -> str:
        return self.hold(name, np.array(value))

    def weight(self, x: str, name: str, rows: int, columns: int) -> str:
        return self.add("MatMul", [x, self.uniform(f"{name}.w", -0.4, 0.4, rows, columns)], name)

    def lengths(self) -> None:
        """Compute the numbers of earlier tokens, of new ones and of all from shapes."""
        for name, source, axis in (
            ("old", "past_key_values.0.key", 2),
            ("new", "input_ids", 1),
            ("items", "input_ids", 0),
        ):
            self.add("Shape", [source], f"{name}.shape")
            self.add("Gather", [f"{name}.shape", self.number(f"{name}.axis", axis)], name)
        self.add("Add", ["old", "new"], "all")
        for name, value in (("zero", 0), ("one", 1), ("last", -1), ("two", 2), ("three", 3)):
            self.number(name, value)
            self.number(f"{name}.axis_", [value])
        self.add("Range", ["old", "all", "one"], "queries")
        self.add("Range", ["zero", "all", "one"], "keys")
        for name in ("old", "new", "items", "all"):
            self.add("Unsqueeze", [name, "zero.axis_"], f"{name}.list")

    def seen(self) -> str:
        """Compute which keys a query sees: [items, 1, new, all]."""
        self.add("Reshape", ["queries", self.number("column", [1, 1, -1, 1])], "queries.column")
        self.add("LessOrEqual", ["keys", "queries.column"], "causal")
        seen = "causal"
        if self.export.looks_back:
            self.add("Equal", ["queries.column", "old"], "is_first")
            seen = self.add("Or", [seen, "is_first"], "both")
        if self.export.window:
            self.add("Sub", ["queries.column", self.number("window", self.export.window)], "far")
            self.add("Greater", ["keys", "far"], "near")
            seen = self.add("And", [seen, "near"], "in_window")
        if self.export.chunk:
            chunk = self.number("chunk", self.export.chunk)
            self.add("Div", ["keys", chunk], "keys.chunk")
            self.add("Div", ["queries.column", chunk], "queries.chunk")
            self.add("Equal", ["keys.chunk", "queries.chunk"], "together")
            seen = self.add("And", [seen, "together"], "in_chunk")
        if not self.export.pads:
            return seen
        self.add("Cast", ["attention_mask"], "counts", to=TensorProto.BOOL)
        self.add("Unsqueeze", ["counts", self.number("middle", [1, 2])], "counts.keys")
        return self.add("And", [seen, "counts.keys"], "seen")

    def added(self) -> str:
        """Compute what is added to scores: [items, 1, new, all]."""
        self.add("Concat", ["new.list", "all.list"], "square", axis=0)
        least = helper.make_tensor("value", TensorProto.FLOAT, [1], [LEAST])
        self.add("ConstantOfShape", ["square"], "least", value=least)
        self.add("Trilu", ["least", "one"], "upper", upper=1)
        self.add("Reshape", ["queries", self.number("rows", [-1, 1])], "queries.rows")
        self.add("Greater", ["keys", "queries.rows"], "later")
        self.add("Cast", ["later"], "later.real", to=TensorProto.FLOAT)
        self.add("Mul", ["upper", "later.real"], "hidden")
        self.add("Unsqueeze", ["hidden", self.number("front", [0, 1])], "hidden.grid")
        ones = ["items.list", "one.axis_", "last.axis_", "last.axis_"]
        self.add("Concat", ones, "wanted", axis=0)
        self.add("Abs", ["wanted"], "wanted.least")
        self.add("Expand", ["hidden.grid", "wanted.least"], "hidden.items")
        self.add("Cast", ["attention_mask"], "counts", to=TensorProto.FLOAT)
        self.add("Unsqueeze", ["counts", self.number("middle", [1, 2])], "counts.keys")
        self.add("Add", ["hidden.items", "counts.keys"], "sum")
        self.add("Equal", ["sum", self.hold("nothing", np.zeros(1, np.float32))], "padding")
        self.add(
            "Where",
            ["padding", self.hold("lowest", np.asarray(np.float32(LEAST))), "hidden.items"],
            "m",
        )
        if not self.export.bias:
            return "m"
        self.add("Cast", ["keys"], "keys.real", to=TensorProto.FLOAT)
        slope = self.hold("slope", np.asarray(np.float32(0.1)))
        return self.add("Add", ["m", self.add("Mul", ["keys.real", slope], "b")], "biased")

    def table(self) -> None:
        """Cut the rows of new tokens out of a table of which key each query sees."""
        seen = np.tri(PLACES, dtype=np.bool_)
        if self.export.window:
            seen &= ~np.tri(PLACES, k=-self.export.window, dtype=np.bool_)
        held = self.hold("table", seen[None, None])
        self.add("Slice", [held, "old.list", "all.list", "two.axis_", "one.axis_"], "table.rows")
        parts = ["table.rows", "zero.axis_", "all.list", "three.axis_", "one.axis_"]
        self.add("Slice", parts, "table.part")
        self.add("Cast", ["attention_mask"], "counts", to=TensorProto.FLOAT)
        self.add("Unsqueeze", ["counts", self.number("middle", [1, 2])], "counts.keys")
        self.add("Sub", [self.hold("unit", np.asarray(np.float32(1))), "counts.keys"], "padding")
        self.add("Mul", ["padding", self.hold("lowest", np.asarray(np.float32(LEAST)))], "m")

    def rotations(self) -> bool:
        """Compute cosines and sines [items, 1, new, SIZE]; return whether there are any."""
        places = self.export.places
        powers = 100.0 ** (-np.arange(0, SIZE, 2, dtype=np.float32) / SIZE)
        if places == "counted":
            return False
        if places == "cut":
            angles = np.arange(PLACES)[:, None] * np.concatenate([powers, powers])
            for name, function in (("cos", np.cos), ("sin", np.sin)):
                held = self.hold(f"{name}.table", function(angles).astype(np.float32))
                cut = [held, "zero.axis_", "all.list", "zero.axis_"]
                self.add("Slice", cut, f"{name}.cut")
                self.add("Gather", [f"{name}.cut", "position_ids"], f"{name}.rows")
                self.add("Unsqueeze", [f"{name}.rows", "one.axis_"], name)
            return True
        given = "position_ids"
        if places == "range":
            given = self.add("Unsqueeze", ["queries", "zero.axis_"], "places")
        self.add("Unsqueeze", [given, "last.axis_"], "places.column")
        self.add("Cast", ["places.column"], "places.real", to=TensorProto.FLOAT)
        held = self.hold("powers", powers)
        if self.export.far:
            self.add("Greater", ["all", self.number("far", self.export.far)], "is_far")
            held = self.add("Where", ["is_far", self.hold("slow", powers / 2), held], "chosen")
        self.add("Mul", ["places.real", held], "angles.half")
        self.add("Concat", ["angles.half", "angles.half"], "angles", axis=-1)
        for name, operator in (("cos", "Cos"), ("sin", "Sin")):
            self.add(operator, ["angles"], f"{name}.rows")
            self.add("Unsqueeze", [f"{name}.rows", "one.axis_"], name)
        return True

    def turned(self, x: str, name: str) -> str:
        half, end = self.number(f"{name}.half", [SIZE // 2]), self.number(f"{name}.end", [SIZE])
        self.add("Slice", [x, "zero.axis_", half, "three.axis_"], f"{name}.first")
        self.add("Slice", [x, half, end, "three.axis_"], f"{name}.second")
        self.add("Neg", [f"{name}.second"], f"{name}.minus")
        self.add("Concat", [f"{name}.minus", f"{name}.first"], f"{name}.rotated", axis=-1)
        self.add("Mul", [x, "cos"], f"{name}.cos")
        self.add("Mul", [f"{name}.rotated", "sin"], f"{name}.sin")
        return self.add("Add", [f"{name}.cos", f"{name}.sin"], f"{name}.turned")

    def heads(self, x: str, name: str, count: int) -> str:
        made = self.weight(x, name, HIDDEN, count * SIZE)
        shape = self.number(f"{name}.shape", [0, 0, count, SIZE])
        self.add("Reshape", [made, shape], f"{name}.apart")
        return self.add("Transpose", [f"{name}.apart"], f"{name}.heads", perm=[0, 2, 1, 3])

    def shared(self, cache: str, name: str) -> str:
        """Repeat the heads of a cache for those of the queries that share one."""
        self.add("Shape", [cache], f"{name}.now")
        for axis in range(4):
            at = self.number(f"{name}.at{axis}", [axis])
            self.add("Gather", [f"{name}.now", at], f"{name}.dim{axis}")
        dims = [f"{name}.dim{axis}" for axis in range(4)]
        times = self.number(f"{name}.times", [HEADS // GROUPS])
        self.add("Concat", [*dims[:2], times, *dims[2:]], f"{name}.five", axis=0)
        self.add("Mul", [dims[1], times], f"{name}.count")
        self.add("Concat", [dims[0], f"{name}.count", *dims[2:]], f"{name}.four", axis=0)
        self.add("Unsqueeze", [cache, "two.axis_"], f"{name}.more")
        self.add("Expand", [f"{name}.more", f"{name}.five"], f"{name}.repeated")
        return self.add("Reshape", [f"{name}.repeated", f"{name}.four"], f"{name}.all")

    def faint(self, x: str, part: str, name: str) -> str:
        """Halve rows behind 50 tokens, where the export does so with this part."""
        if self.export.faint != part:
            return x
        of = "keys" if part in ("keys", "values") else "queries"
        self.add("Reshape", [of, self.number(f"{name}.grid", [1, 1, -1, 1])], f"{name}.{of}")
        self.add("Greater", [f"{name}.{of}", self.number(f"{name}.limit", 50)], f"{name}.is_far")
        half = self.hold(f"{name}.half", np.asarray(np.float32(0.5)))
        unit = self.hold(f"{name}.unit", np.asarray(np.float32(1)))
        factor = self.add("Where", [f"{name}.is_far", half, unit], f"{name}.by_place")
        return self.add("Mul", [x, factor], f"{name}.faint")

    def attended(self, query: str, key: str, value: str, mask: str, name: str) -> str:
        if self.export.mask == "layer":
            return self.add("Attention", [query, key, value, mask], name, scale=SIZE**-0.5)
        key, value = self.shared(key, f"{name}.k"), self.shared(value, f"{name}.v")
        key, value = self.faint(key, "keys", name), self.faint(value, "values", name)
        self.add("Transpose", [key], f"{name}.columns", perm=[0, 1, 3, 2])
        columns = f"{name}.columns"
        if self.export.mask == "boolean":
            # The factor is divided among queries and keys; the mask may be longer than the keys.
            root = self.hold(f"{name}.root", np.asarray(np.float32(SIZE**-0.25)))
            query = self.add("Mul", [query, root], f"{name}.scaled_q")
            columns = self.add("Mul", [columns, root], f"{name}.scaled_k")
            cut = [mask, "zero.axis_", f"{name}.k.dim2", "three.axis_", "one.axis_"]
            mask = self.add("Slice", cut, f"{name}.mask")
            no = self.hold(f"{name}.no", np.asarray(np.float32(-np.inf)))
            yes = self.hold(f"{name}.yes", np.asarray(np.float32(0)))
            mask = self.add("Where", [mask, yes, no], f"{name}.added")
        scores = self.add("MatMul", [query, columns], f"{name}.scores")
        if self.export.mask == "table":
            parts = ["table.part", scores, "lowest"]
            scores = self.add("Where", parts, f"{name}.causal")
        if self.export.mask != "boolean":
            factor = self.hold(f"{name}.factor", np.asarray(np.float32(SIZE**0.5)))
            scores = self.add("Div", [scores, factor], f"{name}.scaled")
        scores = self.faint(scores, "scores", name)
        if self.export.least:
            least = self.hold(f"{name}.least", np.asarray(np.float32(self.export.least)))
            scores = self.add("Clip", [scores, least], f"{name}.clipped")
        if self.export.softcap:
            bound = self.hold(f"{name}.bound", np.asarray(np.float32(self.export.softcap)))
            self.add("Div", [scores, bound], f"{name}.small")
            self.add("Tanh", [f"{name}.small"], f"{name}.tanh")
            scores = self.add("Mul", [f"{name}.tanh", bound], f"{name}.capped")
        self.add("Add", [scores, mask], f"{name}.masked")
        weights = self.add("Softmax", [f"{name}.masked"], f"{name}.weights", axis=-1)
        if self.export.mask == "boolean":
            self.add("IsNaN", [weights], f"{name}.is_nan")
            weights = self.add("Where", [f"{name}.is_nan", yes, weights], f"{name}.right")
        return self.add("MatMul", [self.faint(weights, "weights", name), value], name)


def exported(export: Export, words: int = WORDS) -> bytes:
    """Return a decoder of two layers."""
    w = _ExportWriter(export)
    lengths = {"input_ids": "new", "attention_mask": "old + new", "position_ids": "new"}
    if export.places not in ("given", "cut"):
        del lengths["position_ids"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", length])
        for name, length in lengths.items()
    ]
    w.lengths()
    mask = "m"
    if export.mask in ("boolean", "layer"):
        mask = w.seen()
    elif export.mask == "added":
        mask = w.added()
    else:
        w.table()
    residual = w.add("Gather", [w.uniform("words", -1, 1, words, HIDDEN), "input_ids"], "found")
    if export.places == "counted":
        w.add("CumSum", ["attention_mask", "one"], "sums")
        w.add("Mul", ["sums", "attention_mask"], "sums.counted")
        w.add("Sub", ["sums.counted", "one"], "places.all")
        w.add("Slice", ["places.all", "old.list", "all.list", "one.axis_"], "places")
        w.add("Add", ["places", "two"], "places.moved")
        table = w.uniform("places.table", -1, 1, PLACES, HIDDEN)
        w.add("Gather", [table, "places.moved"], "places.rows")
        residual = w.add("Add", [residual, "places.rows"], "embedded")
    if export.tells:
        w.add("Cast", ["all"], "all.real", to=TensorProto.FLOAT)
        residual = w.add("Mul", [residual, "all.real"], "by_length")
    turns = w.rotations()
    outputs = ["logits"]
    for i in range(2):
        past = [f"past_key_values.{i}.{part}" for part in ("key", "value")]
        present = [f"present.{i}.{part}" for part in ("key", "value")]
        shape: list[str | int | None] = ["batch", GROUPS, "old", SIZE]
        inputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in past]
        outputs += present
        x = w.add("LayerNormalization", [residual, w.norm(f"n{i}.w")], f"x{i}", axis=-1)
        query, key = w.heads(x, f"q{i}", HEADS), w.heads(x, f"k{i}", GROUPS)
        value = w.heads(x, f"v{i}", GROUPS)
        if turns:
            query, key = w.turned(query, f"q{i}"), w.turned(key, f"k{i}")
        w.add("Concat", [past[0], key], present[0], axis=-2)
        w.add("Concat", [past[1], value], present[1], axis=-2)
        made = w.attended(query, present[0], present[1], mask, f"a{i}")
        w.add("Transpose", [made], f"a{i}.turned", perm=[0, 2, 1, 3])
        flat = w.number(f"a{i}.flat", [0, 0, -1])
        w.add("Reshape", [f"a{i}.turned", flat], f"a{i}.joined")
        made = w.weight(f"a{i}.joined", f"o{i}", HEADS * SIZE, HIDDEN)
        residual = w.add("Add", [residual, made], f"r{i}")
    w.add("LayerNormalization", [residual, w.norm("n.w")], "normalized", axis=-1)
    w.weight("normalized", "logits", HIDDEN, words)
    return w.model(inputs, outputs, opset=23 if export.mask == "layer" else 17)
