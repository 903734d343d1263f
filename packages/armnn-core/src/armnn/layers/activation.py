# SPDX-License-Identifier: MIT
"""Functions of one element: Activation and Prelu."""

from __future__ import annotations

from armnn.errors import ShapeError
from armnn.layers._descriptor import Descriptor
from armnn.layers._shapes import broadcast_inputs
from armnn.layers._spec import Inputs, Shapes, layer, slot
from armnn.types import ActivationFunction


def _activation(descriptor: ActivationDescriptor, inputs: Inputs) -> Shapes:
    if descriptor.function is ActivationFunction.CELU and descriptor.a == 0:
        raise ShapeError("Celu divides by a, which is 0: expected another number")
    return [inputs.shape("input")]


@layer(0, inputs=[slot("input", "The x of the function.")], infer=_activation)
class ActivationDescriptor(Descriptor):
    """A function of each element, with parameters ``a`` and ``b``.

    Sigmoid 1/(1+e^-x); TanH a*tanh(b*x); Linear a*x+b; ReLu max(0,x); BoundedReLu
    min(a, max(b,x)); SoftReLu ln(1+e^x); LeakyReLu x if x > 0 else a*x; Abs; Sqrt; Square;
    Elu x if x >= 0 else a*(e^x-1); HardSwish x*min(max(0,x+3),6)/6; Gelu x*(1+erf(x/sqrt(2)))/2.

    Beyond Arm NN, as ONNX defines them: SoftSign x/(1+|x|); Mish x*tanh(ln(1+e^x)); Selu
    b*(x if x > 0 else a*(e^x-1)); Celu x if x > 0 else a*(e^(x/a)-1), a not 0; HardSigmoid
    min(1, max(0, a*x+b)); ThresholdedReLu x if x > a else 0; Shrink x-b if x > a, x+b if x < -a,
    else 0; Swish x/(1+e^(-a*x)); GeluTanH x*(1+tanh(sqrt(2/pi)*(x+0.044715*x^3)))/2.

    NaN stays NaN in every function, ThresholdedReLu and Shrink included.

    Attributes:
        function: The function.
        a: Upper bound, slope or factor, as above.
        b: Lower bound, offset or inner factor, as above.
    """

    function: ActivationFunction = ActivationFunction.SIGMOID
    a: float = 0.0
    b: float = 0.0


@layer(
    44,
    inputs=[
        slot("input", "The x of the function."),
        slot("alpha", "The slope below zero; broadcasts."),
    ],
    infer=broadcast_inputs,
)
class PreluDescriptor(Descriptor):
    """x where x is positive, else alpha * x.

    He et al. 2015.
    """
