# SPDX-License-Identifier: MIT
"""The list of all options of the preparation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, TypeAlias

from numpy.typing import NDArray

from armnn.arguments import (
    file_path,
    flag,
    instance,
    integer,
    mapping,
    refused,
    text,
    unknown,
    with_known_names,
)
from armnn.backends import OptionValue
from armnn.errors import InvalidArgumentError
from armnn.installing import CPU_ACC, CPU_REF
from armnn.types import ArmnnEnum

DebugCallback: TypeAlias = "Callable[[str, int, NDArray[Any]], object]"
"""Takes a layer's name, the number of its output and a copy of the stored values."""

OPTION = "option {} of the optimizer"

REMOVED = {
    "auto_budget": "armnn tune MODEL (armnn.placement.tune and write_verdict) measures once, and "
    "backends='auto' follows its verdict from then on",
}
"""The advice for options of earlier releases."""

ELSEWHERE = {
    **dict.fromkeys(
        ("providers", "provider", "devices"),
        f"backends=[{CPU_ACC!r}, {CPU_REF!r}] names the backends, the most preferred first",
    ),
    **dict.fromkeys(
        ("threads", "num_threads", "intra_op_num_threads"),
        f"backend_options={{{CPU_ACC!r}: {{'NumberOfThreads': 2}}}} limits those of a backend",
    ),
}
"""How options of other runtimes are called here."""

DEBUG_FOLDER = "ArmNNIntermediateLayerOutputs"
"""The folder of ``debug_to_file=True``, in the current one; Arm NN's name."""


class ShapeInferenceMethod(ArmnnEnum):
    """Whether shapes must be declared (Arm NN: ``ShapeInferenceMethod``)."""

    VALIDATE_ONLY = 0, "ValidateOnly"
    INFER_AND_VALIDATE = 1, "InferAndValidate"


def _about(convert: Callable[..., Any], arm_nn: str, purpose: str) -> dict[str, Any]:
    """Return the metadata of a field of OptimizerOptions.

    Args:
        convert: Takes a value and what a message calls it; returns the checked value.
        arm_nn: Arm NN's name of it, "" if Arm NN lacks it.
        purpose: Its effect, for the command line and the table in the documentation.
    """
    return {"convert": convert, "arm_nn": arm_nn, "purpose": purpose}


def _debug(value: object, what: str) -> bool | DebugCallback:
    if callable(value) and not isinstance(value, type):
        return value
    try:
        return flag(value, what)
    except InvalidArgumentError:
        expected = "True, False or a function of (layer, slot, array)"
        raise refused(what, value, expected) from None


def _folder(value: object, what: str) -> bool | str:
    if isinstance(value, bool):
        return value
    try:
        return file_path(value, what)
    except InvalidArgumentError:
        raise refused(what, value, "True, False or the path of a folder") from None


def _file(value: object, what: str) -> str:
    return "" if isinstance(value, str) and not value else file_path(value, what)


def _count(value: object, what: str) -> int | None:
    if value is None:
        return None
    number = integer(value, what)
    if number < 1:
        raise refused(what, value, "a whole number from 1 on")
    return number


def _method(value: object, what: str) -> ShapeInferenceMethod:
    return ShapeInferenceMethod.of(value, what)


def _layer_backends(value: object, what: str) -> dict[str, str]:
    expected = "a mapping from names of layers to backend ids"
    given = mapping({} if value is None else value, what, expected)
    return {
        text(name, f"the name of a layer in {what}"): text(
            backend, f"the backend of layer {name!r}"
        )
        for name, backend in given.items()
    }


def _model_options(value: object, what: str) -> dict[str, dict[str, OptionValue]]:
    expected = f"a mapping from backend ids to their options, such as {{{CPU_ACC!r}: {{...}}}}"
    options = mapping({} if value is None else value, what, expected)
    for backend, given in options.items():
        of = f"the options for backend {text(backend, f'a backend id in {what}')!r}"
        example = f"a mapping, as in {{{CPU_ACC!r}: {{'NumberOfThreads': 2}}}}"
        for name, single in mapping(given, of, example).items():
            option = f"the option {text(name, f'a name in {of}')!r} for backend {backend!r}"
            if not isinstance(single, (bool, int, float, str)):
                raise refused(option, single, "a text, a number, True or False")
    return {backend: dict(given) for backend, given in options.items()}


