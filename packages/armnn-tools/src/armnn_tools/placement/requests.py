# SPDX-License-Identifier: MIT
"""Requests to child processes: the files of a model, and options as data for JSON."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.backends import CreationOptions
from armnn.graph import Network
from armnn.optimizer import OptimizerOptions
from armnn.parsing import parse
from armnn.parsing.exporting import save
from armnn.runtime.verdicts import Trial, identity_of_file, identity_of_network, merged
from armnn_tools.debugging.samples import checked_samples
from armnn_tools.modules import modules_run

_CHECK_REPEATS: Final = 3
_IN_PROCESS_ONLY: Final = ("custom_allocators", "memory_strategies", "backends")


def request_for(
    model: str | PathLike[str] | Network,
    parser_options: Mapping[str, str | int],
    inputs: Mapping[str, NDArray[Any]] | None,
    folder: Path,
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Store a model and its inputs for child processes.

    Args:
        model: The path of a model file, or a network, which is written to the folder.
        parser_options: Options of the parser of a file.
        inputs: By name; random ones if left out.
        folder: Where the files are written.

    Returns:
        The identities of the model, and what a child gets to read model and inputs.

    Raises:
        InvalidArgumentError: An input is missing, or its shape is not known in full.
        ModelFileError: The model cannot be read.
        NotStorableError: The network cannot be written.
    """
    if isinstance(model, Network):
        network, path = model, folder / "model.armnn"
        save(network, path, beyond_arm_nn=True)
        identities: tuple[str, ...] = (identity_of_network(network),)
        parser_options = {}
    else:
        path = Path(model)
        network = parse(path, parser_options=parser_options)
        identities = (identity_of_file(path), identity_of_network(network))
    (arrays,) = checked_samples(network, None if inputs is None else [inputs], 1)
    stored = folder / "inputs.npz"
    numbered = {f"input{number}": array for number, array in enumerate(arrays.values())}
    np.savez(stored, **numbered)  # type: ignore[arg-type]  # its stub has allow_pickle first
    return identities, {
        "model": os.fspath(path.resolve()),
        "parser_options": dict(parser_options),
        "inputs": os.fspath(stored),
        "repeats": _CHECK_REPEATS,
        "modules": modules_run,
    }


def transferable(options: CreationOptions) -> dict[str, Any]:
    """Return the options of a runtime, without functions and objects."""
    return {
        each.name: value
        for each in fields(options)
        if each.name not in _IN_PROCESS_ONLY and (value := getattr(options, each.name)) is not None
    }


def transferable_optimizer(options: OptimizerOptions) -> dict[str, Any]:
    """Return the options of a preparation, without those that print tensors."""
    hidden = replace(options, debug=False, debug_to_file=False, verdicts="")
    found = {each.name: getattr(hidden, each.name) for each in fields(hidden)}
    return {**found, "shape_inference_method": hidden.shape_inference_method.arm_name}


def following(options: Mapping[str, Any], trial: Trial, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return transferable options with those of a choice.

    Args:
        options: The options of a preparation.
        trial: The choice.
        given: The caller's options of backends, which win.
    """
    return {**options, "model_options": merged(given, trial.options, trial.backends)}
