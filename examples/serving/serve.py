# SPDX-License-Identifier: MIT
"""Serves models over the Open Inference Protocol, with KServe's SDK.

python serve.py page=page_orientation.onnx words=words.tflite --backends CpuAcc,CpuRef
"""

import argparse
import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import kserve
import numpy as np
import uvloop
from fastapi import HTTPException
from grpc_interceptor.exceptions import DeadlineExceeded
from kserve.model_server import app, parser
from kserve.protocol import dataplane, infer_type
from kserve.utils.numpy_codec import from_np_dtype, to_np_dtype

import armnn

departure: ContextVar[Any] = ContextVar("departure", default=asyncio.Future)
"""Makes what ends when a client over HTTP leaves; over gRPC the SDK cancels the call."""


class Input(infer_type.InferInput):
    """A tensor of a request, whose sizes may be wrong."""

    def as_numpy(self) -> Any:
        """Return the array if its sizes are the claimed ones."""
        array = super().as_numpy()
        size = (self.parameters or {}).get("binary_data_size", array.nbytes)
        if list(array.shape) != self.shape or array.nbytes != size:
            raise kserve.errors.InvalidInput(f"{size} bytes for {self.datatype} {self.shape}")
        return array

    def set_data_from_numpy(self, *_: Any, **__: Any) -> None:
        """Keep the bytes; the SDK makes numbers of them."""


class Requests(dataplane.DataPlane):
    """Answers 400 to requests that cannot be read."""

    def decode(self, body: Any, headers: Any, *protocol: Any, **model: Any) -> Any:
        """Return a request, or raise InvalidInput."""
        try:
            if isinstance(body, bytes):  # all of it is JSON, unless the client says otherwise
                headers.setdefault("inference-header-content-length", str(len(body)))
            return super().decode(body, headers, *protocol, **model)
        except Exception as error:
            raise kserve.errors.InvalidInput(f"the request cannot be read: {error!r}") from error


class ServedModel(kserve.Model):
    """A loaded network, ready after its first run."""

    def __init__(self, name: str, network: Any, seconds: float) -> None:
        super().__init__(name)
        self.network, self.seconds = network, seconds
        self.get_input_types = lambda: metadata(network.inputs)
        self.get_output_types = lambda: metadata(network.outputs)
        network.run({each["name"]: zeros(each) for each in metadata(network.inputs)})
        self.ready = True

    async def predict(self, payload: Any, headers: Any = None) -> Any:  # noqa: ARG002  # the SDK's
        """Run the network while its client is there."""
        try:
            inputs = {each.name: each.as_numpy() for each in payload.inputs}
            names = [each.name for each in payload.request_outputs or ()]
            asked = infer_type.to_http_parameters(payload.parameters or {}).get("timeout", 1e12)
            seconds = min(self.seconds, asked / 1e6)
        except Exception as error:
            raise kserve.errors.InvalidInput(f"the request cannot be read: {error!r}") from error
        left = threading.Event()
        gone = asyncio.ensure_future(departure.get()())
        gone.add_done_callback(lambda _: left.set())
        try:
            made = await self.network.run_async(inputs, timeout=seconds, cancel=left)
            return response(payload, {name: made[name] for name in names or made})
        except (armnn.errors.InvalidArgumentError, KeyError) as error:
            raise kserve.errors.InvalidInput(str(error)) from error
        except (armnn.errors.CancelledError, armnn.errors.DeadlineExceededError) as error:
            if payload.from_grpc:
                raise DeadlineExceeded(str(error)) from error
            raise HTTPException(504, str(error)) from error
        finally:
            gone.cancel()


def response(request: kserve.InferRequest, arrays: dict[str, Any]) -> kserve.InferResponse:
    """Return the answer to a request."""
    outputs, binary = [], request.use_binary_outputs
    for name, array in arrays.items():
        outputs.append(kserve.InferOutput(name, [*array.shape], from_np_dtype(array.dtype), array))
        if request.from_grpc:
            outputs[-1].set_data_from_numpy(array, binary)
    wanted = {"use_binary_outputs": binary, "requested_outputs": request.request_outputs}
    return kserve.InferResponse(request.id or "", request.model_name, outputs, **wanted)


def zeros(tensor: dict[str, Any]) -> np.ndarray:
    """Return zeros; a size that may be any is 1."""
    return np.zeros(np.abs(tensor["shape"]), to_np_dtype(tensor["datatype"]))


def metadata(tensors: dict[str, armnn.TensorInfo]) -> list[dict[str, Any]]:
    """Return the metadata of tensors; -1 is any size."""
    made: list[dict[str, Any]] = [{"name": name} for name in tensors]
    for each, info in zip(made, tensors.values(), strict=True):
        each["datatype"] = from_np_dtype(info.data_type.numpy_dtype)
        each["shape"] = [size if isinstance(size, int) else -1 for size in info.shape or ()]
    return made


def with_departures(app: Any) -> Any:
    """Let models see when the client of a call leaves."""

    async def call(scope: Any, receive: Any, send: Any) -> None:
        departure.set(receive)
        await app(scope, receive, send)

    return call


def serve(networks: dict[str, Any], given: argparse.Namespace) -> None:
    """Serve networks until a signal comes."""
    app.max_body_size = given.grpc_max_receive_message_length
    app.add_middleware(with_departures)
    infer_type.InferInput = Input
    asyncio.run = uvloop.run  # the SDK runs its servers by it, and its --event_loop has no effect
    server = kserve.ModelServer()
    server.dataplane = Requests(server.registered_models)
    server.start([ServedModel(name, each, given.timeout) for name, each in networks.items()])


def main() -> None:
    """Load the models and serve them."""
    options = argparse.ArgumentParser(description=__doc__, parents=[parser])
    options.add_argument("models", nargs="+", metavar="NAME=FILE")
    options.add_argument("--backends", type=lambda ids: ids.split(","), help="isolated:Npu,CpuRef")
    options.add_argument("--isolate", default=(), choices=["auto", "dynamic"])
    options.add_argument("--timeout", type=float, default=30.0, help="seconds for a run at most")
    given = options.parse_args()
    files = dict(each.split("=", 1) for each in given.models)
    with armnn.Runtime(armnn.CreationOptions(isolate=given.isolate)) as runtime:
        serve({name: runtime.load_model(files[name], given.backends) for name in files}, given)


if __name__ == "__main__":
    main()
