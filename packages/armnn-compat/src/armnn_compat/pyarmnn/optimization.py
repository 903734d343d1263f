# SPDX-License-Identifier: MIT
"""Backends by id and their options; Optimize, its options and its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import armnn
from armnn.errors import BackendUnavailableError
from armnn.graph.dot import to_dot
from armnn.runtime import Runtime
from armnn_compat.pyarmnn.constants import CONSTANTS
from armnn_compat.pyarmnn.errors import arm_nn_errors
from armnn_compat.pyarmnn.network import Built, INetwork

_REFERENCE = "CpuRef"
_USABLE = ("known", "loaded")


class BackendId:
    """The id of a backend."""

    def __init__(self, id: str) -> None:
        self._id = str(id)

    def IsCpuRef(self) -> bool:
        """Return whether it is the reference backend's."""
        return self._id == _REFERENCE

    def Get(self) -> str:
        """Return the id as text."""
        return self._id

    def __str__(self) -> str:
        return self._id

    def __repr__(self) -> str:
        return f"BackendId({self._id!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (BackendId, str)) and self._id == str(other)

    def __hash__(self) -> int:
        return hash(self._id)


class BackendOption:
    """An option: a name and a flag, number or text."""

    thisown: bool

    def __init__(self, name: str, value: bool | int | float | str) -> None:
        self._name, self.value = str(name), value

    def GetName(self) -> str:
        """Return the name."""
        return self._name


class BackendOptions:
    """Options for a backend.

    ``BackendOptions(backend_id)`` or ``BackendOptions(options)``.
    """

    def __init__(self, backend: BackendId | BackendOptions) -> None:
        self._options: list[BackendOption] = []
        if isinstance(backend, BackendOptions):
            self._options += backend._options
            backend = backend.GetBackendId()
        self._backend = backend

    def AddOption(self, option: BackendOption) -> None:
        """Add a copy of an option."""
        own = BackendOption(option.GetName(), option.value)
        own.thisown = False
        self._options.append(own)

    def GetBackendId(self) -> BackendId:
        """Return the backend's id."""
        return self._backend

    def GetOptionCount(self) -> int:
        """Return the number of options."""
        return len(self._options)

    def GetOption(self, idx: int) -> BackendOption:
        """Return an option by position."""
        return self._options[idx]

    def __len__(self) -> int:
        return len(self._options)

    def __getitem__(self, index: int) -> BackendOption:
        return self._options[index]

    def __iter__(self) -> Iterator[BackendOption]:
        return iter(self._options)

    def for_core(self) -> dict[str, Any]:
        """Return the options' values by name."""
        return {option.GetName(): option.value for option in self._options}


