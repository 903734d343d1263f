# SPDX-License-Identifier: MIT
"""The checks of the level *loads*, and of missing tensors.

Each check is a function that raises :class:`~armnn_conformance.running.NonconformityError`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from armnn.backends import (
    BACKEND_API_VERSION,
    HOST_FACTORY_ID,
    BackendVersion,
    CreationOptions,
    TensorHandleFactories,
    is_compatible,
)
from armnn.backends.extensions import KINDS
from armnn.backends.selection import own_id
from armnn.errors import InvalidArgumentError
from armnn.graph import Layer, Network
from armnn.layers import LAYERS, Descriptor, LayerSpec, descriptor, parameter
from armnn.single_layer import foreign_layer
from armnn.tensor import TensorInfo
from armnn_backend_api.names import fault_of_id
from armnn_conformance.cases import LayerCase
from armnn_conformance.checks.correctness import answer_of
from armnn_conformance.running import (
    LAYER,
    BoundCase,
    NonconformityError,
    contents,
    layer_of,
)
from armnn_conformance.subject import Subject

_FAR_FUTURE = (999, 0)
_OPTION_TYPES = (bool, int, float, str)
_NO_SUCH_OPTION = "NoSuchOption"
_NO_SUCH_EXTENSION = "armnn.no_such_extension/1"


@descriptor
class _FutureDescriptor(Descriptor):
    """Parameters of which the last needs a future version."""

    amount: float = 1.0
    manner: int = parameter(0, since=_FAR_FUTURE)


def check_identity(subject: Subject) -> None:
    """Check that id and Backend API version are allowed.

    Raises:
        NonconformityError: One of them is not.
    """
    backend = subject.backend
    fault = fault_of_id(own_id(backend.id) if isinstance(backend.id, str) else backend.id)
    if fault:
        raise NonconformityError(f"the id is {backend.id!r}: {fault}")
    version = backend.api_version
    if not isinstance(version, BackendVersion) or not is_compatible(version, BACKEND_API_VERSION):
        raise NonconformityError(
            f"api_version is {version!r}: expected a BackendVersion up to {BACKEND_API_VERSION}"
        )


def check_description(subject: Subject) -> None:
    """Score, capabilities and tensor-handle factories are of the right kinds.

    Raises:
        NonconformityError: One of them is not.
    """
    backend = subject.backend
    score = backend.score()
    if not isinstance(score, int) or score < 0:
        raise NonconformityError(f"score() is {score!r}: expected an integer of at least 0")
    capabilities = backend.capabilities
    if not isinstance(capabilities, Mapping) or not all(
        isinstance(name, str) and isinstance(value, _OPTION_TYPES)
        for name, value in capabilities.items()
    ):
        raise NonconformityError(
            f"capabilities is {capabilities!r}: expected names with Booleans, numbers or texts"
        )
    factories = TensorHandleFactories()
    backend.register_tensor_handle_factories(factories)
    for factory in backend.handle_factory_preferences:
        if factory != HOST_FACTORY_ID and factory not in factories:
            raise NonconformityError(
                f"handle_factory_preferences names {factory!r}, which the backend does not register"
            )


def check_extensions(subject: Subject) -> None:
    """Check that known extensions fit, and unknown ones are absent.

    Raises:
        NonconformityError: One of them is not, or the backend fails instead of answering.
    """
    answers = {}
    for name in (*KINDS, _NO_SUCH_EXTENSION):
        try:
            answers[name] = subject.backend.extension(name)
        except Exception as error:
            raise NonconformityError(f"extension({name!r}) failed: {error}") from error
    for name, kind in KINDS.items():
        if answers[name] is not None and not isinstance(answers[name], kind):
            raise NonconformityError(
                f"extension({name!r}) is {answers[name]!r}: expected an {kind.__name__} or None"
            )
    if answers[_NO_SUCH_EXTENSION] is not None:
        raise NonconformityError(
            f"extension({_NO_SUCH_EXTENSION!r}) is {answers[_NO_SUCH_EXTENSION]!r}: expected None, "
            "as no extension has that name"
        )


def check_options(subject: Subject) -> None:
    """Check that an unknown option of a runtime is refused.

    Raises:
        NonconformityError: It is accepted, or refused by another error.
    """
    options = CreationOptions(backend_options={subject.id: {_NO_SUCH_OPTION: 1}})
    try:
        context = subject.backend.create_context(options)
    except InvalidArgumentError:
        return
    except Exception as error:
        raise NonconformityError(
            f"create_context() failed with {type(error).__name__} on an unknown option: expected "
            f"InvalidArgumentError, got {error}"
        ) from error
    if context is not None:
        context.close()
    raise NonconformityError(
        f"create_context() accepts the option {_NO_SUCH_OPTION!r}, which does not exist: raise "
        "InvalidArgumentError for names in options.backend_options that the backend does not know"
    )


def check_unknown_layer(subject: Subject) -> None:
    """Check that unknown layer types are refused with reasons.

    Raises:
        NonconformityError: It is claimed, or the backend fails instead of answering.
    """
    spec = dataclasses.replace(LAYERS["Floor"], name="UnknownToAll", number=999_999)
    layer = _layer(spec, spec.descriptor())
    try:
        answer = answer_of(subject, layer)
    except NonconformityError:
        raise
    except Exception as error:
        raise NonconformityError(f"supports() failed on an unknown layer type: {error}") from error
    if answer:
        raise NonconformityError("supports() claims a layer type that does not exist")


def check_future_items(subject: Subject) -> None:
    """Check that the host refuses layers younger than the backend.

    Raises:
        NonconformityError: One of them is offered to the backend.
    """
    declared = subject.backend.api_version
    floor = LAYERS["Floor"]
    younger = dataclasses.replace(floor, since=(declared.major, declared.minor + 1))
    extended = dataclasses.replace(floor, name="Extended", descriptor=_FutureDescriptor)
    for layer in (
        _layer(younger, floor.descriptor()),
        _layer(extended, _FutureDescriptor(manner=1)),
    ):
        answer = subject.supports(layer)
        if answer or "needs Backend API" not in answer.reason:
            raise NonconformityError(
                f"a layer that is younger than Backend API {declared} was offered to the backend"
            )


def check_handle_counts(subject: Subject, case: LayerCase) -> None:
    """Check that a workload with too few tensors raises.

    Raises:
        NonconformityError: Nothing is raised.
    """
    layer = layer_of(case)
    bound = BoundCase(subject, layer, case.inputs)
    workload = subject.backend.create_workload(layer, subject.model)
    for what, inputs, outputs in (
        ("no inputs", [], bound.outputs),
        ("no outputs", bound.inputs, []),
    ):
        try:
            workload.bind(inputs, outputs)()
            for handle in (*inputs, *outputs):  # a device may tell of it when it is waited for
                if handle is not None:
                    contents(handle)
        except Exception:
            continue  # any error will do: a host that is in order never gets here
        raise NonconformityError(f"a workload of {case.layer} that was given {what} did not fail")


def _layer(spec: LayerSpec, parameters: Descriptor) -> Layer:
    """Return a layer that no network would make."""
    network = Network("conformance")
    value = network.add_input("input", TensorInfo((2, 3)))
    return foreign_layer(spec, parameters, LAYER, (value,))
