# SPDX-License-Identifier: MIT
"""Gives a "light" ONNX model random weights.

They replace its constant ones. The light models replace each large weight by a ConstantOfShape
node. All channels are equal then, which hides most mistakes that an implementation can make.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx
from numpy.random import RandomState
from onnx import numpy_helper

Shape = tuple[int, ...]
Distribution = Callable[[RandomState, Shape], np.ndarray]

# Below He's sqrt(2), because every residual sum adds the variances of its two branches.
CONVOLUTION_GAIN = 0.7 * math.sqrt(2.0)
# Keeps the probabilities within a few orders of magnitude, so that a comparison sees all of them.
CLASSIFIER_GAIN = 0.2


def fill_with_random_weights(source: bytes) -> bytes:
    """Return the model with a seeded initializer per ConstantOfShape."""
    model = onnx.load_model_from_string(source)
    graph = model.graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    initializers = set(constants)
    distributions = _distribution_per_weight(graph)
    random = RandomState(50)  # the one generator whose stream NumPy has frozen
    for node in [node for node in graph.node if node.op_type == "ConstantOfShape"]:
        (name,), (shape,) = node.output, node.input
        values = distributions[name](random, tuple(constants[shape].tolist()))
        constants[name] = values.astype(np.float32)
        del constants[shape]
        graph.node.remove(node)
    fed = [entry for entry in graph.input if entry.name not in initializers]
    del graph.input[:], graph.initializer[:]
    graph.input.extend(fed)
    graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in constants.items())
    model.ir_version = 4  # the first in which an initializer need not be an input as well
    onnx.checker.check_model(model)
    serialized: bytes = model.SerializeToString()
    return serialized


def _distribution_per_weight(graph: onnx.GraphProto) -> dict[str, Distribution]:
    """Return each weight's distribution, by the operator reading it.

    The operator may read it in another shape.
    """
    roles: dict[str, tuple[Distribution, ...]] = {
        "Conv": (_kernel, _offset),
        "BatchNormalization": (_factor, _offset, _offset, _factor),
        "Gemm": (_matrix, _offset),
        "Mul": (_factor,),
        "Add": (_offset,),
    }
    distributions = {
        name: distribution
        for node in graph.node
        for name, distribution in zip(node.input[1:], roles.get(node.op_type, ()), strict=False)
    }
    for node in graph.node:
        if node.op_type in ("Reshape", "Unsqueeze") and node.output[0] in distributions:
            distributions[node.input[0]] = distributions[node.output[0]]
    return distributions


def _kernel(random: RandomState, shape: Shape) -> np.ndarray:
    fan_in = math.prod(shape[1:])
    return random.standard_normal(shape) * (CONVOLUTION_GAIN / math.sqrt(fan_in))


def _matrix(random: RandomState, shape: Shape) -> np.ndarray:
    return random.standard_normal(shape) * (CLASSIFIER_GAIN / math.sqrt(shape[1]))


def _offset(random: RandomState, shape: Shape) -> np.ndarray:
    return random.uniform(-0.1, 0.1, shape)


def _factor(random: RandomState, shape: Shape) -> np.ndarray:
    return random.uniform(0.8, 1.2, shape)
