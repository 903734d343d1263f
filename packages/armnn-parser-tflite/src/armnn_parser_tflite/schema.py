# SPDX-License-Identifier: MIT
"""The checked parts of a model, as plain records.

Every reference is checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from armnn.errors import ParseError
from armnn.parsing.flatbuffers import FlatFile, FlatTable
from armnn_parser_tflite._bindings import BuiltinOperator, BuiltinOptions, BuiltinOptions2
from armnn_parser_tflite.model_file import ModelFile

ABSENT = -1
"""The index of an optional input that is absent."""

_EXTERNAL_BUFFER_SLOT = 24


class Quantization:
    """Scales and zero points of a tensor (``QuantizationParameters``)."""

    __slots__ = ("axis", "scales", "zero_points")

    def __init__(self, scales: tuple[float, ...], zero_points: tuple[int, ...], axis: int) -> None:
        self.scales = scales
        self.zero_points = zero_points
        self.axis = axis


class Tensor:
    """One tensor of a subgraph.

    Attributes:
        name: Its name; files do not promise that it is unique.
        shape: Its dimensions, 1 where they are not known.
        signature: Its dimensions, -1 where they are not known; empty if the file leaves it out.
        type: The number of its element type.
        buffer: The buffer of its data; 0 for none.
        external_buffer: The id of the data in another file; 0 for none.
        quantization: None if its elements are plain.
        is_variable: Whether it keeps its value from one run to the next.
        sparsity: Where the elements of its data are, if the zeros are left out.
    """

    __slots__ = (
        "buffer",
        "external_buffer",
        "is_variable",
        "name",
        "quantization",
        "shape",
        "signature",
        "sparsity",
        "type",
    )

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        signature: tuple[int, ...],
        type: int,
        buffer: int,
        external_buffer: int,
        quantization: Quantization | None,
        is_variable: bool,
        sparsity: FlatTable | None,
    ) -> None:
        self.name = name
        self.shape = shape
        self.signature = signature
        self.type = type
        self.buffer = buffer
        self.external_buffer = external_buffer
        self.quantization = quantization
        self.is_variable = is_variable
        self.sparsity = sparsity


class OperatorCode:
    """An operator's function: a builtin code or custom name."""

    __slots__ = ("builtin", "custom", "version")

    def __init__(self, builtin: int, custom: str, version: int) -> None:
        self.builtin = builtin
        self.custom = custom
        self.version = version


class OperatorRecord:
    """One operator of a subgraph.

    Attributes:
        number: Its position.
        code: The operator that it computes.
        inputs: The indices of its inputs, :data:`ABSENT` for one left out.
        outputs: The indices of its outputs.
        table: The rest of it.
    """

    __slots__ = ("code", "inputs", "number", "outputs", "table")

    def __init__(
        self,
        number: int,
        code: OperatorCode,
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        table: FlatTable,
    ) -> None:
        self.number = number
        self.code = code
        self.inputs = inputs
        self.outputs = outputs
        self.table = table


class Subgraph:
    """Tensors and the operators between them."""

    __slots__ = ("inputs", "name", "operators", "outputs", "tensors")

    def __init__(
        self,
        name: str,
        tensors: tuple[Tensor, ...],
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        operators: tuple[OperatorRecord, ...],
    ) -> None:
        self.name = name
        self.tensors = tensors
        self.inputs = inputs
        self.outputs = outputs
        self.operators = operators


def read_subgraph(model: ModelFile, index: int) -> Subgraph:
    """Return a subgraph of a model.

    Raises:
        ParseError: There is no such subgraph, or it is malformed.
    """
    subgraphs = model.root.tables("Subgraphs")
    if not 0 <= index < len(subgraphs):
        raise ParseError(
            f"the model {model.file.name!r} has {len(subgraphs)} subgraphs: there is no number "
            f"{index}"
        )
    table = subgraphs[index]
    tensors = tuple(map(_tensor, table.tables("Tensors")))
    codes = [_code(entry) for entry in model.root.tables("OperatorCodes")]
    return Subgraph(
        table.text("Name"),
        tensors,
        _indices(table, "Inputs", tensors, model.file),
        _indices(table, "Outputs", tensors, model.file),
        tuple(
            _operator(entry, at, codes, tensors, model.file)
            for at, entry in enumerate(table.tables("Operators"))
        ),
    )


