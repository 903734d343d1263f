# SPDX-License-Identifier: MIT
"""The checks of device memory and queues find what is wrong with a device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from armnn_conformance.checks.capabilities import NothingToCheckError
from armnn_conformance.checks.device_memory import CHECKS, check_device_memory
from armnn_conformance.running import NonconformityError
from armnn_conformance.subject import Subject
from fakes import DEVICE_SOURCE

FLAGS = "#define PLACED\n#define STREAMS\n#define QUEUE_MS 1\n#define IMPORTS\n#define MAPS\n"
# The host would refuse what is more than the limit.
DEVICE = FLAGS + DEVICE_SOURCE.read_text("utf-8").replace("out->max_bytes = 4 << 20;", "")
Build = Callable[[str], Path]


@pytest.fixture
def subject_of(build: Build) -> Callable[[str], Subject]:
    def make(source: str) -> Subject:
        library = build(source)
        library.parent.chmod(0o755)
        return Subject(str(library))

    return make


def test_a_device_passes(subject_of: Callable[[str], Subject]) -> None:
    with subject_of(DEVICE) as subject:
        for name in CHECKS:
            check_device_memory(subject, name)


def test_host_memory_is_not_checked() -> None:
    with Subject("CpuRef") as subject, pytest.raises(NothingToCheckError, match="in host memory"):
        check_device_memory(subject, "copies")


@pytest.mark.parametrize(
    ("name", "right", "wrong", "problem"),
    [
        ("copies", "host, size, to_host);", "host, size - size % 2, to_host);", "holds other"),
        ("copies on the device", "from == to &&", "0 &&", "that overlap is not refused"),
        ("copies on the device", "work.to_offset = to_offset;", "work.size /= 2;", "holds other"),
        ("maps", "buffer->access != ARMNN_MAP_READ", "0", "map_for.WRITE. changed one byte"),
        ("maps", "access == ARMNN_MAP_DISCARD", "1", "shows other bytes than were written"),
        ("imports", "MAP_SHARED", "MAP_PRIVATE", "memory behind a descriptor that the device wr"),
        ("imports", "backend, other->bytes, BORROWED", "backend, malloc(size), OWN", "of its own"),
        ("no memory left", "ARMNN_RESOURCE_EXHAUSTED, ", "ARMNN_INTERNAL, ", "expected ResourceEx"),
        ("events", "{.before = event}", "{.before = NULL}", "another queue copied after an event"),
        ("deadlines", "(event, until_ns);", "(event, !until_ns);", "without an error"),
        ("leaks", "if (buffer->kind == OWN) free(buffer->bytes);", "", "that were not freed"),
    ],
)  # fmt: skip
def test_a_fault_is_found(
    subject_of: Callable[[str], Subject], name: str, right: str, wrong: str, problem: str
) -> None:
    assert right in DEVICE
    with (
        subject_of(DEVICE.replace(right, wrong)) as subject,
        pytest.raises(NonconformityError, match=problem),
    ):
        check_device_memory(subject, name)
