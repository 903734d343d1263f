# SPDX-License-Identifier: MIT
"""The backend class of Custom, named by the entry point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from armnn.backends import (
    Backend,
    BackendVersion,
    ModelContext,
    OptimizationViews,
    OptionValue,
    SubgraphView,
    Substitution,
    Support,
    Workload,
)
from armnn.errors import BackendError
from armnn.graph import Layer
from armnn_backend_custom.layer_support import support_of
from armnn_backend_custom.pre_compiled import CustomPreCompiledObject
from armnn_backend_custom.workloads import AdditionWorkload, CopyWorkload, PreCompiledWorkload


class CustomBackend(Backend):
    """A backend that adds float32 tensors.

    Counterpart of Arm NN's tutorial backend ``CustomBackend``.
    """

    id: ClassVar[str] = "Custom"
    api_version: ClassVar[BackendVersion] = BackendVersion(1, 0)

    def supports(self, layer: Layer, model: ModelContext) -> Support:
        """Say whether Custom runs a layer."""
        return support_of(layer)

    def score(self) -> int:
        """Return 0: never chosen automatically."""
        return 0

    @property
    def capabilities(self) -> Mapping[str, OptionValue]:
        """The capabilities of Custom, by Arm NN's names."""
        return {
            "NonConstWeights": False,
            "AsyncExecution": False,
            "ProtectedContentAllocation": False,
            "ConstantTensorsAsInputs": True,
            "PreImportIOTensors": True,
            "ExternallyManagedMemory": True,
            "MultiAxisPacking": True,
            "SingleAxisPacking": True,
            "HasFp16": False,
        }

    def optimize_subgraph(self, view: SubgraphView, model: ModelContext) -> OptimizationViews:
        """Replace a subgraph of a single Addition by a PreCompiled layer."""
        if [layer.type for layer in view.layers] != ["Addition"]:
            return OptimizationViews(untouched=[view])
        return OptimizationViews(substitutions=[_pre_compiled(view)])

    def create_workload(self, layer: Layer, model: ModelContext) -> Workload:
        """Prepare a layer.

        Raises:
            BackendError: Custom does not run layers of that type.
            InvalidArgumentError: A PreCompiled layer does not hold an object of Custom.
        """
        match layer.type:
            case "Addition":
                return AdditionWorkload()
            case "PreCompiled":
                return PreCompiledWorkload(layer.compiled)
            case "Input" | "Output" | "MemCopy":
                return CopyWorkload(layer.type)
        raise BackendError(f"Custom has no workload for layer {layer.name!r} of type {layer.type}.")


def _pre_compiled(view: SubgraphView) -> Substitution:
    """Return a PreCompiled layer in place of the view."""
    replacement = view.replacement()
    stand_ins = (layer.output for layer in replacement.inputs)
    operands = dict(zip(view.inputs, stand_ins, strict=True))
    (addition,) = view.layers
    (total,) = replacement.add_pre_compiled(
        [operands[value] for value in addition.inputs if value is not None],
        outputs=[addition.output.info],
        name="pre-compiled",
    )
    total.producer.compiled = CustomPreCompiledObject()
    for index in range(len(view.outputs)):
        replacement.add_output(f"output {index}", total)
    return Substitution(view, replacement)
