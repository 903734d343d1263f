# SPDX-License-Identifier: MIT
"""A network as text, as ``print`` shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from enum import Enum

from armnn.graph.layer import Layer
from armnn.layers import Descriptor
from armnn.tensor import TensorInfo

_VALUE_LIMIT = 60
"""Characters of a parameter's value that are shown."""


def network_text(
    summary: str, inputs: Iterable[Layer], layers: Iterable[Layer], outputs: Iterable[Layer]
) -> str:
    """Return a network's inputs, layers and outputs, one per line.

    A layer is shown with its type, what it reads, those parameters that differ from their
    defaults, what it makes, and its backend if it has one. Constants are shown where they are read.

    Args:
        summary: The first line; see :func:`summary_of`.
        inputs: The Input layers.
        layers: All layers, in the order in which they run.
        outputs: The Output layers.
    """
    return sections_text(
        summary,
        {
            "inputs": [f"{layer.name}: {layer.output.info}" for layer in inputs],
            "layers": layer_lines(layers),
            "outputs": (
                f"{layer.name}: {value.info} from {value.name}"
                for layer in outputs
                for value in layer.inputs
                if value is not None
            ),
        },
    )


def layer_lines(layers: Iterable[Layer]) -> list[str]:
    """Return a line for each layer.

    Inputs, outputs and constants have none.
    """
    return [_line(layer) for layer in layers if _has_a_line(layer)]


def sections_text(title: str, sections: Mapping[str, Iterable[str]]) -> str:
    """Return a title and lines below headings, without control characters."""
    lines = [title]
    for heading, content in sections.items():
        lines += [f"{heading}:", *(f"  {line}" for line in content)]
    return "\n".join(printable(line).replace("\n", "\\n") for line in lines)


def tensors_text(infos: Mapping[str, TensorInfo]) -> list[str]:
    """Return a line for each tensor."""
    return [f"{name}: {info}" for name, info in infos.items()]


def summary_of(
    name: str, inputs: Sequence[Layer], layers: Iterable[Layer], outputs: Sequence[Layer]
) -> str:
    """Return a network's name and counts of inputs, layers, outputs."""
    shown = sum(map(_has_a_line, layers))
    counts = [(len(inputs), "input"), (shown, "layer"), (len(outputs), "output")]
    text = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts)
    return printable(f"Network {name!r}: {text}")


def changed_parameters(descriptor: Descriptor) -> Iterator[tuple[str, str]]:
    """Yield the parameters that differ from their defaults.

    Each is its name and its value; long values are cut.
    """
    for field in fields(descriptor):
        value = getattr(descriptor, field.name)
        if field.default_factory is not MISSING:
            default = field.default_factory()
        else:
            default = field.default
        if value != default:
            yield field.name, _shortened(_written(value))


def printable(text: str) -> str:
    """Return a text with control characters escaped like Python's."""
    return "".join(
        char if char.isprintable() or char == "\n" else ascii(char)[1:-1] for char in text
    )


def _has_a_line(layer: Layer) -> bool:
    return layer.type not in ("Input", "Output", "Constant")


def _line(layer: Layer) -> str:
    operands = ", ".join(_operands(layer))
    parameters = ", ".join(
        f"{name}={value}" for name, value in changed_parameters(layer.descriptor)
    )
    inside = "; ".join(filter(None, (operands, parameters)))
    made = ", ".join(map(str, layer.output_infos))
    where = f" on {layer.backend}" if layer.backend is not None else ""
    return f"{layer.name}: {layer.title}({inside}) -> {made}{where}"


def _operands(layer: Layer) -> Iterator[str]:
    """Name the operands of a layer.

    The slot is named for a constant, and behind an absent input.
    """
    is_complete = True
    for index, value in enumerate(layer.inputs):
        slot = layer.spec.input_slot(index).name
        if value is None:
            is_complete = False
        elif value.constant is not None:
            yield f"{slot}={value.info}"
        else:
            yield value.name if is_complete else f"{slot}={value.name}"


def _written(value: object) -> str:
    if isinstance(value, Enum):
        return str(getattr(value, "arm_name", value.name))
    if isinstance(value, tuple):
        return "(" + ", ".join(_written(item) for item in value) + ")"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= _VALUE_LIMIT else text[: _VALUE_LIMIT - 3] + "..."
