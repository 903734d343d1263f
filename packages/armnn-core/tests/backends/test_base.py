# SPDX-License-Identifier: MIT
from __future__ import annotations

import numpy as np
import pytest

from armnn.backends import ModelContext


def test_what_is_shared_is_made_once_while_somebody_holds_it() -> None:
    model = ModelContext({})
    made = []

    def make() -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        made.append(len(made))
        return np.zeros(2)

    first = model.shared("packed", make)
    assert model.shared("packed", make) is first
    assert made == [0]
    assert model.shared("other", make) is not first
    del first
    assert model.shared("packed", make).tolist() == [0, 0]
    assert made == [0, 1, 2]


def test_what_takes_no_weak_references_cannot_be_shared() -> None:
    with pytest.raises(TypeError, match="cannot create weak reference to 'tuple' object"):
        ModelContext({}).shared("packed", lambda: (1, 2))
