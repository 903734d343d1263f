# SPDX-License-Identifier: MIT
"""The check of parts and layers that a backend restores from a prepared file."""

from __future__ import annotations

import tempfile
from pathlib import Path

from armnn.errors import InvalidArgumentError, OptimizationError
from armnn_conformance.cases import LayerCase
from armnn_conformance.checks.capabilities import NothingToCheckError
from armnn_conformance.checks.correctness import compare
from armnn_conformance.checks.stress import stored
from armnn_conformance.running import feeds_of, network_of
from armnn_conformance.subject import Subject


def check_prepared_file(subject: Subject, case: LayerCase) -> None:
    """Check that a network that was compiled to a file computes as it did.

    Raises:
        NonconformityError: It does not.
        NothingToCheckError: What the backend compiled cannot be kept.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "case.armnn-prepared")
        try:
            subject.runtime.compile_network(network_of(case), file, [subject.id])
        except OptimizationError:
            return  # the optimizer makes another layer of it, which the backend refuses
        except InvalidArgumentError as error:
            raise NothingToCheckError(f"it is not kept in files: {error}") from error
        network = subject.runtime.load_model(file, [subject.id])
        try:
            found = stored(network.run(feeds_of(case)))
        finally:
            subject.runtime.unload_network(network)
    compare(found, case, "loaded from a prepared file, the runtime's")
