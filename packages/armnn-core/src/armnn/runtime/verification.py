# SPDX-License-Identifier: MIT
"""The differences between today's setup and a record of execution.

A record may come from anywhere, so nothing is run that only the record names: folders of dynamic
backends, lock files, commands of boards and other machines are those of the caller, and code of
an installed package that is not as it was installed is not loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from armnn.arguments import instance
from armnn.backends.calling import explained, is_blamed
from armnn.backends.options import CreationOptions
from armnn.backends.registry import BackendRegistry
from armnn.backends.selection import BOARD, SSH, is_placed, preferences
from armnn.errors import ArmnnError, InvalidArgumentError
from armnn.optimizer.options import OptimizerOptions
from armnn.parsing import checked_path
from armnn.runtime.calls.control import NetworkProperties
from armnn.runtime.loaded_network import LoadedNetwork
from armnn.runtime.record import PYTHON, Difference, Record, differences, entry_of, surroundings
from armnn.runtime.request import ModelSource
from armnn.runtime.runtime import Runtime

_GIVEN: Final = ("boards", "custom_allocators", "dynamic_backends_path", "lock_file")
"""The options of the runtime that are the caller's, not the record's."""

_OPTIONS: Final = {"dynamic_backends_path": "--dynamic-backends-path", "lock_file": "--lock-file"}
"""The arguments that the caller has to give if the record has them, with their options."""

_BY_NAME: Final = ("distributions", "environment", "files")
"""Members of a record that have members of any name."""

_AFTER_A_RUN: Final = "compare record.differences(model.record()) in a program that runs it"


def verify(
    record: Record | str | PathLike[str] | bytes | dict[str, Any],
    model: str | PathLike[str],
    options: CreationOptions | None = None,
) -> tuple[Difference, ...]:
    """Load a model as recorded, and return today's differences from the record.

    Nothing is run with it. Files and versions are compared first; where the model cannot be loaded,
    or code is not as it was installed, the plan counts as one difference with the reason.

    Args:
        record: The record, its file, the content of the file in bytes, or its document.
        model: The path of the model's file, wherever it is today.
        options: Of the runtime. Of these, the folder of dynamic backends, the lock file, boards,
            allocators and functions of memory strategies count, and ``backends``, which has to
            name those of other machines; all else is as recorded.

    Returns:
        The items that differ, none if all are the same.

    Raises:
        InvalidArgumentError: The record cannot be read, has no model of a file, or names what
            ``options`` has to give.
        ModelFileError: There is no such model.
    """
    recorded = record if isinstance(record, Record) else Record.read(record)
    file = checked_path(model)
    if recorded.document["model"]["sha256"] is None:
        raise InvalidArgumentError(
            f"the record is of a network that was built in Python, which no file holds: "
            f"{_AFTER_A_RUN}"
        )
    creation = _creation_options(recorded, options)
    found = _without_loading(recorded, file, creation)
    reason = _altered_since(recorded, found)
    if not reason:
        try:
            with Runtime(creation) as runtime, _loaded(runtime, file, recorded) as loaded:
                return _differences(recorded, loaded.record())
        except Exception as error:
            if not (isinstance(error, (ArmnnError, OSError)) or is_blamed(error)):
                raise
            reason = f"the model cannot be loaded: {explained(error)}"
    known = _like(recorded.document, found)
    return (*differences(known, found), _plan(recorded.document["plan"], reason))


def _loaded(runtime: Runtime, file: str, recorded: Record) -> LoadedNetwork:
    """Load a model with the options and inputs of a record."""
    wanted, prepared = recorded.document["options"], recorded.document["prepared"]
    properties = wanted["properties"]
    loaded = runtime.load_model(
        file,
        wanted["backends"],
        options=OptimizerOptions(**wanted["optimizer"]),
        quantize=wanted["quantize"],
        parser_options=wanted["parser"],
        properties=None if properties is None else NetworkProperties(**properties),
        states=wanted["states"],
    )
    try:
        for each in prepared:
            loaded.prepare({name: _example(loaded, name, row) for name, row in each.items()})
    except BaseException:
        loaded.unload()
        raise
    return loaded


def _example(
    loaded: LoadedNetwork, name: str, row: Mapping[str, Any]
) -> tuple[int, ...] | NDArray[Any]:
    shape = tuple(row["shape"])
    if row["values"] is None or name not in loaded.inputs:
        return shape
    try:
        return np.array(row["values"], loaded.dtype_of(name)).reshape(shape)
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(f"the record has values of {name!r}: {error}") from error


def _differences(recorded: Record, today: Record) -> tuple[Difference, ...]:
    """Return the differences; layers that only a run prepares are one of them."""
    found = recorded.differences(today)
    if not recorded.document["waits_for_data"]:
        return found
    later = [each for each in found if each.item.startswith("plan.") and each.got is None]
    others = [each for each in found if each not in later]
    return (*others, _plan(later, f"data of a run decides about them; {_AFTER_A_RUN}"))


def _plan(layers: Sequence[object], reason: str) -> Difference:
    """Return the difference of layers that cannot be compared."""
    count = len(layers)
    return Difference("plan", f"{count} layer{'s' * (count != 1)}", f"not known: {reason}")


def _without_loading(recorded: Record, file: str, creation: CreationOptions) -> dict[str, Any]:
    """Return the part of today's record for which nothing has to be loaded."""
    registry = BackendRegistry(creation)
    ids = [each for each in recorded.document["backends"] if not is_placed(each)]
    entries = {each: entry_of(registry, each) for each in ids}
    parser_options = recorded.document["options"]["parser"]
    found = surroundings(registry, entries, ModelSource.of(file), parser_options)
    # The name is in the file, and the parser tells which files are beside it.
    found["model"] = {name: found["model"][name] for name in ("format", "sha256")}
    return found