@with_known_names(OPTION, removed=REMOVED)
@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerOptions:
    """How a network is prepared (Arm NN: ``OptimizerOptions``).

    Each is a keyword of ``optimize`` and ``load_model``, too.

    Attributes:
        reduce_fp32_to_fp16: Whether Float32 layers compute in Float16. Inputs and outputs of the
            network keep their types; a layer that no listed backend runs in Float16 stays.
        reduce_fp32_to_bf16: The same with BFloat16.
        debug: Whether every intermediate tensor is printed, or the function that gets each as
            (layer, slot, array): the layer's name, the number of its output, a copy of what it
            stores. Backends fuse nothing across tensors that are shown.
        debug_to_file: Whether every intermediate tensor is written, as a .npy file with a JSON file
            beside it, and the folder; True is ``ArmNNIntermediateLayerOutputs`` in the current one.
        shape_inference_method: ``InferAndValidate`` lets dimensions be open. ``ValidateOnly``
            demands that each is known and that outputs have the shapes that the model declares.
        import_enabled: Whether runs read the caller's arrays where they are; inputs are put into
            memory that imports, where a reader takes such memory.
        export_enabled: Whether runs write into the caller's arrays where they are; outputs are put
            into memory that exports, where their backend has such memory.
        model_options: Options of backends for this network, by backend id.
        profiling_enabled: Whether the phases are recorded without a ``profiler`` being given.
        allow_expanded_dims: Whether declared and inferred shapes may differ by dimensions of 1;
            needs ``ValidateOnly``.
        strict: Whether a layer that its first backend refuses is an error; without it the layer
            falls back to the next backend and the report says why.
        layer_backends: The backend that a layer shall run on, by the layer's name; asked before
            the layer's own hint and before the preferences.
        rewrite: Whether the backend-independent passes run.
        min_part: The number of layers from which on a part of the network stays on its backend. A
            smaller one goes to the backend of a part beside it that runs all of its layers, too.
            By default a part of a device goes to the host that is less work than its copies.
        verdicts: The file of verdicts for ``backends="auto"``. Without it the file beside the model
            counts, whose name adds ``.verdicts.json``, then the user's.
    """

    reduce_fp32_to_fp16: bool = field(
        default=False,
        metadata=_about(flag, "m_ReduceFp32ToFp16", "compute Float32 layers in Float16"),
    )
    reduce_fp32_to_bf16: bool = field(
        default=False,
        metadata=_about(flag, "m_ReduceFp32ToBf16", "compute Float32 layers in BFloat16"),
    )
    debug: bool | DebugCallback = field(
        default=False, metadata=_about(_debug, "m_Debug", "show every intermediate tensor")
    )
    debug_to_file: bool | str = field(
        default=False,
        metadata=_about(_folder, "m_DebugToFile", "write every intermediate tensor to a folder"),
    )
    shape_inference_method: ShapeInferenceMethod = field(
        default=ShapeInferenceMethod.INFER_AND_VALIDATE,
        metadata=_about(_method, "m_shapeInferenceMethod", "whether dimensions may be open"),
    )
    import_enabled: bool = field(
        default=False,
        metadata=_about(flag, "m_ImportEnabled", "read inputs where they are"),
    )
    export_enabled: bool = field(
        default=False,
        metadata=_about(flag, "m_ExportEnabled", "write outputs where they are"),
    )
    model_options: Mapping[str, Mapping[str, OptionValue]] = field(
        default_factory=dict,
        metadata=_about(_model_options, "m_ModelOptions", "options of backends for this network"),
    )
    profiling_enabled: bool = field(
        default=False,
        metadata=_about(flag, "m_ProfilingEnabled", "record how long the phases take"),
    )
    allow_expanded_dims: bool = field(
        default=False,
        metadata=_about(
            flag,
            "m_AllowExpandedDims",
            "let declared shapes differ from inferred ones by dimensions of 1",
        ),
    )
    strict: bool = field(
        default=False,
        metadata=_about(flag, "", "fail where a layer would fall back to a later backend"),
    )
    layer_backends: Mapping[str, str] = field(
        default_factory=dict,
        metadata=_about(_layer_backends, "", "the backends of single layers"),
    )
    rewrite: bool = field(
        default=True, metadata=_about(flag, "", "run the passes that help every backend")
    )
    min_part: int | None = field(
        default=None,
        metadata=_about(_count, "", "give parts of fewer layers to the neighboring backend"),
    )
    verdicts: str = field(
        default="", metadata=_about(_file, "", "the measurements that backends 'auto' follow")
    )

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError for wrong kinds and contradictions."""
        for each in fields(self):
            checked = each.metadata["convert"](getattr(self, each.name), f"the {each.name}")
            object.__setattr__(self, each.name, checked)
        if self.reduce_fp32_to_fp16 and self.reduce_fp32_to_bf16:
            raise InvalidArgumentError(
                "reduce_fp32_to_fp16 and reduce_fp32_to_bf16 are both True: BFloat16 and Float16 "
                "optimization cannot be enabled at the same time, choose one"
            )
        if self.allow_expanded_dims and not self.demands_shapes:
            raise InvalidArgumentError(
                "allow_expanded_dims is True, but shape_inference_method is 'InferAndValidate', "
                "which compares no shapes: use it with shape_inference_method='ValidateOnly'"
            )

    @property
    def demands_shapes(self) -> bool:
        """Whether every dimension must be known."""
        return self.shape_inference_method is ShapeInferenceMethod.VALIDATE_ONLY

    @property
    def shows_tensors(self) -> bool:
        """Whether intermediate tensors are shown or written."""
        return bool(self.debug) or bool(self.debug_to_file)

    @property
    def cache_key(self) -> str:
        """The facts that a preparation depends on, as text for any process."""
        shown = replace(self, debug=bool(self.debug), debug_to_file=bool(self.debug_to_file))
        return repr(shown)


def checked_options(
    options: object,
    keywords: Mapping[str, object],
    function: Callable[..., object] | None = None,
) -> OptimizerOptions:
    """Return options with keywords in place of their fields.

    Args:
        options: An OptimizerOptions; None for the defaults.
        keywords: Values by the names of its fields.
        function: A keyword may be a misspelt name of one of its parameters, too.

    Raises:
        UnknownNameError: A keyword is not an option; the closest name is suggested.
        InvalidArgumentError: A value is of another kind, or options contradict each other.
    """
    given = OptimizerOptions()
    if options is not None:
        given = instance(options, OptimizerOptions, "the options")
    known = [each.name for each in fields(OptimizerOptions)]
    for name in keywords:
        if name not in known:
            raise unknown(
                OPTION, name, known, _parameters_of(function), removed=REMOVED, elsewhere=ELSEWHERE
            )
    values: dict[str, Any] = dict(keywords)
    return replace(given, **values) if values else given


def _parameters_of(function: Callable[..., object] | None) -> list[str]:
    names = inspect.signature(function).parameters if function else ()
    return [name for name in names if name != "keywords"]


def default_of(option: Field[Any]) -> object:
    """Return the default of a field of OptimizerOptions."""
    if option.default_factory is not MISSING:
        return option.default_factory()
    return option.default
