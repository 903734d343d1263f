# SPDX-License-Identifier: MIT
"""Options in a form that another process can have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from armnn.backends import CreationOptions
    from armnn.optimizer import OptimizerOptions
    from armnn.verdicts.files import Trial

_IN_PROCESS_ONLY: Final = ("custom_allocators", "memory_strategies", "backends")


def transferable(options: CreationOptions) -> dict[str, Any]:
    """Return the options of a runtime, without functions and objects."""
    return {
        each.name: value
        for each in fields(options)
        if each.name not in _IN_PROCESS_ONLY and (value := getattr(options, each.name)) is not None
    }


def transferable_optimizer(options: OptimizerOptions) -> dict[str, Any]:
    """Return the options of a preparation, without what shows tensors."""
    hidden = replace(options, debug=False, debug_to_file=False, verdicts="", auto_budget=0.0)
    found = {each.name: getattr(hidden, each.name) for each in fields(hidden)}
    return {**found, "shape_inference_method": hidden.shape_inference_method.arm_name}


def merged(
    given: Mapping[str, Mapping[str, Any]],
    chosen: Mapping[str, Mapping[str, Any]],
    backends: Sequence[str],
) -> dict[str, dict[str, Any]]:
    """Return a choice's options under the caller's, for its backends."""
    found = {each: {**chosen.get(each, {}), **given.get(each, {})} for each in backends}
    return {backend: options for backend, options in found.items() if options}


def following(options: Mapping[str, Any], trial: Trial, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return transferable options with those of a choice.

    Args:
        options: Those of a preparation.
        trial: The choice.
        given: The caller's options of backends, which win.
    """
    return {
        **options,
        "model_options": merged(given, trial.options, trial.backends),
        "layer_backends": {**trial.layer_backends, **options.get("layer_backends", {})},
    }
