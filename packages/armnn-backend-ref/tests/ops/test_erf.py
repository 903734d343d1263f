# SPDX-License-Identifier: MIT
from __future__ import annotations

import math

import numpy as np
import pytest

from armnn_backend_ref.ops._erf import erf

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(("dtype", "ulps"), [(np.float32, 1), (np.float64, 10)])
def test_it_is_as_exact_as_it_says(dtype, ulps):
    x = np.concatenate([np.linspace(-7, 7, 20001), np.geomspace(1e-30, 7, 5000)]).astype(dtype)
    exact = np.array([math.erf(value) for value in x.tolist()])
    error = np.abs(erf(x) - exact) / np.spacing(np.abs(exact).astype(dtype))
    assert error.max() <= ulps
    assert error.mean() <= 1


def test_its_limits_are_one():
    y = erf(np.float32([-INF, -0.0, 0.0, INF, NAN]))
    np.testing.assert_array_equal(y, np.float32([-1, 0, 0, 1, NAN]))
    assert np.signbit(y).tolist()[:3] == [True, True, False]


def test_it_takes_more_elements_than_one_chunk():
    x = np.linspace(-4, 4, 20000, dtype=np.float32).reshape(2, 100, 100)
    np.testing.assert_allclose(erf(x)[1, 99, 99], 1.0)
    np.testing.assert_allclose(erf(x)[0, 0, 0], -1.0)
    assert erf(np.float32(0.5).reshape(())).shape == ()
