# SPDX-License-Identifier: MIT
"""A crash and the server's end cost no answer."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http
from geventhttpclient.response import HTTPConnectionClosed
from tritonclient.utils import InferenceServerException

import armnn

if TYPE_CHECKING:
    from serving.recipe import Server

PROMISES = Path(__file__).resolve().parents[2] / "examples" / "promises"
CALLS = 25
"""Calls of each client."""

NOT_BEGUN = [f"StatusCode.{name}" for name in ("UNAVAILABLE", "NOT_FOUND", "CANCELLED")]
"""What gRPC says of a call that no model has seen; it cancels those that wait to be accepted."""


@pytest.fixture(scope="module")
def crashing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a crashing plug-in."""
    folder = tmp_path_factory.mktemp("npu")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    build = ["sh", "build_npu.sh", "faulty_npu.c", folder, "-DFAULT_CRASH"]
    subprocess.run(build, check=True, cwd=PROMISES, env=environment)
    return folder


def ask(protocol: ModuleType, server: Server, picture: np.ndarray, calls: int) -> list[np.ndarray]:
    """Return the answers to one client's calls."""
    url = server.http if protocol is tritonclient.http else server.grpc
    given = protocol.InferInput("x", picture.shape, "FP32").set_data_from_numpy(picture)
    with protocol.InferenceServerClient(url) as client:
        return [client.infer("page", [given]).as_numpy("fetch_name_0") for _ in range(calls)]


def test_a_plug_in_that_crashes_under_load_costs_no_answer(
    start: Callable[..., Server],
    crashing: Path,
    page_model: Path,
    picture: np.ndarray,
    tmp_path: Path,
) -> None:
    server = start(
        *(f"page={page_model}", "--backends", "AcmeNpu,CpuAcc,CpuRef", "--isolate", "dynamic"),
        environment={
            "ARMNN_DYNAMIC_BACKENDS_PATH": str(crashing),
            "XDG_CACHE_HOME": str(tmp_path),
        },
    )
    protocols = [tritonclient.http, tritonclient.grpc] * 2
    with ThreadPoolExecutor(len(protocols)) as pool:
        asked = [pool.submit(ask, each, server, picture, CALLS) for each in protocols]
    with armnn.load_model(page_model, ["CpuAcc", "CpuRef"]) as network:
        expected = network.run({"x": picture})["fetch_name_0"]
    for each in asked:
        assert len(each.result()) == CALLS
        for made in each.result():
            np.testing.assert_allclose(made, expected, rtol=1e-3, atol=1e-5)
    assert server.process.poll() is None
    server.wait_for("ended with SIGSEGV")


def test_the_end_of_a_server_waits_for_running_calls(
    start: Callable[..., Server], page_model: Path, picture: np.ndarray
) -> None:
    server = start(f"page={page_model}", "--backends", "CpuRef")
    answers, refusals = [], []

    def load(protocol: ModuleType, first: threading.Barrier) -> None:
        """Call until the server refuses."""
        answers.extend(ask(protocol, server, picture, 1))
        first.wait()
        try:
            while True:
                answers.extend(ask(protocol, server, picture, 1))
        except (ConnectionError, HTTPConnectionClosed, InferenceServerException) as refusal:
            refusals.append(refusal)

    first = threading.Barrier(5)
    with ThreadPoolExecutor(4) as pool:
        protocols = [tritonclient.http, tritonclient.grpc] * 2
        clients = [pool.submit(load, each, first) for each in protocols]
        first.wait()
        status = server.stop()
    assert [each.exception() for each in clients] == [None] * 4
    assert status == 0
    for refusal in refusals:
        if isinstance(refusal, InferenceServerException):
            assert refusal.status() in NOT_BEGUN
        else:
            # The second: the connection was accepted, and the server ended before it was read.
            assert isinstance(refusal, (ConnectionRefusedError, HTTPConnectionClosed))
    assert len(answers) >= 4
