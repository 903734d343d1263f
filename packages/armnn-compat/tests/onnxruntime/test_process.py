# SPDX-License-Identifier: MIT
"""The process functions describe the process and little else."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from armnn_compat import onnxruntime as ort


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    logger = logging.getLogger("armnn")
    level = logger.level
    yield logger
    logger.setLevel(level)


@pytest.mark.parametrize(
    ("severity", "level"),
    [(0, logging.DEBUG), (1, logging.INFO), (2, logging.WARNING), (3, logging.ERROR), (4, 50)],
)
def test_the_severity_is_that_of_our_messages(logger, severity: int, level: int) -> None:
    ort.set_default_logger_severity(severity)
    assert logger.level == level


@pytest.mark.parametrize("severity", [-1, 5])
def test_a_severity_that_there_is_not_is_refused(logger, severity: int) -> None:
    with pytest.raises(
        RuntimeError, match=rf"Invalid logging severity {severity}: expected 0 to 4"
    ):
        ort.set_default_logger_severity(severity)


def test_what_is_there_is_said() -> None:
    assert ort.get_device() == "CPU"
    assert ort.get_version_string() == ort.__version__
    assert ort.get_build_info().startswith("armnn-core ")
    assert not ort.has_collective_ops()
    assert ort.get_ep_devices() == []


def test_what_has_no_effect_is_taken() -> None:
    ort.set_default_logger_verbosity(1)
    ort.set_seed(7)
    ort.set_global_thread_pool_sizes(2, 1)
    ort.disable_telemetry_events()
    ort.enable_telemetry_events()
    ort.preload_dlls()
