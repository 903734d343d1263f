# SPDX-License-Identifier: MIT
"""The options of the command line that are OptimizerOptions."""

from __future__ import annotations

import argparse
import sys
from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from armnn.cli.model_options import backend_options, layer_backends
from armnn.cli.output import printable
from armnn.optimizer.options import OptimizerOptions, ShapeInferenceMethod, default_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_OTHERWISE = {
    "model_options": "--option",
    "layer_backends": "--layer-backend",
    "strict": "--strict",
    "profiling_enabled": "--profile",
}
"""Fields that the command has other options for."""


_SPELLED = {
    "debug": "--print-intermediate-layers",
    "debug_to_file": "--print-intermediate-layers-to-file",
}
"""Fields with the names that Arm NN's ExecuteNetwork gives them; --debug is about the command."""

_SHORTER = {"reduce_fp32_to_fp16": "--fp16-turbo", "reduce_fp32_to_bf16": "--bf16"}
"""Second names: Arm NN's ExecuteNetwork has a "turbo mode" for each."""


def flag_of(option: Field[Any]) -> str:
    """Return how the command line spells a field."""
    known = _OTHERWISE.get(option.name) or _SPELLED.get(option.name)
    prefix = "--no-" if default_of(option) is True else "--"
    return known or prefix + option.name.replace("_", "-")


def add_optimizer_arguments(parser: argparse.ArgumentParser) -> None:
    """Add an option for each field that has none yet."""
    group = parser.add_argument_group("optimizer")
    for option in _own_options():
        purpose, default = option.metadata["purpose"], default_of(option)
        kind: dict[str, Any] = {"action": "store_true", "help": purpose}
        if option.name == "debug_to_file":
            kind = {"metavar": "DIR", "default": False, "help": purpose}
        elif isinstance(default, ShapeInferenceMethod):
            names = [member.arm_name for member in ShapeInferenceMethod]
            shown = f"{purpose} (default: %(default)s)"
            kind = {"choices": names, "default": default.arm_name, "help": shown}
        elif isinstance(default, int) and not isinstance(default, bool):
            shown = f"{purpose} (default: %(default)s)"
            kind = {"metavar": "N", "type": int, "default": default, "help": shown}
        elif isinstance(default, float):
            shown = f"{purpose} (default: %(default)s)"
            kind = {"metavar": "S", "type": float, "default": default, "help": shown}
        elif isinstance(default, str):
            kind = {"metavar": "FILE", "default": default, "help": purpose}
        elif default is True:
            kind = {"action": "store_false", "help": f"do not {purpose}"}
        spelled = [flag_of(option)]
        spelled += [_SHORTER[option.name]] if option.name in _SHORTER else []
        group.add_argument(*spelled, dest=f"optimizer_{option.name}", **kind)


def optimizer_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options that the command line gives, as keywords."""
    given = {each.name: getattr(arguments, f"optimizer_{each.name}") for each in _own_options()}
    return {**given, "debug": show_tensor if given["debug"] else False}


def prepared_as(arguments: argparse.Namespace) -> OptimizerOptions:
    """Return all options of a preparation that shows no tensors."""
    return OptimizerOptions(
        **{**optimizer_options(arguments), "debug": False, "debug_to_file": False},
        model_options=backend_options(arguments.option),
        layer_backends=layer_backends(arguments.layer_backend),
        strict=arguments.strict,
    )


def show_tensor(layer: str, slot: int, array: NDArray[Any]) -> None:
    """Print a tensor's kind and range to standard error."""
    what = f"{layer} ({slot}): {array.dtype}{list(array.shape)}"
    if array.size:
        numbers = array.astype(np.float64)
        what += f" from {numbers.min():.6g} to {numbers.max():.6g}, mean {numbers.mean():.6g}"
    print(printable(what), file=sys.stderr)


def _own_options() -> list[Field[Any]]:
    return [option for option in fields(OptimizerOptions) if option.name not in _OTHERWISE]
