# SPDX-License-Identifier: MIT
"""Workers whose process cannot be started."""

from __future__ import annotations

import os

import isolated_backends as samples
import pytest

import armnn
from armnn import CreationOptions, Network, Runtime, TensorInfo
from armnn.errors import BackendUnavailableError
from armnn.isolation import link


def test_a_process_that_cannot_be_started_leaves_no_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def child(*_: object, **__: object) -> None:
        raise OSError("none today")

    monkeypatch.setattr(link, "Child", child)
    network = Network("abs")
    network.add_output("y", network.add_activation(network.add_input("x", TensorInfo((2,)))))
    with (
        armnn.register_backend("Hostile", samples.Hostile),
        Runtime(CreationOptions(isolate=["Hostile"])) as runtime,
    ):
        before = set(os.listdir("/proc/self/fd"))
        with pytest.raises(BackendUnavailableError, match="no process can be started: none today"):
            runtime.load_model(network, ["Hostile"])
        assert set(os.listdir("/proc/self/fd")) == before
