# SPDX-License-Identifier: MIT
"""Servers to compare the recipe with: ``peers.py sdk|onnxruntime FILE``.

``sdk`` is KServe's SDK alone, with a model that reads its input and returns zeros. ``onnxruntime``
is the recipe with sessions of onnxruntime in place of networks. The other options are the SDK's.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path
from typing import Any

import kserve
import numpy as np
import onnxruntime
from kserve.model_server import parser
from kserve.utils.utils import get_predict_response

from armnn import TensorInfo, load_model

RECIPE = Path(__file__).resolve().parents[2] / "examples" / "serving" / "serve.py"


class Session:
    """A session of onnxruntime, as the recipe calls a network."""

    def __init__(self, file: str) -> None:
        self.session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
        self.inputs = {each.name: TensorInfo(each.shape) for each in self.session.get_inputs()}
        self.outputs = {each.name: TensorInfo(each.shape) for each in self.session.get_outputs()}

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Run the session."""
        return dict(zip(self.outputs, self.session.run(None, inputs), strict=True))

    async def run_async(self, inputs: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Run the session in another thread; no deadline ends it."""
        return await asyncio.to_thread(self.run, inputs)


class Trivial(kserve.Model):
    """A model that costs nothing but the SDK."""

    def __init__(self, name: str, file: str) -> None:
        super().__init__(name)
        (made,) = load_model(file, ["CpuRef"]).outputs.values()
        self.answer = np.zeros([size if isinstance(size, int) else 1 for size in made.shape or ()])
        self.answer = self.answer.astype(np.float32)
        self.ready = True

    async def predict(self, payload: Any, headers: Any = None) -> Any:  # noqa: ARG002  # the SDK's
        """Read the input and return zeros."""
        payload.inputs[0].as_numpy()
        return get_predict_response(payload, self.answer, self.name)


def main() -> None:
    """Serve the model of a file under the name ``model``."""
    kind, file = sys.argv[1:3]
    if kind == "sdk":
        kserve.ModelServer().start([Trivial("model", file)])
        return
    spec = importlib.util.spec_from_file_location("serve", RECIPE)
    assert spec is not None
    assert spec.loader is not None
    recipe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recipe)
    given, _ = parser.parse_known_args()
    given.timeout = 30.0
    recipe.serve({"model": Session(file)}, given)


if __name__ == "__main__":
    main()
