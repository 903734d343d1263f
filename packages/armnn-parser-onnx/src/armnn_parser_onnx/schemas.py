# SPDX-License-Identifier: MIT
"""Signatures of the operators: ONNX's standard, and onnxruntime's domain com.microsoft.

The standard's operators are generated data in the folder ``standard``: ``operators.txt`` has a line
per operator and version, ``functions.onnx`` the operators that are defined by others. Both are
written by ``tools/generate_standard.py`` and read on first use.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from armnn.types import DataType
from armnn_parser_onnx.messages import (
    FLOAT,
    FLOATS,
    INT,
    INTS,
    KIND_NAMES,
    STRING,
    STRINGS,
    Function,
    Model,
)
from armnn_parser_onnx.protobuf import Span
from armnn_parser_onnx.tensors import onnx_type_name

DEFAULT_DOMAINS: Final = ("", "ai.onnx")
"""The two spellings of the domain of ONNX's own operators."""

MICROSOFT: Final = "com.microsoft"
"""The operators of onnxruntime."""

PREVIEW: Final = "ai.onnx.preview"
"""Operators that may come into ONNX's own domain; their bodies consist of those that are there."""


_UNBOUNDED: Final = 2**31 - 1
"""The most inputs of an operator that takes any number."""


class Parameter:
    """An input or output of an operator.

    Attributes:
        name: Its name.
        type: A type, or the name of a type parameter.
        variadic: Whether it is any number of values, as the last one may be.
        homogeneous: Whether these must be of one type.
    """

    __slots__ = ("homogeneous", "name", "type", "variadic")

    def __init__(
        self,
        name: str,
        type: str,
        variadic: bool = False,
        homogeneous: bool = True,
    ) -> None:
        self.name = name
        self.type = type
        self.variadic = variadic
        self.homogeneous = homogeneous


class AttributeRule:
    """An attribute that an operator may have.

    Attributes:
        type: Its type, a number of ``AttributeProto.AttributeType``.
        required: Whether it must be there.
        default: Its value where it is not; None without one.
    """

    __slots__ = ("default", "required", "type")

    def __init__(self, type: int, required: bool = False, default: Any = None) -> None:
        self.type = type
        self.required = required
        self.default = default


class Schema:
    """An operator at one version.

    Attributes:
        name: The operator.
        domain: Whose operator it is.
        since: The opset that brought this version.
        inputs: The values that it reads.
        outputs: The values that it makes.
        counts: The least and the most inputs, the least and the most outputs.
        types: The types that each type parameter may be.
        attributes: Its attributes by name.
        deprecated: Whether the version withdraws it.
        body: Its definition by other operators: "function", "context" if that depends on a node's
            attributes and types, or "".
    """

    __slots__ = (
        "attributes",
        "body",
        "counts",
        "deprecated",
        "domain",
        "inputs",
        "name",
        "outputs",
        "since",
        "types",
    )

    def __init__(
        self,
        name: str,
        domain: str,
        since: int,
        inputs: tuple[Parameter, ...],
        outputs: tuple[Parameter, ...],
        counts: tuple[int, int, int, int],
        types: Mapping[str, tuple[str, ...]],
        attributes: Mapping[str, AttributeRule],
        deprecated: bool = False,
        body: str = "",
    ) -> None:
        self.name = name
        self.domain = domain
        self.since = since
        self.inputs = inputs
        self.outputs = outputs
        self.counts = counts
        self.types = types
        self.attributes = attributes
        self.deprecated = deprecated
        self.body = body


_FOLDER = Path(__file__).parent / "standard"
_KINDS = {name: number for number, name in KIND_NAMES.items()}


@functools.cache
def standard_schema(name: str, opset: int, domain: str = "") -> Schema | None:
    """Return an operator's newest schema up to an opset.

    Args:
        name: The operator.
        opset: The version of ONNX's own operators.
        domain: Whose operator it is. Other domains than ONNX's own have one version.
    """
    if not name.isidentifier():
        return None  # a file may say anything
    known = [row for row in _rows(name, domain) if int(row[0]) <= opset or domain]
    return _schema(name, domain, known[-1]) if known else None


