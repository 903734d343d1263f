# SPDX-License-Identifier: MIT
"""Schemas of onnxruntime's convertible operators (domain com.microsoft).

Each row lists the inputs and the outputs, those with ``?`` may be left out, and the attributes with
their defaults: a type where an attribute has no default.
"""

from __future__ import annotations

import functools
from typing import Any

from armnn.types import DataType
from armnn_parser_onnx.domains import MICROSOFT
from armnn_parser_onnx.standard.schema import UNBOUNDED, AttributeRule, Parameter, Schema
from armnn_parser_onnx.tensors import onnx_type_name
from armnn_parser_onnx.wire.kinds import FLOAT, FLOATS, INT, INTS, STRING, STRINGS

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

_ROWS: dict[str, tuple[str, str, dict[str, Any]]] = {
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

_TYPES = {tuple: INTS, list: FLOATS, int: INT, float: FLOAT, str: STRING}


@functools.cache
def microsoft_schema(name: str) -> Schema | None:
    """Return an operator's schema, None if it is not convertible."""
    if name not in _ROWS:
        return None
    inputs, outputs, attributes = (_ROWS[name][0].split(), _ROWS[name][1].split(), _ROWS[name][2])
    takes = tuple(_parameter(word, index) for index, word in enumerate(inputs))
    makes = tuple(_parameter(word, 100 + index) for index, word in enumerate(outputs))
    everything = tuple(onnx_type_name(each) for each in DataType if not each.is_quantized)
    return Schema(
        name,
        MICROSOFT,
        1,
        takes,
        makes,
        (*_counts(inputs), *_counts(outputs)),
        types={each.type: everything for each in (*takes, *makes)},
        attributes={key: _attribute(value) for key, value in attributes.items()},
    )


def _parameter(word: str, number: int) -> Parameter:
    return Parameter(word.rstrip("?*"), f"T{number}", word.endswith("*"), homogeneous=False)


def _counts(words: list[str]) -> tuple[int, int]:
    """Return the least and the most number of parameters."""
    needed = [index for index, word in enumerate(words, start=1) if word[-1] != "?"]
    return max(needed, default=0), UNBOUNDED if words[-1].endswith("*") else len(words)


def _attribute(value: Any) -> AttributeRule:
    if isinstance(value, list):
        return AttributeRule(STRINGS)
    if isinstance(value, type):
        return AttributeRule(_TYPES[value])
    return AttributeRule(
        _TYPES[type(value)], default=value.encode() if isinstance(value, str) else value
    )
