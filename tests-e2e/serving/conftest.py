# SPDX-License-Identifier: MIT
"""Servers of the recipe in examples/serving/."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import numpy as np
import pytest
from serving.recipe import PATIENCE, Server, launched


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server.

    It returns when the server listens.
    """
    started: list[Server] = []

    def listening(*arguments: str, environment: dict[str, str] | None = None) -> Server:
        server = launched(*arguments, environment=environment)
        started.append(server)
        server.wait_for("Uvicorn running on")
        with grpc.insecure_channel(server.grpc) as channel:
            grpc.channel_ready_future(channel).result(PATIENCE)
        return server

    yield listening
    for server in started:
        server.process.kill()
        server.process.wait()


@pytest.fixture(scope="session")
def page_model(model: Callable[[str], Path]) -> Path:
    return model("page_orientation")


@pytest.fixture(scope="session")
def words_model(model: Callable[[str], Path]) -> Path:
    return model("kws_dscnn_int8")


@pytest.fixture(scope="session")
def picture() -> np.ndarray:
    """Return an input of the model page_orientation."""
    return np.random.default_rng(21).normal(size=(1, 3, 224, 224)).astype(np.float32)


@pytest.fixture(scope="session")
def sound() -> np.ndarray:
    """Return an input of the model kws_dscnn_int8."""
    return np.random.default_rng(22).normal(size=(1, 50, 10, 1)).astype(np.float32)
