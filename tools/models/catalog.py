# SPDX-License-Identifier: MIT
"""The catalog of public models, read from models.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

CATALOG = Path(__file__).with_name("models.toml")

ANY_INPUT = "*"
"""The name of every input without an entry of its own."""


@dataclass(frozen=True, kw_only=True)
class Package:
    """A distribution on PyPI.

    Attributes:
        name: Its name.
        version: Its exact version.
        license: That of the models in it.
        python: The version of Python that its wheel is for; None if for all.
    """

    name: str
    version: str
    license: str
    python: str | None = None


@dataclass(frozen=True, kw_only=True)
class Feed:
    """An input's data: noise, or one number everywhere.

    Attributes:
        shape: Its shape; None for that of the model.
        low: The least number of the noise.
        high: The bound of the noise, which does not reach it; None for all that an integer holds.
        value: The number instead of noise.
    """

    shape: tuple[int, ...] | None = None
    low: float = 0.0
    high: float | None = None
    value: float | None = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model of the catalog.

    Attributes:
        name: What the project calls it.
        what: What it is.
        package: The distribution that it is in, or that what it is made of is in.
        member: The path of the file in the wheel; after a "!" the path in that archive.
        sha256: Of the file.
        recipe: What makes the model of the file; empty if it is the file.
        source: The model that it is made of; empty if that is a file in a wheel.
        oracle: The recipe that makes of it what the oracle can run; empty if it can run it.
        refused: Whether it is known that the parser refuses it.
        quantized: Whether it computes with quantized integers.
        inputs: What its inputs are given, by name.
    """

    name: str = ""
    what: str = ""
    package: Package
    member: str
    sha256: str
    recipe: str = ""
    source: str = ""
    oracle: str = ""
    refused: bool = False
    quantized: bool = False
    inputs: Mapping[str, Feed] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """The suffix of the model's file."""
        return PurePosixPath(self.member).suffix

    def feed(self, name: str) -> Feed:
        """Return the values that an input is given."""
        return self.inputs.get(name) or self.inputs.get(ANY_INPUT) or Feed()


def read_catalog(path: Path = CATALOG) -> dict[str, Model]:
    """Return the models by name, in file order.

    Raises:
        KeyError: A model names a package or source that is not there, or lacks a field.
        TypeError: A model has a field that there is not.
    """
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    packages = {name: Package(name=name, **rest) for name, rest in tables["packages"].items()}
    models: dict[str, Model] = {}
    for name, entry in tables["models"].items():
        rest: dict[str, Any] = dict(entry)
        rest["inputs"] = {at: _feed(feed) for at, feed in entry.get("inputs", {}).items()}
        if "source" in rest:
            origin = models[rest["source"]]
            rest |= {"package": origin.package, "member": origin.member, "sha256": origin.sha256}
        else:
            rest["package"] = packages[rest["package"]]
        models[name] = Model(name=name, **rest)
    return models


def _feed(entry: Mapping[str, Any]) -> Feed:
    shape = entry.get("shape")
    return Feed(**{**entry, "shape": None if shape is None else tuple(shape)})
