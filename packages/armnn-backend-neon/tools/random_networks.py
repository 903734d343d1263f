# SPDX-License-Identifier: MIT
"""Networks of a few random layers.

A layer that refuses its input is left out.
"""

from __future__ import annotations

import numpy as np
from random_layers import CHANNELS, SIZES, STEPS, Array, normal, pick

import armnn
from armnn import Network
from armnn.errors import ArmnnError

MOST_ELEMENTS = 40_000


def random_network(seed: int) -> tuple[Network, dict[str, Array]]:
    """Return a network and what to feed it."""
    rng = np.random.default_rng(seed)
    network = Network(f"random {seed}")
    shape = (pick(rng, (1, 1, 3)), pick(rng, SIZES), pick(rng, SIZES), pick(rng, CHANNELS))
    values = [network.add_input("x", armnn.TensorInfo(shape))]
    for _ in range(int(rng.integers(2, 9))):
        source = values[-1] if rng.random() < 0.8 else pick(rng, values)
        try:
            made = pick(rng, STEPS)(network, source, rng)
            if rng.random() < 0.2:
                others = [v for v in values if v.info.shape == made.info.shape]
                if others:
                    made = network.add_addition(made, pick(rng, others))
        except ArmnnError:
            continue  # as what it is given does not fit
        if 0 < np.prod(made.info.static_shape, dtype=int) <= MOST_ELEMENTS:
            values.append(made)
    ends = [value for value in values[1:] if not value.uses or rng.random() < 0.1]
    for i, value in enumerate(ends or values):
        network.add_output(f"y{i}", value)
    network.remove_unused()
    return network, {"x": normal(rng, *shape)}
