# SPDX-License-Identifier: MIT
"""Unchanged clients of others get the right answers."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnxruntime
import pytest
import tritonclient.grpc
import tritonclient.http
from serving.recipe import Server, launched

import armnn

PROTOCOLS = [
    pytest.param(tritonclient.http, id="http"),
    pytest.param(tritonclient.grpc, id="grpc"),
]


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], page_model: Path, words_model: Path) -> Server:
    return start(f"page={page_model}", f"words={words_model}", "--backends", "CpuAcc,CpuRef")


def client_of(protocol: ModuleType, server: Server) -> Any:
    url = server.http if protocol is tritonclient.http else server.grpc
    return protocol.InferenceServerClient(url)


def metadata(client: Any, name: str) -> Any:
    """Return a model's metadata in the form of HTTP."""
    if isinstance(client, tritonclient.grpc.InferenceServerClient):
        return client.get_model_metadata(name, as_json=True)
    return client.get_model_metadata(name)


def triton_input(protocol: ModuleType, name: str, array: np.ndarray, **options: Any) -> Any:
    made = protocol.InferInput(name, array.shape, "FP32")
    return made.set_data_from_numpy(array, **options)


@pytest.fixture(scope="module")
def probabilities(page_model: Path, picture: np.ndarray) -> np.ndarray:
    """Return what onnxruntime makes of the picture."""
    session = onnxruntime.InferenceSession(page_model, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": picture})[0])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_servers_and_models_are_ready(protocol: ModuleType, server: Server) -> None:
    with client_of(protocol, server) as client:
        assert client.is_server_live()
        assert client.is_server_ready()
        assert client.is_model_ready("page")
        assert client.is_model_ready("words")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_metadata_are_those_of_the_file(protocol: ModuleType, server: Server) -> None:
    with client_of(protocol, server) as client:
        found = metadata(client, "page")
        (made,) = metadata(client, "words")["outputs"]
    (given,) = found["inputs"]
    assert (found["name"], given["name"], given["datatype"]) == ("page", "x", "FP32")
    assert [int(size) for size in given["shape"]] == [-1, 3, 224, 224]
    assert (made["name"], made["datatype"]) == ("Identity", "FP32")
    assert [int(size) for size in made["shape"]] == [-1, 12]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_binary_tensors_give_the_result_of_a_run_in_process(
    protocol: ModuleType,
    server: Server,
    page_model: Path,
    picture: np.ndarray,
    probabilities: np.ndarray,
) -> None:
    with client_of(protocol, server) as client:
        answer = client.infer("page", [triton_input(protocol, "x", picture)], request_id="7")
    scores = answer.as_numpy("fetch_name_0")
    with armnn.load_model(page_model, ["CpuAcc", "CpuRef"]) as network:
        np.testing.assert_array_equal(scores, network.run({"x": picture})["fetch_name_0"])
    np.testing.assert_allclose(scores, probabilities, rtol=1e-3, atol=1e-5)
    response = answer.get_response()
    assert (response["id"] if isinstance(response, dict) else response.id) == "7"


def test_json_gives_the_result_of_binary_tensors(
    server: Server, picture: np.ndarray, probabilities: np.ndarray
) -> None:
    http = tritonclient.http
    with client_of(http, server) as client:
        wanted = [http.InferRequestedOutput("fetch_name_0", binary_data=False)]
        given = [triton_input(http, "x", picture, binary_data=False)]
        answer = client.infer("page", given, outputs=wanted)
    np.testing.assert_allclose(answer.as_numpy("fetch_name_0"), probabilities, rtol=1e-3, atol=1e-5)


def test_a_batch_of_another_size_is_answered(
    server: Server, picture: np.ndarray, probabilities: np.ndarray
) -> None:
    http = tritonclient.http
    with client_of(http, server) as client:
        pair = np.concatenate([picture, np.zeros_like(picture)])
        answer = client.infer("page", [triton_input(http, "x", pair)])
    np.testing.assert_allclose(
        answer.as_numpy("fetch_name_0")[:1], probabilities, rtol=1e-3, atol=1e-5
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_several_models_answer_on_one_server(
    protocol: ModuleType, server: Server, words_model: Path, sound: np.ndarray
) -> None:
    with client_of(protocol, server) as client:
        answer = client.infer("words", [triton_input(protocol, "input_1", sound)])
    with armnn.load_model(words_model, ["CpuAcc", "CpuRef"]) as network:
        expected = network.run({"input_1": sound})["Identity"]
    np.testing.assert_array_equal(answer.as_numpy("Identity"), expected)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_the_client_of_kserve_is_answered(
    protocol: str,
    server: Server,
    picture: np.ndarray,
    probabilities: np.ndarray,
    tmp_path: Path,
) -> None:
    np.save(tmp_path / "given.npy", picture)
    files = [tmp_path / "given.npy", tmp_path / "made.npy"]
    program = Path(__file__).with_name("kserve_client.py")
    address = getattr(server, protocol)
    subprocess.run([sys.executable, program, protocol, address, *files], check=True)
    np.testing.assert_allclose(np.load(files[1]), probabilities, rtol=1e-3, atol=1e-5)


def test_the_metrics_of_the_sdk_count_the_calls(server: Server, sound: np.ndarray) -> None:
    def count() -> float:
        with urllib.request.urlopen(f"http://{server.http}/metrics") as page:
            text = page.read().decode()
        (found,) = re.findall(
            r'^request_predict_seconds_count{model_name="words"} (\S+)', text, re.M
        )
        return float(found)

    http = tritonclient.http
    with client_of(http, server) as client:
        given = [triton_input(http, "input_1", sound)]
        client.infer("words", given)
        before = count()
        for _ in range(3):
            client.infer("words", given)
    assert count() == before + 3


def test_a_server_does_not_listen_before_its_models_have_run(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").write_bytes(b"")
    server = launched(f"page={tmp_path / 'empty.onnx'}")
    assert server.process.wait() != 0
    lines = []
    while (line := server.lines.get()) is not None:
        lines.append(line)
    assert "empty.onnx" in "".join(lines)
    assert "Starting uvicorn" not in "".join(lines)