def _like(document: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a record that a part of another one has."""
    return {
        name: _like(document[name], each)
        if isinstance(each, Mapping) and name not in _BY_NAME
        else document[name]
        for name, each in found.items()
    }


def _altered_since(recorded: Record, found: Mapping[str, Any]) -> str:
    """Return why the code of today must not be loaded, or ""."""
    before = recorded.document["distributions"]
    for name, each in found["distributions"].items():
        known = before[name]["altered"] if name in before else ()
        altered = [path for path in each["altered"] if path not in known]
        if altered:
            return f"{altered[0]} of {name} is not as it was installed, so nothing was loaded"
    return ""


def _creation_options(recorded: Record, given: object) -> CreationOptions:
    """Return the options of the runtime: the caller's as given, the others as recorded.

    Raises:
        InvalidArgumentError: The caller has to give an option.
    """
    own = CreationOptions() if given is None else instance(given, CreationOptions, "the options")
    wanted = recorded.document["options"]
    confirmed = preferences(own.backends or ())
    for name in preferences(wanted["backends"] or ()):
        if name.startswith((SSH, BOARD)) and name not in confirmed:
            raise InvalidArgumentError(
                f"the record names the backend {name!r} of another machine: give it to verify, as "
                f"CreationOptions(backends=[{name!r}]) or --backends {name}"
            )
    values = dict(wanted["runtime"])
    functions = [each for each in values["memory_strategies"].values() if not isinstance(each, str)]
    for name in (*_GIVEN, *(["memory_strategies"] if functions else [])):
        if name in _OPTIONS and values[name] is not None and getattr(own, name) is None:
            raise InvalidArgumentError(
                f"the record has the {name} {values[name]!r}: give it to verify, as "
                f"CreationOptions({name}={values[name]!r}) or {_OPTIONS[name]} {values[name]}"
            )
        values[name] = getattr(own, name)
    for name, value in wanted["optimizer"].items():
        if isinstance(value, dict) and PYTHON in value:
            raise InvalidArgumentError(
                f"the record has {value[PYTHON]} as {name}, which only a program can give: "
                f"{_AFTER_A_RUN}"
            )
    return CreationOptions(**values)
