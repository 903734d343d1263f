# SPDX-License-Identifier: MIT
"""Elementwise functions, and chains of them that are fused into the kernel in front of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from armnn_backend_cl.elements import FLOATS, Elements
from armnn_backend_cl.launches import Argument, Weights
from armnn_backend_cl.views import View, walked

if TYPE_CHECKING:
    from armnn.graph import Layer, Value


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of an elementwise function.

    Attributes:
        source: A value of the network, or a constant in the form that kernels read.
        view: How the operand is broadcast to the shape of the result.
        elements: How its elements are stored and read.
    """

    source: Value | Weights
    view: View
    elements: Elements = FLOATS


@dataclass(frozen=True, slots=True)
class Function:
    """The elementwise function of a layer.

    Attributes:
        expression: The result in OpenCL C, as an expression of ``x``, ``y`` and ``z``, the elements
            of the operands, and of the parameters ``a`` and ``b``.
        operands: One to three.
        result: How elements of the result are stored.
        a: The first parameter of the layer.
        b: Its second one.
    """

    expression: str
    operands: tuple[Operand, ...]
    result: Elements = FLOATS
    a: float = 0.0
    b: float = 0.0


FUNCTIONS: Final[dict[str, Callable[[Layer], Function]]] = {}
"""Layers that are functions of elements, by the name of the layer type."""

Places: TypeAlias = "Mapping[Value, Argument]"
"""The arguments of a kernel for the values that its layers read."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain in OpenCL C: a text that precedes a kernel's, and arguments that precede its own.

    The text defines ``OPERANDS``, further parameters of the kernel, and ``CHAIN(v, i)``, the
    element ``i`` of the chain's result, where ``v`` is the element that the kernel computes.

    Attributes:
        text: The two definitions.
        arguments: The arguments for ``OPERANDS``.
        result: How elements of the result are stored.
    """

    text: str
    arguments: tuple[Argument, ...]
    result: Elements = FLOATS


def chain_of(layers: Sequence[Layer], places: Places, start: Value | None = None) -> Chain:
    """Return the chain of some layers.

    Args:
        layers: Layers of elementwise functions whose results have one shape, each after the layers
            that it reads.
        places: The arguments for values that other layers make.
        start: The value whose elements the kernel itself computes; None if it computes none.
    """
    known: dict[Value | Weights, str] = {} if start is None else {start: "v"}
    loaded: dict[Operand, str] = {}
    declared: list[str] = []
    given: list[str] = []
    arguments: list[Argument] = []
    statements: list[str] = []
    types = {}
    result, made = "v", FLOATS

    def element(operand: Operand) -> str:
        """Return the name of an operand's element."""
        name = known.get(operand.source) or loaded.get(operand)
        if name is None:
            name = loaded[operand] = f"e{len(loaded)}"
            index, sizes = _index(name, operand.view)
            source = operand.source
            arguments.append(source if isinstance(source, Weights) else places[source])
            arguments.extend(sizes.values())
            elements = operand.elements
            declared.append(f"INPUT({elements.stored}, {name})")
            declared.extend(f"const {_type(size)} {each}" for each, size in sizes.items())
            given.append(elements.read.format(x=name, p=f"AT({name}) + {index}"))
            types[name] = elements.value
        return name

    for number, layer in enumerate(layers):
        function = FUNCTIONS[layer.type](layer)
        names = [element(operand) for operand in function.operands]
        locals_ = [
            f"const {operand.elements.value} {letter} = {name};"
            for letter, operand, name in zip("xyz", function.operands, names, strict=False)
        ]
        for letter, value in (("a", function.a), ("b", function.b)):
            if re.search(rf"\b{letter}\b", function.expression):
                name = f"{letter}{number}"
                arguments.append(float(value))
                declared.append(f"const float {name}")
                given.append(name)
                types[name] = "float"
                locals_.append(f"const float {letter} = {name};")
        result, made = f"v{number}", function.result
        known[layer.output] = result
        statements.append(
            f"  {made.value} {result};\n"
            f"  {{ {' '.join(locals_)} {result} = {function.expression}; }}\n"
        )
    parameters = "".join(f", const {types[name]} {name}" for name in types)
    text = (
        f"#define OPERANDS {''.join(f'{each}, ' for each in declared)}\n"
        f"#define CHAIN(v, i) chain(v{''.join(f', {each}' for each in given)})\n"
        f"inline {made.value} chain(const float v{parameters}) {{\n"
        f"{''.join(statements)}  return {result};\n}}\n"
    )
    return Chain(text, tuple(arguments), made)


NO_CHAIN: Final = chain_of((), {})
"""Elements stay as the kernel makes them."""


def _index(name: str, view: View) -> tuple[str, dict[str, int | Sequence[int]]]:
    """Return the index of an operand's element for element i of the result, in OpenCL C.

    Returns:
        The expression, and the arguments of the parameters in it.
    """
    sizes, (_, strides) = walked(View.of(view.shape), view)
    if sizes[1] == 1 and (strides[0] == 1 or sizes[0] == 1):  # one element is at 0 in any case
        return "(i)", {}
    if not any(strides):
        return "0", {}
    if sizes[2] == 1 and list(strides[:2]) == [1, 0]:
        return f"((i) % {name}_size)", {f"{name}_size": sizes[0]}
    if sizes[2] == 1 and list(strides[:2]) == [0, 1]:
        return f"((i) / {name}_size)", {f"{name}_size": sizes[0]}
    return (
        f"place(i, {name}_sizes, {name}_strides)",
        {f"{name}_sizes": sizes, f"{name}_strides": strides},
    )


def _type(argument: int | Sequence[int]) -> str:
    return "int" if isinstance(argument, int) else "int8"