class Signature:
    """A subgraph's name, with names for inputs and outputs.

    Attributes:
        key: Its own name.
        subgraph: The number of the subgraph.
        inputs: From the names of the inputs to the indices of tensors.
        outputs: From the names of the outputs to the indices of tensors.
    """

    __slots__ = ("inputs", "key", "outputs", "subgraph")

    def __init__(
        self,
        key: str,
        subgraph: int,
        inputs: Mapping[str, int],
        outputs: Mapping[str, int],
    ) -> None:
        self.key = key
        self.subgraph = subgraph
        self.inputs = inputs
        self.outputs = outputs


def read_signatures(model: ModelFile) -> Iterator[Signature]:
    """Yield the signatures of a model."""
    for entry in model.root.tables("SignatureDefs"):
        yield Signature(
            entry.text("SignatureKey"),
            entry.integer("SubgraphIndex"),
            _named_tensors(entry, "Inputs"),
            _named_tensors(entry, "Outputs"),
        )


def find_signature(model: ModelFile, *, key: str | None, subgraph: int) -> Signature:
    """Return a signature, else the subgraph's first.

    It has no names if the subgraph has none.

    Args:
        model: The file.
        key: The name of the signature; None for the first one of the subgraph.
        subgraph: The number of the subgraph, if there is no key.

    Raises:
        ParseError: There is no signature of that name.
    """
    signatures = tuple(read_signatures(model))
    for each in signatures:
        if each.key == key if key is not None else each.subgraph == subgraph:
            return each
    if key is not None:
        keys = [each.key for each in signatures]
        raise ParseError(
            f"the model {model.file.name!r} has no signature {key!r}: it has "
            f"{', '.join(map(repr, keys)) or 'none'}"
        )
    return Signature("", subgraph, {}, {})


def _named_tensors(signature: FlatTable, field: str) -> dict[str, int]:
    return {at.text("Name"): at.integer("TensorIndex") for at in signature.tables(field)}


def builtin_name(code: int) -> str:
    """Return a builtin operator's name, else its number.

    It has only a number if the schema is older than the operator.
    """
    return _NAMES.get(code, f"builtin operator {code}")


def constants(kind: type) -> dict[int, str]:
    """Return the names of one of the schema's enumerations."""
    # From Python 3.13 on a class has the number of its first line, too.
    return {number: name for name, number in vars(kind).items() if name[0] != "_"}


_NAMES = constants(BuiltinOperator)

OPTIONS = constants(BuiltinOptions)
"""From the number of a kind of options to the name of its table in the schema."""

NEWER_OPTIONS = {number: name for number, name in constants(BuiltinOptions2).items() if number}
"""The kinds that stand in the second field for options, which newer operators use."""


def _tensor(table: FlatTable) -> Tensor:
    quantization = table.table("Quantization")
    shape, signature = table.integers("Shape"), table.integers("ShapeSignature")
    return Tensor(
        name=table.text("Name"),
        shape=shape,
        signature=signature if len(signature) == len(shape) else (),
        type=table.integer("Type"),
        buffer=table.integer("Buffer"),
        external_buffer=table.slot_integer(_EXTERNAL_BUFFER_SLOT),
        quantization=None if quantization is None else _quantization(quantization),
        is_variable=table.flag("IsVariable"),
        sparsity=table.table("Sparsity"),
    )


def _quantization(table: FlatTable) -> Quantization | None:
    scales = table.reals("Scale")
    if not scales:
        return None
    return Quantization(scales, table.integers("ZeroPoint"), table.integer("QuantizedDimension"))


def _code(table: FlatTable) -> OperatorCode:
    # The older field has one byte; where that is too narrow it stands at its largest value.
    return OperatorCode(
        max(table.integer("DeprecatedBuiltinCode"), table.integer("BuiltinCode")),
        table.text("CustomCode"),
        table.integer("Version"),
    )


def _operator(
    table: FlatTable,
    index: int,
    codes: Sequence[OperatorCode],
    tensors: Sequence[Tensor],
    file: FlatFile,
) -> OperatorRecord:
    code = table.integer("OpcodeIndex")
    if not 0 <= code < len(codes):
        raise file.error(f"operator {index} names the operator code {code} of {len(codes)}")
    return OperatorRecord(
        index,
        codes[code],
        _indices(table, "Inputs", tensors, file, optional=True),
        _indices(table, "Outputs", tensors, file),
        table,
    )


def _indices(
    table: FlatTable,
    field: str,
    tensors: Sequence[Tensor],
    file: FlatFile,
    *,
    optional: bool = False,
) -> tuple[int, ...]:
    indices = table.integers(field)
    least = ABSENT if optional else 0
    for index in indices:
        if not least <= index < len(tensors):
            raise file.error(f"it names the tensor {index} of {len(tensors)}")
    return indices
