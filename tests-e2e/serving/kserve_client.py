# SPDX-License-Identifier: MIT
"""Ask a server with KServe's client.

    python kserve_client.py http HOST:PORT INPUT OUTPUT

A process cannot import this client and Triton's, as both define the same messages of gRPC.
"""

from __future__ import annotations

import asyncio
import sys

import kserve
import numpy as np
from kserve.inference_client import RESTConfig


async def ask(protocol: str, address: str, request: kserve.InferRequest) -> kserve.InferResponse:
    """Return the answer of a server that is ready."""
    if protocol == "http":
        rest, url = kserve.InferenceRESTClient(RESTConfig(protocol="v2")), f"http://{address}"
        assert await rest.is_server_ready(url)
        assert await rest.is_model_ready(url, request.model_name)
        return await rest.infer(url, request, model_name=request.model_name)
    client = kserve.InferenceGRPCClient(address)
    assert await client.is_server_ready()
    assert await client.is_model_ready(request.model_name)
    return await client.infer(request)


def main() -> None:
    """Send a file's array; write the answer."""
    protocol, address, source, target = sys.argv[1:]
    picture = np.load(source)
    given = kserve.InferInput("x", list(picture.shape), "FP32")
    given.set_data_from_numpy(picture)
    answer = asyncio.run(ask(protocol, address, kserve.InferRequest("page", [given])))
    np.save(target, answer.outputs[0].as_numpy())


if __name__ == "__main__":
    main()
