# SPDX-License-Identifier: MIT
"""The child process that tries variants.

It serves one request after the other until one of them ends it.
"""

from __future__ import annotations

import faulthandler
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from armnn.backends import CreationOptions
from armnn.errors import BackendUnavailableError, UnknownBackendError
from armnn.optimizer import OptimizerOptions
from armnn.parsing import parse
from armnn.runtime import Runtime
from armnn_backend_api.processes import Channel
from armnn_tools.debugging.comparing import CompareOptions, compare

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Job:
    """The trial of each variant.

    Attributes:
        check: "compare" or "crash".
        backends: Ids in the order of preference.
        reference: The id of the backend that is right.
        options: How networks are prepared.
        creation: The options of a runtime.
    """

    check: str
    backends: Sequence[str]
    reference: str
    options: OptimizerOptions = field(default_factory=OptimizerOptions)
    creation: CreationOptions = field(default_factory=CreationOptions)


def serve(job: str, channel: Channel) -> None:
    """Reply to requests with the failure of a model.

    A request is the paths of a model and of its pickled inputs, and a number of runs.

    Args:
        job: The path of the pickled job.
        channel: To the process that asks; it first gets an empty reply.
    """
    faulthandler.enable()
    with open(job, "rb") as file:
        wanted: Job = pickle.load(file)
    channel.send()
    for model, inputs, repeats in channel.requests():
        with open(inputs, "rb") as file:
            arrays = pickle.load(file)
        channel.send(**_outcome(wanted, model, arrays, repeats))


def _outcome(job: Job, model: str, inputs: Arrays, repeats: int) -> dict[str, Any]:
    """Return the findings about wrong layers, or an error."""
    try:
        if job.check == "crash":
            _run(job, model, inputs, repeats)
            return {"wrong": []}
        findings = compare(
            parse(model),
            job.backends,
            reference=job.reference,
            inputs=[inputs],
            options=job.options,
            creation_options=job.creation,
            thoroughness=CompareOptions(repeats=repeats),
        )
        return {"wrong": [finding.as_dict() for finding in findings.wrong]}
    except (UnknownBackendError, BackendUnavailableError) as error:
        return {"unusable": str(error)}
    except Exception as error:
        return {"error": [type(error).__name__, str(error)]}


def _run(job: Job, model: str, inputs: Arrays, repeats: int) -> None:
    with Runtime(job.creation) as runtime:
        loaded = runtime.load_model(model, job.backends, options=job.options)
        for _ in range(repeats):
            loaded.run(inputs)
