# SPDX-License-Identifier: MIT
"""Writes the builders of networks from the layer table."""

from __future__ import annotations

import dataclasses
import json
import re
import textwrap
import types
from collections.abc import Iterable
from typing import Any, Union, get_args, get_origin, get_type_hints

from tools.generate import layers_header
from tools.generate.documented import documented

WIDTH = 100
HAND_WRITTEN = ("Input", "Output", "Constant")
"""Layers whose builders take something else than inputs and parameters."""

HEAD = '''\
"""One typed method per layer type; Network inherits them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

{imports}
Operand: TypeAlias = "Value | NDArray[Any]"


class LayerBuilders:
    """The ``add_<layer>`` methods of a network.

    Inputs are values of the network, or arrays, which become constants. An input named
    ``computed_<parameter>`` takes the place of that parameter. All raise ShapeError if
    the inputs do not fit each other or the parameters, and InvalidArgumentError if a
    parameter is of another kind or outside of its range, or the name is taken. A member
    of an enumeration may be given by its name or number.
    """

    @abstractmethod
    def add(
        self,
        layer_type: LayerType | str | int,
        inputs: Sequence[Operand | None] = ...,
        descriptor: Descriptor | None = ...,
        *,
        name: str | None = ...,
        outputs: Sequence[RequestedLike] | None = ...,
    ) -> Layer:
        """Add a layer of any type."""

'''

VOWEL_SOUND = re.compile(r"[AEIO]|Un(?!i)|L(?:2|stm)")
"""Names of layers that one speaks with "an"."""


def builders(specs: Iterable[Any]) -> str:
    """Return the module of the mixin with one method per layer type."""
    specs = [spec for spec in specs if spec.name not in HAND_WRITTEN]
    modules: dict[str, set[str]] = {
        "armnn.graph._operands": {"operands"},
        "armnn.graph.layer": {"Layer", "Value"},
        "armnn.layers": {"Descriptor", "LayerType", "RequestedLike"},
    }
    for spec in specs:
        for kind in (spec.descriptor, *_enumerations(spec.descriptor)):
            modules.setdefault(kind.__module__, set()).add(kind.__name__)
    imports = "".join(_import(module, sorted(modules[module])) for module in sorted(modules))
    methods = "\n".join(map(_builder, specs))
    return HEAD.replace("{imports}", imports) + methods


def _import(module: str, names: list[str]) -> str:
    names = sorted(names, key=lambda name: [(not part.isdigit(), part) for part in _parts(name)])
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= WIDTH + 1:
        return line
    listed = "".join(f"    {name},\n" for name in names)
    return f"from {module} import (\n{listed})\n"


def _parts(name: str) -> list[str]:
    return re.findall(r"\d+|\D", name)


def method_name(layer_name: str) -> str:
    """Return "add_batch_mat_mul" for "BatchMatMul".

    Digits stay with the word before them.
    """
    return f"add_{layers_header.c_name(layer_name).lower()}"


def _has_one_output(spec: Any) -> bool:
    return len(spec.outputs) == 1 and spec.count_outputs is None


def _builder(spec: Any) -> str:
    hints = get_type_hints(spec.descriptor)
    single = _has_one_output(spec)
    returns = "Value" if single else "None" if not spec.outputs else "tuple[Value, ...]"
    lines = [f"    def {method_name(spec.name)}(", "        self,"]
    lines += [
        f"        {_parameter(input_slot)}: {_operand_type(spec, index)},"
        for index, input_slot in enumerate(spec.inputs)
    ]
    lines.append("        *,")
    for field in dataclasses.fields(spec.descriptor):
        lines += _field_lines(field, _type_text(hints[field.name]))
    lines.append("        name: str | None = None,")
    if single:
        lines.append("        output: RequestedLike = None,")
    elif spec.outputs:
        lines.append("        outputs: Sequence[RequestedLike] | None = None,")
    lines.append(f"    ) -> {returns}:")
    lines += [f"        {line}".rstrip() for line in _docstring(spec)]
    lines += _body(spec)
    return "\n".join(lines) + "\n"


def _parameter(input_slot: Any) -> str:
    return f"computed_{input_slot.name}" if input_slot.fills else str(input_slot.name)


def _operand_type(spec: Any, index: int) -> str:
    if spec.inputs[index].variadic:
        return "Sequence[Operand]"
    if not spec.inputs[index].optional:
        return "Operand"
    # Python wants a default only where all that follows has one too.
    followed = any(not other.optional for other in spec.inputs[index:])
    return "Operand | None" if followed else "Operand | None = None"


