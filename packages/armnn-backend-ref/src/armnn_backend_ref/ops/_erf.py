# SPDX-License-Identifier: MIT
"""The error function, which NumPy lacks."""

from __future__ import annotations

import numpy as np

from armnn_backend_ref.ops._registry import Array

_CHUNK = 8192  # elements whose intermediate results stay in the processor's cache

# erf(x) = x P(x^2) / Q(x^2) for |x| up to a limit beyond which it is 1 in that precision. Least
# squares in 60 digits, reweighted towards equal relative errors: 2e-8 and 4e-17.
_LIMIT_SINGLE = 3.93
_P_SINGLE = (
    1.1283791448600313, 0.19087734000904463, 0.05280245243807995, 0.003783512837974959,
    0.0002848777044923022, 2.0410406121168287e-06,
)  # fmt: skip
_Q_SINGLE = (
    1.0, 0.5024933458781656, 0.11429597655736384, 0.015005337149739376, 0.0011661203030571498,
    3.799797702104396e-05,
)  # fmt: skip
_LIMIT_DOUBLE = 5.95
_P_DOUBLE = (
    1.1283791670955126, 0.22055698635475074, 0.06618948528855419, 0.0069105176651421615,
    0.0008575514460067609, 5.718063674144711e-05, 3.913165835442427e-06, 1.7031193584339997e-07,
    6.783550008487076e-09, 1.7272161362752668e-10, 3.3332729042467865e-12, 2.209919779948726e-14,
    1.551701305530327e-17,
)  # fmt: skip
_Q_DOUBLE = (
    1.0, 0.5287968732376271, 0.13492452845715627, 0.02202896612827994, 0.0025712931598004026,
    0.0002268069840214713, 1.555564987768326e-05, 8.384364036918787e-07, 3.530514143765714e-08,
    1.1289756252621108e-09, 2.555864574209752e-11, 3.304098171402154e-13, 8.76062081121574e-16,
)  # fmt: skip


def erf(x: Array) -> Array:
    """Return the error function of each element, in ``x``'s type.

    The error is at most one unit in the last place for float32, at most ten for float64 (the mean
    is one), measured against ``math.erf``.
    """
    values = np.ascontiguousarray(x).reshape(-1)
    result = np.empty_like(values)
    for start in range(0, values.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        result[part] = _erf_chunk(values[part])
    return result.reshape(x.shape)


def _erf_chunk(x: Array) -> Array:
    double = x.dtype == np.float64
    limit = _LIMIT_DOUBLE if double else _LIMIT_SINGLE
    x = np.clip(x.astype(np.float64, copy=False), -limit, limit)
    squares = x * x
    x = x * _polynomial(_P_DOUBLE if double else _P_SINGLE, squares)
    x /= _polynomial(_Q_DOUBLE if double else _Q_SINGLE, squares)
    return np.clip(x, -1, 1, out=x)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Evaluate a polynomial, lowest power first, by Horner's rule."""
    value = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value