class IDeviceSpec:
    """The backends that a runtime can use; ``GetDeviceSpec`` returns one."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def GetSupportedBackends(self) -> tuple[BackendId, ...]:
        """Return the ids of the usable backends."""
        entries = self.runtime.registry.entries()
        return tuple(BackendId(each.id) for each in entries if str(each.state) in _USABLE)

    def __str__(self) -> str:
        ids = ", ".join(map(str, self.GetSupportedBackends()))
        return f"IDeviceSpec {{ supportedBackends: [{ids}]}}"


_VALIDATE_ONLY = CONSTANTS["ShapeInferenceMethod_ValidateOnly"]
_METHOD = "m_shapeInferenceMethod"
_MODEL_OPTIONS = "m_ModelOptions"


def _flags() -> dict[str, str]:
    """Return the core's flags by Arm NN's names."""
    fields = dataclasses.fields(armnn.OptimizerOptions)
    return {f.metadata["arm_nn"]: f.name for f in fields if isinstance(f.default, bool)}


_FLAGS = {arm_nn: name for arm_nn, name in _flags().items() if arm_nn}


class OptimizerOptions:
    """How a network is prepared.

    Args:
        reduceFp32ToFp16: Whether Float32 layers compute in Float16.
        debug: Whether every intermediate tensor is printed.
        reduceFp32ToBf16: Whether Float32 layers compute in BFloat16.
        shapeInferenceMethod: ``ShapeInferenceMethod_ValidateOnly`` or the other one.
        importEnabled: Whether the memory of inputs may be the caller's.
        modelOptions: A sequence of BackendOptions.
        exportEnabled: Whether the memory of outputs may be the caller's.

    Raises:
        TypeError: The model options are others.
        AttributeError: There is no such option.
    """

    def __init__(
        self,
        reduceFp32ToFp16: bool = False,
        debug: bool = False,
        reduceFp32ToBf16: bool = False,
        shapeInferenceMethod: int = _VALIDATE_ONLY,
        importEnabled: bool = False,
        modelOptions: Sequence[BackendOptions] = (),
        exportEnabled: bool = False,
    ) -> None:
        self.__dict__.update(dict.fromkeys(_FLAGS, False))
        if not _are_options(modelOptions):
            raise TypeError(
                "Wrong number or type of arguments for OptimizerOptions: modelOptions is "
                f"{modelOptions!r}, expected a list of BackendOptions"
            )
        self.m_ReduceFp32ToFp16, self.m_ReduceFp32ToBf16 = reduceFp32ToFp16, reduceFp32ToBf16
        self.m_Debug, self.m_shapeInferenceMethod = debug, shapeInferenceMethod
        self.m_ImportEnabled, self.m_ExportEnabled = importEnabled, exportEnabled
        self.m_ModelOptions = modelOptions

    def __setattr__(self, name: str, value: Any) -> None:
        if name == _MODEL_OPTIONS:
            if not _are_options(value):
                raise TypeError(
                    "in method 'OptimizerOptions_m_ModelOptions_set', argument 2: got "
                    f"{value!r}, expected a list of BackendOptions"
                )
            value = list(value)
        elif name not in (_METHOD, *_FLAGS):
            known = ", ".join([*_FLAGS, _METHOD, _MODEL_OPTIONS])
            raise AttributeError(f"OptimizerOptions has no option {name!r}: it has {known}")
        self.__dict__[name] = value

    def for_core(self, built: Built) -> armnn.OptimizerOptions:
        """Return the options of the core.

        Raises:
            ArmnnError: An option is wrong.
        """
        given: dict[str, Any] = {
            name: bool(self.__dict__[arm_nn]) for arm_nn, name in _FLAGS.items()
        }
        method = armnn.ShapeInferenceMethod.of(self.__dict__[_METHOD])
        if built.infers_shapes:
            method = armnn.ShapeInferenceMethod.INFER_AND_VALIDATE
        model_options: dict[str, dict[str, Any]] = {}
        for each in self.__dict__[_MODEL_OPTIONS]:
            model_options.setdefault(str(each.GetBackendId()), {}).update(each.for_core())
        return armnn.OptimizerOptions(
            shape_inference_method=method, model_options=model_options, **given
        )


class IOptimizedNetwork:
    """A network with its backends; ``Optimize`` returns one."""

    thisown: bool

    def __init__(self, optimized: armnn.OptimizedNetwork, built: Built) -> None:
        self.optimized, self.built = optimized, built

    def SerializeToDot(self, fileName: str) -> None:
        """Write the layers with their backends, for Graphviz.

        Raises:
            RuntimeError: The file cannot be written.
        """
        try:
            Path(fileName).write_text(to_dot(self.optimized.network), encoding="utf-8")
        except OSError as error:
            raise RuntimeError(f"Failed to open dot file {fileName!r}: {error.strerror}") from error


def Optimize(
    network: INetwork,
    backendPreferences: Sequence[BackendId],
    deviceSpec: IDeviceSpec,
    options: OptimizerOptions | None = None,
) -> tuple[IOptimizedNetwork, tuple[str, ...]]:
    """Prepare a network for its backends.

    Args:
        network: A network of a parser, or made by hand.
        backendPreferences: The preferred one first; those that cannot be used are skipped.
        deviceSpec: What ``GetDeviceSpec`` of the runtime returned.
        options: The defaults if left out.

    Returns:
        The network, and the warnings: backends that were skipped, layers that fell back.

    Raises:
        RuntimeError: It cannot be prepared; the message says why.
    """
    ids = [str(each) for each in backendPreferences]
    if not ids:
        raise RuntimeError(
            "Invoked Optimize with no backends specified: expected a list such as "
            "[BackendId('CpuRef')]"
        )
    found = {entry.id for entry in deviceSpec.runtime.registry.entries()}
    usable = [f"{each}?" for each in ids if each in found]  # the mark skips those that fail
    if not usable:
        raise RuntimeError(_none_of(ids, deviceSpec))
    with arm_nn_errors():
        built = network.built()
        chosen = (OptimizerOptions() if options is None else options).for_core(built)
        try:
            optimized = deviceSpec.runtime.optimize(built.network, usable, options=chosen)
        except BackendUnavailableError as error:
            raise RuntimeError(f"{_none_of(ids, deviceSpec)} {error}") from error
    missing = [each for each in ids if each not in found]
    return IOptimizedNetwork(optimized, built), _messages(missing, optimized.report)


def _none_of(ids: Sequence[str], spec: IDeviceSpec) -> str:
    provided = ", ".join(map(str, spec.GetSupportedBackends()))
    return (
        f"None of the preferred backends [{' '.join(ids)} ] are supported. Current platform "
        f"provides [{provided}]."
    )


def _messages(missing: Sequence[str], report: armnn.Report) -> tuple[str, ...]:
    skipped = [f"WARNING: backend {each} is skipped: it was not found" for each in missing]
    skipped += [f"WARNING: backend {each.id} is skipped: {each.reason}" for each in report.skipped]
    return (
        *skipped,
        *(
            f"WARNING: layer {row.layer!r} of type {row.type} is not supported on requested "
            f"backend {refusal.backend}: {refusal.reason}; it runs on {row.backend}"
            for row in report
            for refusal in row.refusals
        ),
    )


def _are_options(values: object) -> bool:
    is_sequence = isinstance(values, Sequence) and not isinstance(values, (str, BackendOptions))
    return is_sequence and all(isinstance(each, BackendOptions) for each in values)  # type: ignore[attr-defined] # a sequence
