# SPDX-License-Identifier: MIT
"""Wrong, large and late requests are refused with reasons."""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

if TYPE_CHECKING:
    from serving.recipe import Server

LIMIT = 2_000_000
"""Bytes of the largest request that the server takes."""
SHAPE = [1, 3, 224, 224]
BYTES = 4 * 3 * 224 * 224


@pytest.fixture(scope="module")
def server(start: Callable[..., Server], page_model: Path) -> Server:
    limit = ["--grpc_max_receive_message_length", str(LIMIT)]
    return start(f"page={page_model}", "--backends", "CpuAcc,CpuRef", *limit)


def post(server: Server, body: bytes, **headers: str) -> tuple[int, str]:
    """Return the status and the content of an answer."""
    connection = http.client.HTTPConnection(server.http, timeout=60)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", "/v2/models/page/infer", body, named)
        answer = connection.getresponse()
        return answer.status, answer.read().decode("latin-1")
    finally:
        connection.close()


def tensor(**changes: Any) -> dict[str, Any]:
    """Return the description of a binary input."""
    right = {"name": "x", "shape": SHAPE, "datatype": "FP32"}
    return {**right, "parameters": {"binary_data_size": BYTES}, **changes}


def binary(server: Server, request: object, tail: bytes) -> tuple[int, str]:
    """Send a request with a binary tail."""
    head = json.dumps(request).encode()
    length = {"inference_header_content_length": str(len(head))}
    return post(server, head + tail, content_type="application/octet-stream", **length)


def lives(server: Server) -> bool:
    """Return whether a right request is answered."""
    return binary(server, {"inputs": [tensor()]}, bytes(BYTES))[0] == 200