def _docstring(spec: Any) -> list[str]:
    article = "an" if VOWEL_SOUND.match(spec.name) else "a"
    text, attributes = documented(spec.descriptor)
    arguments = {_parameter(input_slot): _input_doc(input_slot) for input_slot in spec.inputs}
    arguments |= attributes
    arguments["name"] = "Unique in the network; made from the type if left out."
    if _has_one_output(spec):
        arguments["output"] = (
            "The expected output: a TensorInfo, a DataType (the shape is inferred) "
            "or its name, or None to leave it to the layer."
        )
    elif spec.outputs:
        arguments["outputs"] = "The expectation of each output: a TensorInfo, a DataType, or None."
    lines = [f'"""Add {article} {spec.name} layer.', "", *text, "", "Args:"]
    for name, doc in arguments.items():
        lines += _wrapped(f"{name}: {doc}", "    ", "        ")
    if spec.outputs:
        lines += ["", "Returns:", *_wrapped(_returns(spec), "    ", "    ")]
    return [*lines, '"""']


def _input_doc(input_slot: Any) -> str:
    place = f"Instead of ``{input_slot.fills}``, known when the network runs: "
    return f"{place if input_slot.fills else ''}{input_slot.doc}"


def _returns(spec: Any) -> str:
    if _has_one_output(spec):
        return f"The output. {spec.outputs[0].doc}".rstrip()
    return " ".join(f"{output.name}: {output.doc}".rstrip(": ") for output in spec.outputs)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(text, WIDTH - 8, initial_indent=first, subsequent_indent=rest)


def _body(spec: Any) -> list[str]:
    names = [_parameter(input_slot) for input_slot in spec.inputs]
    if spec.is_variadic:
        names[-1] = f'*operands({names[-1]}, "{names[-1]}")'
    fields = [f"{field.name}={field.name}" for field in dataclasses.fields(spec.descriptor)]
    of = f"{spec.descriptor.__name__}{'.of' * bool(fields)}"
    descriptor = _call(f"descriptor = {of}", fields, "")
    arguments = [f'"{spec.name}"', f"[{', '.join(names)}]", "descriptor", "name=name"]
    if not spec.outputs:
        return [*descriptor, *_call("self.add", arguments, "")]
    if _has_one_output(spec):
        return [*descriptor, *_call("return self.add", [*arguments, "outputs=[output]"], ".output")]
    return [*descriptor, *_call("return self.add", [*arguments, "outputs=outputs"], ".outputs")]


def _call(function: str, arguments: list[str], behind: str) -> list[str]:
    """Return a statement with a call, broken into lines as ruff does it."""
    line = f"        {function}({', '.join(arguments)}){behind}"
    if len(line) <= WIDTH:
        return [line]
    within = [f"            {', '.join(arguments)}"]
    if len(within[0]) > WIDTH:
        within = [line for each in arguments for line in _argument(each)]
    return [f"        {function}(", *within, f"        ){behind}"]


def _argument(text: str) -> list[str]:
    if len(text) < WIDTH - 12 or text[0] != "[":
        return [f"            {text},"]
    items = [f"                {each}," for each in text.strip("[]").split(", ")]
    return ["            [", *items, "            ],"]


def _type_text(hint: Any, *, item: bool = False) -> str:
    """Return a parameter's type.

    It is what the descriptor converts to the type that it stores.
    """
    if get_origin(hint) is tuple and not item:
        (element, *_) = get_args(hint)
        return f"Sequence[{_type_text(element, item=True)}]"
    if get_origin(hint) is tuple:
        return f"tuple[{', '.join(_type_text(part, item=True) for part in get_args(hint))}]"
    if get_origin(hint) in (Union, types.UnionType):
        return " | ".join(_type_text(part) for part in get_args(hint))
    if hasattr(hint, "from_arm_name"):
        return f"{hint.__name__} | str | int"
    return "None" if hint is type(None) else str(hint.__name__)


def _field_lines(field: Any, type_text: str) -> list[str]:
    """Return a method's parameter; long ones are split into lines."""
    if field.default is dataclasses.MISSING:
        raise TypeError(f"the field {field.name!r} needs a default")
    head = f"        {field.name}: {type_text} = "
    line = f"{head}{_literal(field.default)},"
    if len(line) <= WIDTH:
        return [line]
    if not isinstance(field.default, tuple):  # as ruff breaks it
        first, *rest = line.split(" | ")
        return [first, *(f"        | {each}" for each in rest)]
    items = [f"            {_literal(item)}," for item in field.default]
    return [f"{head}(", *items, "        ),"]


def _enumerations(descriptor: type) -> set[type]:
    """Return the enumerations among a descriptor's defaults."""
    members: list[Any] = []
    for field in dataclasses.fields(descriptor):
        members += field.default if isinstance(field.default, tuple) else [field.default]
    return {type(member) for member in members if hasattr(member, "arm_name")}


def _literal(value: Any) -> str:
    """Return a value's Python source, with names of enumerations."""
    if isinstance(value, tuple):
        items = [_literal(item) for item in value]
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    if isinstance(value, str):
        return json.dumps(value)
    return f"{type(value).__name__}.{value.name}" if hasattr(value, "arm_name") else repr(value)
