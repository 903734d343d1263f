# SPDX-License-Identifier: MIT
"""Changes of a decoder's graph: sizes that a file leaves open, and options of the parser."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from armnn_parser_onnx.messages import (
    INT,
    Dimension,
    Entry,
    Graph,
    Node,
    ValueInfo,
    make_attribute,
    make_type,
)
from armnn_parser_onnx.model_file import ModelFile
from armnn_parser_onnx.tensors import to_array

_PRODUCTS = {("", "MatMul"), ("com.microsoft", "MatMulNBits")}
_ELEMENTWISE = {"Add", "Cast", "Div", "Identity", "Mul", "Sub", "Tanh"}
_SIZING = {"Cast", "Gather", "Reshape", "Squeeze"}
_INT64 = 7

SHORT_CONTEXT = "original_max_position_embeddings"
"""The key of :func:`note_short_context`, the name of this number in configurations of models."""


def use_whole_caches(graph: Graph) -> None:
    """Give caches that move with the window of their attention room for all tokens."""
    for node in graph.node:
        if node.op_type == "GroupQueryAttention":
            kept = [each for each in node.attribute if each.name != "sliding_window_cache"]
            node.attribute[:] = kept


def state_cache_sizes(graph: Graph) -> None:
    """State the size of keys and values that GroupQueryAttention keeps, where it has a name only.

    So it is in files of onnxruntime-genai's model builder. The product behind the attention has the
    heads side by side.
    """
    dims = {each.name: _dims_of(each) for each in (*graph.input, *graph.output)}
    constants = {each.name: each for each in graph.initializer}
    products = {node.input[0]: node for node in graph.node if _is_product(node)}
    for node in graph.node:
        if node.op_type == "DequantizeLinear" and node.output and node.input[:1]:
            stored = constants.get(node.input[0])
            if stored is not None:
                constants[node.output[0]] = stored
    for node in graph.node:
        product = products.get(node.output[0]) if node.output else None
        if node.op_type != "GroupQueryAttention" or product is None:
            continue
        numbers = _numbers_of(node)
        heads, weights = numbers.get("num_heads", 0), constants.get(product.input[1])
        depth = _numbers_of(product).get("K", 0)
        if not depth and weights is not None and len(weights.dims) == 2:
            depth = weights.dims[0]
        if heads < 1 or depth < 1 or depth % heads or numbers.get("kv_cache_bit_width"):
            continue
        for name in (*node.input[3:5], *node.output[1:3]):
            size = dims.get(name, [])[3:]
            if size and size[0].dim_value is None:
                size[0].dim_param, size[0].dim_value = None, depth // heads


def choose_row(model: ModelFile, logits: str) -> None:
    """Let the last product compute the logits of one token only, which a new input chooses.

    The graph stays as it is where that product is not found, or logits are not of all tokens.

    Args:
        model: The model.
        logits: The name of its output of logits, [batch, tokens, words]. The input is called
            "LOGITS.row" and has one element.
    """
    graph = model.graph
    product = _last_product(graph, logits)
    if product is None:
        return
    rows = _rows_of(graph, logits)
    source = _before_the_last(model, product.input[0]) if rows is None else product.input[0]
    if source is None:
        return
    row, chosen = f"{logits}.row", f"{logits}.chosen"
    gather = Node(
        op_type="Gather",
        name=chosen,
        input=[source, row],
        output=[chosen],
        attribute=[make_attribute("axis", 1)],
    )
    graph.node.insert(graph.node.index(product), gather)
    product.input[0] = chosen
    graph.input.append(ValueInfo(name=row, type=make_type(_INT64, [1])))
    if rows is not None:
        rows.dim_param, rows.dim_value = None, 1
    graph.value_info = []  # shapes of all tokens


def _before_the_last(model: ModelFile, name: str) -> str | None:
    """Return what a value is the last token of, [batch, 1, numbers]; None if it is not.

    onnxruntime-genai's model builder takes it by Gather and Unsqueeze (``prune_lm_head``).
    """
    producers = {output: node for node in model.graph.node for output in node.output}
    widened = producers.get(name)
    taken = producers.get(widened.input[0]) if widened is not None and widened.input else None
    if widened is None or taken is None:
        return None
    is_taken = (widened.op_type, taken.op_type) == ("Unsqueeze", "Gather")
    if not is_taken or _numbers_of(taken).get("axis") != 1 or len(taken.input) != 2:
        return None
    return taken.input[0] if _number(model, taken.input[1]) == -1 else None


def note_short_context(model: ModelFile, mask: str = "attention_mask") -> None:
    """Note in the metadata up to how many tokens a model turns by its first table of angles.

    Models with LongRoPE have another table for longer texts, between which the length of the mask
    decides. A mask for a cache with room is longer than the text, so that who runs such a model
    gives the cache no more room than this number, until the text is longer.
    """
    producers = {output: node for node in model.graph.node for output in node.output}
    for node in model.graph.node:
        compared = producers.get(node.input[0]) if node.op_type == "If" and node.input else None
        if compared is None or compared.op_type != "Greater" or len(compared.input) != 2:
            continue
        most = _number(model, compared.input[1])
        sized: Node | None = producers.get(compared.input[0])
        while sized is not None and sized.op_type in _SIZING and sized.input:
            sized = producers.get(sized.input[0])
        is_length = sized is not None and sized.op_type == "Shape" and sized.input == [mask]
        if is_length and most is not None and most > 0:
            entry = Entry(key=SHORT_CONTEXT, value=str(most))
            model.proto.metadata_props = [*model.proto.metadata_props, entry]
            return


def _number(model: ModelFile, name: str) -> int | None:
    """Return a constant of one whole number, None if a name is something else."""
    found = [each for each in model.graph.initializer if each.name == name]
    for node in model.graph.node:
        if node.op_type == "Constant" and name in node.output:
            found += [each.t for each in node.attribute if each.t is not None]
    if len(found) != 1 or found[0].data_type != _INT64 or math.prod(found[0].dims) != 1:
        return None
    return int(to_array(found[0], model.external_data).reshape(()))


def _last_product(graph: Graph, logits: str) -> Node | None:
    """Return the product that logits are made of, element by element; None if there is none."""
    producers = {name: node for node in graph.node for name in node.output}
    constants = {each.name: [*each.dims] for each in graph.initializer}
    for name, made in producers.items():
        if made.op_type == "Constant":
            constants[name] = [n for each in made.attribute if each.t for n in each.t.dims]
    readers = Counter(_read_names(graph))
    readers.update(each.name for each in graph.output)
    name = logits
    while (node := producers.get(name)) is not None and readers[name] == 1:
        if _is_product(node):
            return node if node.input[0] not in constants else None
        computed = [each for each in node.input if each not in constants]
        others = [constants[each] for each in node.input if each in constants]
        has_rows = any(dim != 1 for dims in others for dim in dims[:-1])
        if node.domain or node.op_type not in _ELEMENTWISE or len(computed) != 1 or has_rows:
            return None
        name = computed[0]
    return None


def _read_names(graph: Graph) -> Iterator[str]:
    """Yield the names that nodes read, also those of branches and bodies."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                if inner is not None:
                    yield from _read_names(inner)
                    yield from (each.name for each in inner.output)


def _is_product(node: Node) -> bool:
    is_whole = len(node.input) >= 2  # else the model is refused later
    return is_whole and (node.domain, node.op_type) in _PRODUCTS


def _numbers_of(node: Node) -> dict[str, int]:
    """Return the attributes of a node that are whole numbers."""
    return {each.name: each.i for each in node.attribute if each.type == INT}


def _rows_of(graph: Graph, logits: str) -> Dimension | None:
    """Return the second dimension of logits if it is that of an input, such as of the tokens."""
    dims = {each.name: _dims_of(each) for each in (*graph.input, *graph.output)}
    found = dims.get(logits, [])
    tokens = {each[1].dim_param for each in map(_dims_of, graph.input) if len(each) == 2}
    return found[1] if len(found) == 3 and found[1].dim_param in tokens - {None, ""} else None


def _dims_of(value: ValueInfo) -> list[Dimension]:
    tensor = value.type.tensor_type if value.type is not None else None
    return [] if tensor is None or tensor.shape is None else tensor.shape.dim
