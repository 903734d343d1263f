# SPDX-License-Identifier: MIT
"""Products of tensors in the notation of Einstein."""

from __future__ import annotations

from armnn.errors import InvalidArgumentError, ShapeError
from armnn.layers._descriptor import Descriptor
from armnn.layers._shapes import broadcast, known_better, same_dimension
from armnn.layers._spec import Inputs, Shapes, layer, result, slot
from armnn.tensor import Dimension, Shape, format_shape


def _einsum(descriptor: EinsumDescriptor, inputs: Inputs) -> Shapes:
    terms, output = descriptor.terms()
    if len(inputs.variadic()) != len(terms):
        raise ShapeError(
            f"the equation {descriptor.equation!r} names {len(terms)} inputs: got "
            f"{len(inputs.variadic())}"
        )
    batch: Shape = ()
    sizes: dict[str, Dimension] = {}
    for term, info in zip(terms, inputs.variadic(), strict=True):
        extra, named = _term_sizes(term, info.shape or (), descriptor.equation)
        batch = broadcast(batch, extra)
        for label, dim in named.items():
            (sizes[label],) = broadcast((sizes.get(label, 1),), (dim,))
    before, _, after = output.partition(ELLIPSIS)
    inner = batch if ELLIPSIS in output else ()
    return [(*(sizes[a] for a in before), *inner, *(sizes[a] for a in after))]


def _term_sizes(term: str, shape: Shape, equation: str) -> tuple[Shape, dict[str, Dimension]]:
    """Return the dimensions of the ellipsis and of the labels."""
    before, ellipsis, after = term.partition(ELLIPSIS)
    count = len(shape) - len(before) - len(after)
    if count < 0 or (count > 0 and not ellipsis):
        raise ShapeError(
            f"the term {term.replace(ELLIPSIS, '...')!r} of the equation {equation!r} does not fit "
            f"the input of shape {format_shape(shape)}"
        )
    behind = len(before) + count
    sizes: dict[str, Dimension] = {}
    for label, dim in zip(before + after, shape[: len(before)] + shape[behind:], strict=True):
        if not same_dimension(sizes.get(label, dim), dim):
            raise ShapeError(
                f"the label {label!r} of the equation {equation!r} means {sizes[label]} and "
                f"{dim} in the input of shape {format_shape(shape)}"
            )
        sizes[label] = known_better(sizes.get(label, dim), dim)
    return shape[len(before) : behind], sizes


ELLIPSIS = "."
"""The label of "..." in the terms of an Einsum equation."""


@layer(
    1007,
    inputs=[slot("inputs", "One tensor for each term of the equation.", variadic=True)],
    outputs=[result(like="inputs")],
    infer=_einsum,
)
class EinsumDescriptor(Descriptor):
    """Products of tensors summed over axes: Einstein's notation.

    ONNX, NumPy: einsum. ``ij,jk->ik`` is the product of two matrices. Each letter names an axis;
    one that the output lacks is summed over, one that occurs twice in a term takes the diagonal.
    ``...`` names axes that broadcast. Without ``->`` the output has the ellipsis and then, in the
    order of the alphabet, the letters that occur once.

    Attributes:
        equation: The labels of the axes of each input and of the output.
    """

    equation: str = ""

    def check(self) -> None:
        """Raise InvalidArgumentError if the equation is not well formed."""
        self.terms()

    def terms(self) -> tuple[list[str], str]:
        """Return the labels of each input and the output.

        ``...`` is :data:`ELLIPSIS`.

        Raises:
            InvalidArgumentError: The equation is not well formed.
        """
        equation = self.equation.replace(" ", "")
        left, arrow, output = equation.replace("...", ELLIPSIS).partition("->")
        labels = left.replace(",", "")
        if not arrow:
            once = sorted(a for a in labels if a != ELLIPSIS and labels.count(a) == 1)
            output = "".join([ELLIPSIS] * (ELLIPSIS in labels) + once)
        terms = left.split(",")
        if (
            "." in equation.replace("...", "")
            or not all(_is_term(term) for term in (*terms, output))
            or len(set(output)) != len(output)
            or not set(output) <= set(labels)
            or (ELLIPSIS in labels) != (ELLIPSIS in output)
        ):
            raise InvalidArgumentError(
                f"{type(self).__name__}: the parameter 'equation' is {self.equation!r}, expected "
                "letters and at most one '...' for each input, between commas, then '->' and those "
                "of the output, each once"
            )
        return terms, output


def _is_term(term: str) -> bool:
    letters = term.replace(ELLIPSIS, "", 1)
    return not letters or (letters.isascii() and letters.isalpha())
