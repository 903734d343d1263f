# SPDX-License-Identifier: MIT
"""Answers over HTTP with several replicas, on Ray Serve.

python service.py page_orientation.onnx --replicas 2 --cache prepared
curl --data-binary @picture.png http://127.0.0.1:8000
"""

from __future__ import annotations

import argparse
import io
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
from pictures import loaded, pixels_of
from ray import serve
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    import armnn


class PageTurn:
    """A replica; Ray Serve replaces a lost one."""

    def __init__(self, model: armnn.LoadedNetwork) -> None:
        self.model = model
        (self.input,), (self.output,) = model.inputs, model.outputs
        model.run({self.input: np.zeros((1, 3, 224, 224), np.float32)})  # the first run is slow

    async def __call__(self, request: Any) -> Any:
        """Return class and score of the picture in a request."""
        try:
            pixels = pixels_of(io.BytesIO(await request.body()))[np.newaxis]
        except OSError as error:
            return PlainTextResponse(str(error), 400)
        scores = (await self.model.submit({self.input: pixels}))[self.output][0]
        best = int(scores.argmax())
        return {"class": best, "score": float(scores[best]), "worker": os.getpid()}


def main() -> None:
    """Serve a model until Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--cache", help="the folder of prepared models, which all replicas map")
    parser.add_argument("--port", type=int, default=8000)
    given = parser.parse_args()
    ray.init(include_dashboard=False)
    serve.start(http_options={"host": "127.0.0.1", "port": given.port})
    model = loaded(given.model, given.cache, batch=1)
    one_cpu = {"num_cpus": 1}
    replicas = serve.deployment(PageTurn, num_replicas=given.replicas, ray_actor_options=one_cpu)
    serve.run(replicas.bind(model), blocking=True)


if __name__ == "__main__":
    main()
