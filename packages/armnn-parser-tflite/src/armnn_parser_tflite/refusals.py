# SPDX-License-Identifier: MIT
"""Reasons why operators have no converter."""

from __future__ import annotations

_RANDOM = "its result is random, and a network gives the same one every time"
_KEYS = "it looks up by keys or works on texts, which networks lack"
_DELEGATE = "only the program that wrote it defines it"

_REASONS = {
    "RANDOM_UNIFORM": _RANDOM,
    "RANDOM_STANDARD_NORMAL": _RANDOM,
    "MULTINOMIAL": _RANDOM,
    "STABLEHLO_RNG_BIT_GENERATOR": _RANDOM,
    "HASHTABLE": _KEYS,
    "HASHTABLE_FIND": _KEYS,
    "HASHTABLE_IMPORT": _KEYS,
    "HASHTABLE_SIZE": _KEYS,
    "HASHTABLE_LOOKUP": _KEYS,
    "LSH_PROJECTION": _KEYS,
    "SKIP_GRAM": _KEYS,
    "CONCAT_EMBEDDINGS": _KEYS,
    "EMBEDDING_LOOKUP_SPARSE": _KEYS,
    "DELEGATE": _DELEGATE,
    "PLACEHOLDER_FOR_GREATER_OP_CODES": _DELEGATE,
}


def reason(name: str, *, custom: bool) -> str:
    """Return why an operator without a converter is refused.

    Args:
        name: The operator.
        custom: Whether it is not one of the builtin operators.
    """
    if custom:
        return "it is a custom operator, and what it means is not in the file"
    return _REASONS.get(name, "no layer computes it")
