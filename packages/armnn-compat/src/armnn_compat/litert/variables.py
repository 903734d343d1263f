# SPDX-License-Identifier: MIT
"""The first values of variables that outlive a run, as the file's initialisation assigns them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from armnn.errors import InvalidArgumentError
from armnn_compat.litert.model import data_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def first_values(root: Any) -> dict[str, NDArray[Any]]:
    """Return what ``CALL_ONCE`` assigns to variables, by their names.

    Args:
        root: The ``Model`` table of the file.

    Raises:
        InvalidArgumentError: It computes what it assigns.
    """
    import tflite  # type: ignore[import-untyped]  # armnn-core[tflite] brings it

    names = tflite.BuiltinOperator
    values: dict[str, NDArray[Any]] = {}
    for once in _operators(root, root.Subgraphs(0), names.CALL_ONCE):
        subgraph = root.Subgraphs(_options(once, tflite.CallOnceOptions()).InitSubgraphIndex())
        handles = {
            handle.Outputs(0): _options(handle, tflite.VarHandleOptions()).SharedName().decode()
            for handle in _operators(root, subgraph, names.VAR_HANDLE)
        }
        for assignment in _operators(root, subgraph, names.ASSIGN_VARIABLE):
            name = handles.get(assignment.Inputs(0), "")
            value = data_of(root, subgraph.Tensors(assignment.Inputs(1)))
            if value is None:
                raise InvalidArgumentError(
                    f"the variable {name!r} starts with a value that is computed: only models "
                    "whose variables start with constants can be run"
                )
            values[name] = value
    return values


def _operators(root: Any, subgraph: Any, code: int) -> Iterator[Any]:
    for at in range(subgraph.OperatorsLength()):
        operator = subgraph.Operators(at)
        entry = root.OperatorCodes(operator.OpcodeIndex())
        if max(entry.DeprecatedBuiltinCode(), entry.BuiltinCode()) == code:
            yield operator


def _options(operator: Any, options: Any) -> Any:
    table = operator.BuiltinOptions()
    options.Init(table.Bytes, table.Pos)
    return options