WRONG = {
    "shape": (tensor(shape=[1, 3, 224, 223]), BYTES, "cannot reshape array of size 150528"),
    "size": (
        tensor(shape=[1, 3, 112, 112], parameters={"binary_data_size": BYTES // 4}),
        BYTES // 4,
        r"the input 'x' has shape \[1,3,112,112\]: expected \[.*,3,224,224\]",
    ),
    "rank": (tensor(shape=[3, 224, 224]), BYTES, "expected"),
    "negative shape": (tensor(shape=[-1, 3, 224, 224]), BYTES, r"FP32 \[-1, 3, 224, 224\]"),
    "huge shape": (tensor(shape=[10**12, 3, 224, 224]), BYTES, "cannot reshape"),
    "huger shape": (tensor(shape=[10**30]), BYTES, "integer"),
    "text as shape": (tensor(shape="large"), BYTES, "integer"),
    "no shape": ({"name": "x", "datatype": "FP32"}, BYTES, "shape"),
    "datatype": (tensor(datatype="FP64"), BYTES, "cannot reshape array of size 75264"),
    "datatype of the same size": (tensor(datatype="INT32"), BYTES, "the input 'x' is int32"),
    "unknown datatype": (tensor(datatype="FP33"), BYTES, "invalid datatype"),
    "strings": (tensor(datatype="BYTES"), BYTES, "BYTES"),
    "number as datatype": (tensor(datatype=5), BYTES, "upper"),
    "name": (tensor(name="y"), BYTES, "there is no input 'y'"),
    "tail without four bytes": (tensor(), BYTES - 4, "cannot reshape array of size 150527"),
    "tail without ten bytes": (tensor(), BYTES - 10, "multiple of element size"),
    "no tail": (tensor(), 0, "cannot reshape array of size 0"),
    "huge tail": (tensor(parameters={"binary_data_size": 10**18}), BYTES, "1000000000000000000"),
    "negative tail": (tensor(parameters={"binary_data_size": -1}), BYTES, "cannot reshape"),
    "text as tail": (tensor(parameters={"binary_data_size": "all"}), BYTES, "cannot be read"),
    "no data": (tensor(parameters={}), BYTES, "'data' field is missing"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_binary_input_is_refused(case: str, server: Server) -> None:
    description, size, reason = WRONG[case]
    status, text = binary(server, {"inputs": [description]}, bytes(size))
    assert status == 400, text
    assert re.search(reason, json.loads(text)["error"])
    assert lives(server)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({}, "inputs"),
        ([], "cannot be read"),
        ({"inputs": None}, "cannot be read"),
        ({"inputs": []}, "nothing was given for input 'x'"),
        ({"inputs": [tensor()], "outputs": [{"name": "nothing"}]}, "nothing"),
        ({"inputs": [tensor()], "parameters": "fast"}, "cannot be read"),
        ({"inputs": [tensor()], "parameters": {"timeout": "soon"}}, "cannot be read"),
    ],
)
def test_a_wrong_request_is_refused(request_: object, reason: str, server: Server) -> None:
    status, text = binary(server, request_, bytes(BYTES))
    assert status == 400, text
    assert reason in json.loads(text)["error"]
    assert lives(server)


@pytest.mark.parametrize(
    ("data", "datatype", "reason"),
    [
        ([1.0, 2.0], "FP32", "cannot reshape array of size 2"),
        ([300], "UINT8", "out of bounds for uint8"),
        (["a"], "FP32", "could not convert string"),
        ([[1.0], [2.0, 3.0]], "FP32", "inhomogeneous"),
    ],
)
def test_wrong_json_data_is_refused(
    data: list[Any], datatype: str, reason: str, server: Server
) -> None:
    given = {"name": "x", "shape": SHAPE, "datatype": datatype, "data": data}
    body = json.dumps({"inputs": [given]}).encode()
    status, text = post(server, body, content_type="application/json")
    assert status == 400, text
    assert reason in json.loads(text)["error"]
    assert lives(server)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"inputs":' + b"[" * 50_000])
def test_what_is_no_json_is_refused(body: bytes, server: Server) -> None:
    status, text = post(server, body, content_type="application/json")
    assert status in (400, 422), text
    assert json.loads(text)["detail"]
    assert lives(server)


@pytest.mark.parametrize("length", ["-5", "abc", "999999999"])
def test_a_wrong_length_of_the_json_is_refused(length: str, server: Server) -> None:
    body = json.dumps({"inputs": [tensor()]}).encode() + bytes(BYTES)
    options = {"content_type": "application/octet-stream"}
    status, text = post(server, body, inference_header_content_length=length, **options)
    assert status == 400, text
    assert "cannot be read" in json.loads(text)["error"]
    assert lives(server)


def test_a_request_over_the_limit_is_refused_over_http(server: Server) -> None:
    status, text = binary(server, {"inputs": [tensor()]}, bytes(LIMIT))
    assert (status, text) == (413, "Content Too Large")
    assert lives(server)


def test_a_body_without_a_length_is_refused_at_the_limit(server: Server) -> None:
    host, port = server.http.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(
            b"POST /v2/models/page/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + bytes(0x10000) + b"\r\n"
        try:
            for _ in range(LIMIT // 0x10000 + 2):
                connection.sendall(chunk)
        except ConnectionError:
            pass  # it has answered, and reads no further
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")
    assert lives(server)


def grpc_error(server: Server, given: triton.InferInput, **options: Any) -> tuple[str, str]:
    """Return the code and reason of gRPC's refusal."""
    with triton.InferenceServerClient(server.grpc) as client:
        with pytest.raises(InferenceServerException) as caught:
            client.infer("page", [given], **options)
        assert client.is_server_live()
    return str(caught.value.status()), str(caught.value.message())


def described(shape: list[int], datatype: str, content: bytes) -> triton.InferInput:
    """Return an input whose content may not fit."""
    made = triton.InferInput("x", shape, datatype)
    made._raw_content = content  # its public methods make right inputs only
    return made


@pytest.mark.parametrize(
    ("shape", "datatype", "size", "reason"),
    [
        ([1, 3, 224, 223], "FP32", BYTES, "cannot reshape"),
        ([1, 3, 112, 112], "FP32", BYTES // 4, "the input 'x' has shape"),
        (SHAPE, "FP64", BYTES, "cannot reshape"),
        (SHAPE, "INT32", BYTES, "the input 'x' is int32"),
        (SHAPE, "FP32", BYTES - 4, "cannot reshape"),
        ([10**12, 3, 224, 224], "FP32", BYTES, "cannot reshape"),
    ],
)
def test_a_wrong_input_is_refused_over_grpc(
    shape: list[int], datatype: str, size: int, reason: str, server: Server
) -> None:
    code, text = grpc_error(server, described(shape, datatype, bytes(size)))
    assert code == "StatusCode.INVALID_ARGUMENT"
    assert reason in text
    assert lives(server)


def test_a_request_over_the_limit_is_refused_over_grpc(server: Server) -> None:
    code, text = grpc_error(server, described(SHAPE, "FP32", bytes(LIMIT)))
    assert code == "StatusCode.RESOURCE_EXHAUSTED"
    assert str(LIMIT) in text
    assert lives(server)


def test_an_unknown_model_is_not_found(server: Server) -> None:
    client = triton.InferenceServerClient(server.grpc)
    with client, pytest.raises(InferenceServerException) as caught:
        client.get_model_metadata("nothing")
    assert caught.value.status() == "StatusCode.NOT_FOUND"


def test_a_deadline_ends_a_run(server: Server) -> None:
    asked = {"inputs": [tensor()], "parameters": {"timeout": 1000}}  # microseconds
    status, text = binary(server, asked, bytes(BYTES))
    assert status == 504
    assert "layer" in json.loads(text)["detail"]
    code, text = grpc_error(server, described(SHAPE, "FP32", bytes(BYTES)), timeout=1000)
    assert code == "StatusCode.DEADLINE_EXCEEDED"
    assert "layer" in text
    assert lives(server)


@pytest.fixture(scope="module")
def one_thread(start: Callable[..., Server], page_model: Path) -> Server:
    """Return a slow server with one thread."""
    alone = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return start(f"page={page_model}", "--backends", "CpuRef", environment=alone)


def processor_time(server: Server) -> float:
    """Return the processor time of a server, in ticks."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return float(fields[11]) + float(fields[12])


BATCH = [12, *SHAPE[1:]]


def batch() -> tuple[bytes, bytes]:
    """Return head and tail of a long call's request."""
    size = {"binary_data_size": 12 * BYTES}
    return json.dumps({"inputs": [tensor(shape=BATCH, parameters=size)]}).encode(), bytes(
        12 * BYTES
    )


def cost_of_a_run(server: Server) -> float:
    """Return the processor time until a new call is answered."""
    before = processor_time(server)
    head, tail = batch()
    status, text = binary(server, json.loads(head), tail)
    assert status == 200, text
    return processor_time(server) - before


def leave_http(server: Server) -> None:
    """Send a request, and leave before its answer."""
    head, tail = batch()
    host, port = server.http.split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(
            b"POST /v2/models/page/infer HTTP/1.1\r\nHost: x\r\n"
            b"Inference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n"
            % (len(head), len(head) + len(tail))
        )
        connection.sendall(head + tail)


def leave_grpc(server: Server) -> None:
    """Send a request whose deadline comes before its answer."""
    given = described(BATCH, "FP32", batch()[1])
    code, _ = grpc_error(server, given, client_timeout=0.05)
    assert code == "StatusCode.DEADLINE_EXCEEDED"


@pytest.mark.parametrize("leave", [leave_http, leave_grpc])
def test_a_run_ends_when_its_client_leaves(
    leave: Callable[[Server], None], one_thread: Server
) -> None:
    whole = min(cost_of_a_run(one_thread) for _ in range(3))
    for _ in range(4):
        leave(one_thread)
    assert cost_of_a_run(one_thread) < 3 * whole  # five whole runs without cancellation
