# SPDX-License-Identifier: MIT
"""A network as text for Graphviz (``dot -Tsvg``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from armnn.graph.layer import Layer
from armnn.graph.network import Network
from armnn.graph.text import changed_parameters, printable

# The "pastel19" scheme of ColorBrewer, which stays readable under black text and in print.
_COLORS = (
    "#b3cde3", "#ccebc5", "#fed9a6", "#decbe4", "#fbb4ae", "#ffffcc", "#e5d8bd", "#fddaec",
)  # fmt: skip
_NO_BACKEND = "#f2f2f2"


def to_dot(network: Network, parts: Mapping[str, str] | None = None) -> str:
    """Return a directed graph in the DOT language.

    Counterpart of Arm NN's ``SerializeToDot``. A node shows a layer's type, name, backend (also as
    its color), those parameters that differ from their defaults, and the constants that it reads.
    An edge shows what flows along it.

    Args:
        network: The network to draw.
        parts: The part that a layer was compiled into, by the layer's name; each part is a box
            around its layers.
    """
    order = [layer for layer in network.topological_order() if not _is_written_at_readers(layer)]
    backends = dict.fromkeys(layer.backend for layer in order if layer.backend is not None)
    colors = {name: _COLORS[i % len(_COLORS)] for i, name in enumerate(backends)}
    boxes: dict[str, list[Layer]] = {"": []}
    for layer in order:
        bound = layer.type in ("Input", "Output")  # they have names of their own
        boxes.setdefault("" if bound else (parts or {}).get(layer.name, ""), []).append(layer)
    lines = [
        f"digraph {_quoted(network.name)} {{",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=10];',
        '  edge [fontname="sans-serif", fontsize=9];',
    ]
    lines += (f"  {_node(layer, colors)}" for layer in boxes.pop(""))
    for number, (part, layers) in enumerate(boxes.items()):
        lines += _box(number, part, layers, colors)
    for layer in order:
        lines += _edges(layer)
    return "\n".join([*lines, "}", ""])


def _box(
    number: int, part: str, layers: Sequence[Layer], colors: Mapping[str, str]
) -> Iterator[str]:
    """Yield the lines of a box.

    A name that begins with "cluster" is what makes Graphviz draw one.
    """
    label = f"{part} on {layers[0].backend}: {len(layers)} layers"
    yield f"  subgraph cluster_{number} {{"
    yield f'    label={_quoted(label)}; style=dashed; fontname="sans-serif"; fontsize=10;'
    yield from (f"    {_node(layer, colors)}" for layer in layers)
    yield "  }"


def _node(layer: Layer, colors: Mapping[str, str]) -> str:
    color = _NO_BACKEND if layer.backend is None else colors[layer.backend]
    label = _quoted("\n".join(_label_lines(layer)))
    return f'n{layer.guid} [label={label}, fillcolor="{color}"];'


def _is_written_at_readers(layer: Layer) -> bool:
    """Return whether a constant is shown in its readers' labels."""
    readers = layer.outputs[0].consumers if layer.type == "Constant" else ()
    return bool(readers) and all(reader.type != "Output" for reader in readers)


def _label_lines(layer: Layer) -> Iterator[str]:
    yield layer.title if layer.backend is None else f"{layer.title} on {layer.backend}"
    yield layer.name
    for name, parameter in changed_parameters(layer.descriptor):
        yield f"{name} = {parameter}"
    for index, value in enumerate(layer.inputs):
        if value is not None and _is_written_at_readers(value.producer):
            yield f"{layer.spec.input_slot(index).name}: {value.info}"


def _edges(layer: Layer) -> Iterator[str]:
    for index, value in enumerate(layer.inputs):
        if value is None or _is_written_at_readers(value.producer):
            continue
        label = str(value.info)
        if len(layer.inputs) > 1:
            label = f"{layer.spec.input_slot(index).name}: {label}"
        yield f"  n{value.producer.guid} -> n{layer.guid} [label={_quoted(label)}];"


def _quoted(text: str) -> str:
    """Return a DOT string, with unprintable characters escaped like Python's."""
    escaped = printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


__all__ = ["to_dot"]