@functools.cache
def standard_functions(name: str) -> tuple[tuple[int, Function], ...]:
    """Return an operator's definitions, by the opset that begins each."""
    data = (_FOLDER / "functions.onnx").read_bytes()
    found = Model.at(Span(data, 0, len(data)), "functions.onnx").functions
    return tuple((each.opset_import[0].version, each) for each in found if each.name == name)


@functools.cache
def _text() -> str:
    return (_FOLDER / "operators.txt").read_text(encoding="utf-8")


def _rows(name: str, domain: str) -> list[list[str]]:
    """Return the lines of an operator, the oldest version first."""
    key, rows = f"{domain}.{name}" if domain else name, []
    text = _text()
    place = _line_of(key, text)
    while text.startswith(f"{key}\t", place):
        end = text.index("\n", place)
        rows.append(text[place + len(key) + 1 : end].split("\t"))
        place = end + 1
    return rows


def _line_of(key: str, text: str) -> int:
    """Return where the line of a name would begin.

    Operators are sorted by name, behind lines that begin with smaller characters.
    """
    low, high = 0, len(text)
    while low < high:
        begin = max(low, text.rfind("\n", low, (low + high) // 2) + 1)
        end = text.index("\t", begin)
        if text[begin:end] < key:
            low = text.index("\n", end) + 1
        else:
            high = begin
    return low


def _schema(name: str, domain: str, row: list[str]) -> Schema:
    since, state, counts, inputs, outputs, types, attributes = row
    most = [_UNBOUNDED if count == "*" else int(count) for count in counts.split(" ")]
    return Schema(
        name,
        domain,
        int(since),
        tuple(_parameter(word) for word in inputs.split()),
        tuple(_parameter(word) for word in outputs.split()),
        (most[0], most[1], most[2], most[3]),
        dict(_types(word) for word in types.split()),
        dict(_attribute_rule(word) for word in attributes.split()),
        deprecated=state == "deprecated",
        body=state if state in ("function", "context") else "",
    )


def _parameter(word: str) -> Parameter:
    """Return the parameter that ``name:type`` declares.

    One ``*`` behind it means any number of one type, two any number of any types.
    """
    name, _, kind = word.partition(":")
    return Parameter(name, kind.rstrip("*"), kind.endswith("*"), not kind.endswith("**"))


def _types(word: str) -> tuple[str, tuple[str, ...]]:
    name, _, number = word.partition("=")
    return name, _type_set(number)


@functools.cache
def _type_set(number: str) -> tuple[str, ...]:
    text, key = _text(), f"\n={number}\t"
    begin = text.index(key) + len(key)
    return tuple(text[begin : text.index("\n", begin)].split(" "))


def _attribute_rule(word: str) -> tuple[str, AttributeRule]:
    """Return the attribute that ``name:type`` declares, by name.

    A ``!`` behind the type means that it is required, ``=`` and a value is its default.
    """
    name, _, rest = word.partition(":")
    kind, has_default, value = rest.partition("=")
    number = _KINDS[kind.rstrip("!")]
    default = _default(number, value) if has_default else None
    return name, AttributeRule(number, kind.endswith("!"), default)


def _default(kind: int, text: str) -> Any:
    if kind in (INTS, FLOATS, STRINGS):
        single = {INTS: INT, FLOATS: FLOAT}.get(kind, 0)
        return [_default(single, part) for part in text.split(",")]
    return int(text) if kind == INT else float(text) if kind == FLOAT else text.encode()


_WINDOW: dict[str, Any] = {
    "auto_pad": "NOTSET",
    "kernel_shape": tuple,
    "strides": tuple,
    "pads": tuple,
    "dilations": tuple,
}
_POOL = {**_WINDOW, "ceil_mode": 0}
_ACTIVATED = {"activation": str, "activation_params": list}
_HEADS = {"num_heads": int, "mask_filter_value": -10000.0, "scale": float, "unidirectional": 0}
_TO_QUANTIZED = "X X_scale X_zero_point? Y_scale Y_zero_point?"
_TWO_QUANTIZED = "A A_scale A_zero_point? B B_scale B_zero_point? C_scale C_zero_point?"

_MICROSOFT: dict[str, tuple[str, str, dict[str, Any]]] = {
    "Gelu": ("X", "Y", {}),
    "BiasGelu": ("A B", "C", {}),
    "FastGelu": ("X bias?", "Y", {}),
    "QuickGelu": ("X", "Y", {"alpha": 1.702}),
    "SimplifiedLayerNormalization": (
        "X scale",
        "Y inv_std_var?",
        {"axis": -1, "epsilon": 1e-5, "stash_type": 1},
    ),
    "SkipLayerNormalization": (
        "input skip gamma beta? bias?",
        "output mean? inv_std_var? input_skip_bias_sum?",
        {"epsilon": 1e-12},
    ),
    "SkipSimplifiedLayerNormalization": (
        "input skip gamma bias?",
        "output mean? inv_std_var? input_skip_bias_sum?",
        {"epsilon": 1e-12},
    ),
    "EmbedLayerNormalization": (
        (
            "input_ids segment_ids? word_embedding position_embedding segment_embedding? gamma "
            "beta mask? position_ids?"
        ),
        "output mask_index? embedding_sum?",
        {"epsilon": 1e-12, "mask_index_type": 0},
    ),
    "Attention": (
        "input weights bias? mask_index? past? attention_bias? past_sequence_length?",
        "output present?",
        {
            **_HEADS,
            "qkv_hidden_sizes": tuple,
            "do_rotary": 0,
            "rotary_embedding_dim": 0,
            "past_present_share_buffer": 0,
        },
    ),
    "MultiHeadAttention": (
        "query key? value? bias? key_padding_mask? attention_bias? past_key? past_value?",
        "output present_key? present_value?",
        _HEADS,
    ),
    "GroupQueryAttention": (
        (
            "query key? value? past_key? past_value? seqlens_k total_sequence_length cos_cache? "
            "sin_cache? position_ids? attention_bias? head_sink? k_scale? v_scale? q_norm_weight? "
            "k_norm_weight?"
        ),
        "output present_key? present_value? output_qk?",
        {
            "num_heads": int,
            "kv_num_heads": int,
            "scale": float,
            "softcap": 0.0,
            "do_rotary": 0,
            "rotary_interleaved": 0,
            "local_window_size": -1,
            "sliding_window_cache": 0,
            "smooth_softmax": -1,
            "causal": 1,
            "qk_output": 0,
            "qk_norm_epsilon": 1e-6,
            "kv_cache_bit_width": int,
            "k_quant_type": "NONE",
            "v_quant_type": "NONE",
        },
    ),
    "RotaryEmbedding": (
        "input position_ids cos_cache sin_cache",
        "output",
        {
            "num_heads": 0,
            "rotary_embedding_dim": 0,
            "interleaved": 0,
            "is_packed_batching": 0,
            "scale": 1.0,
        },
    ),
    "MatMulNBits": (
        "A B scales zero_points? g_idx? bias?",
        "Y",
        {
            "K": int,
            "N": int,
            "bits": 4,
            "block_size": int,
            "accuracy_level": 0,
            "weight_prepacked": 0,
        },
    ),
    "GatherBlockQuantized": (
        "data indices scales zero_points?",
        "output",
        {"gather_axis": 0, "quantize_axis": 1, "block_size": 128, "bits": 4},
    ),
    "FusedConv": ("X W B? Z?", "Y", {**_WINDOW, **_ACTIVATED, "group": 1}),
    "FusedMatMul": (
        "A B",
        "Y",
        {"alpha": 1.0, "transA": 0, "transB": 0, "transBatchA": 0, "transBatchB": 0},
    ),
    "FusedGemm": (
        "A B C?",
        "Y",
        {
            "alpha": 1.0,
            "beta": 1.0,
            "transA": 0,
            "transB": 0,
            "activation": str,
            "activation_alpha": 0.01,
        },
    ),
    "MatMulIntegerToFloat": (
        "A B a_scale b_scale a_zero_point? b_zero_point? bias?",
        "Y",
        {},
    ),
    "DynamicQuantizeMatMul": ("A B b_scale b_zero_point? bias?", "Y", {}),
    "DynamicQuantizeLSTM": (
        (
            "X W R B? sequence_lens? initial_h? initial_c? P? W_scale W_zero_point R_scale "
            "R_zero_point"
        ),
        "Y? Y_h? Y_c?",
        {
            "activations": [str],
            "activation_alpha": list,
            "activation_beta": list,
            "clip": float,
            "direction": "forward",
            "hidden_size": int,
            "input_forget": 0,
        },
    ),
    "QuantizeLinear": ("x y_scale y_zero_point?", "y", {"axis": 1}),
    "DequantizeLinear": ("x x_scale x_zero_point?", "y", {"axis": 1}),
    "QLinearAdd": (_TWO_QUANTIZED, "C", {}),
    "QLinearMul": (_TWO_QUANTIZED, "C", {}),
    "QLinearSigmoid": (_TO_QUANTIZED, "Y", {}),
    "QLinearLeakyRelu": (_TO_QUANTIZED, "Y", {"alpha": 0.01}),
    "QLinearSoftmax": (_TO_QUANTIZED, "Y", {"axis": -1, "opset": int}),
    "QLinearGlobalAveragePool": (_TO_QUANTIZED, "Y", {"channels_last": 0}),
    "QLinearAveragePool": (
        _TO_QUANTIZED,
        "Y",
        {**_POOL, "count_include_pad": 0, "channels_last": 0},
    ),
    "QLinearConcat": ("Y_scale Y_zero_point inputs*", "Y", {"axis": int}),
    "QLinearConv": (
        "x x_scale x_zero_point w w_scale w_zero_point y_scale y_zero_point B?",
        "y",
        {**_WINDOW, "group": 1, "channels_last": 0},
    ),
    "QGemm": (
        "A a_scale a_zero_point B b_scale b_zero_point C? y_scale? y_zero_point?",
        "Y",
        {"alpha": 1.0, "transA": 0, "transB": 0},
    ),
    "NhwcMaxPool": ("x", "y", _POOL),
}

_ATTRIBUTE_TYPES = {tuple: INTS, list: FLOATS, int: INT, float: FLOAT, str: STRING}


@functools.cache
def microsoft_schema(name: str) -> Schema | None:
    """Return an operator's schema, None if it is not convertible."""
    if name not in _MICROSOFT:
        return None
    inputs, outputs, attributes = (
        _MICROSOFT[name][0].split(),
        _MICROSOFT[name][1].split(),
        _MICROSOFT[name][2],
    )
    takes = tuple(_microsoft_parameter(word, index) for index, word in enumerate(inputs))
    makes = tuple(_microsoft_parameter(word, 100 + index) for index, word in enumerate(outputs))
    everything = tuple(onnx_type_name(each) for each in DataType if not each.is_quantized)
    return Schema(
        name,
        MICROSOFT,
        1,
        takes,
        makes,
        (*_counts(inputs), *_counts(outputs)),
        types={each.type: everything for each in (*takes, *makes)},
        attributes={key: _microsoft_attribute(value) for key, value in attributes.items()},
    )


def _microsoft_parameter(word: str, number: int) -> Parameter:
    return Parameter(word.rstrip("?*"), f"T{number}", word.endswith("*"), homogeneous=False)


def _counts(words: list[str]) -> tuple[int, int]:
    """Return the least and the most number of parameters."""
    needed = [index for index, word in enumerate(words, start=1) if word[-1] != "?"]
    return max(needed, default=0), _UNBOUNDED if words[-1].endswith("*") else len(words)


def _microsoft_attribute(value: Any) -> AttributeRule:
    if isinstance(value, list):
        return AttributeRule(STRINGS)
    if isinstance(value, type):
        return AttributeRule(_ATTRIBUTE_TYPES[value])
    return AttributeRule(
        _ATTRIBUTE_TYPES[type(value)], default=value.encode() if isinstance(value, str) else value
    )
