# SPDX-License-Identifier: MIT
"""Released layers stay: their numbers, names, parameters and defaults."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

import armnn_backend_api
from armnn.layers import LAYERS

FROZEN = Path(__file__).parent / "compat" / "frozen"
RELEASES = ("1.0.0", "1.1.0", "1.2.0", "1.3.0")
HEADER = "armnn_backend_api/include/armnn/layers.h"


def released(distribution: str, version: str, path: str) -> str:
    with zipfile.ZipFile(FROZEN / f"{distribution}-{version}-py3-none-any.whl") as wheel:
        return wheel.read(path).decode()


def defined(header: str) -> dict[str, str]:
    """Return what a header defines: names, defaults, members of enumerations."""
    pattern = r"^(?:#define |  )(ARMNN_\w+)(?: =)? (\S+?),?(?: /\*.*)?$"
    return dict(re.findall(pattern, header, re.MULTILINE))


@pytest.mark.parametrize("version", RELEASES)
def test_released_layer_types_keep_their_numbers(version: str) -> None:
    text = released("armnn_core", version, "armnn/layers/_types.py")
    numbers = {name: int(number) for name, number in re.findall(r"^    (\w+) = (\d+)$", text, re.M)}
    assert len(numbers) >= 100
    assert numbers.items() <= {spec.name: spec.number for spec in LAYERS.values()}.items()


@pytest.mark.parametrize("version", RELEASES[2:])
def test_released_parameters_keep_their_names_and_defaults(version: str) -> None:
    """Backend API 1.2 is the first whose header describes the layers."""
    before = defined(released("armnn_backend_api", version, HEADER))
    assert before["ARMNN_LAYER_SOFTMAX"] == '"Softmax"'
    assert before["ARMNN_SOFTMAX_BETA_DEFAULT"] == "1.0"
    header = Path(armnn_backend_api.get_include()) / "armnn" / "layers.h"
    assert before.items() <= defined(header.read_text(encoding="utf-8")).items()
