# SPDX-License-Identifier: MIT
"""Families whose layers are in several modules."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib import import_module

import pytest

from armnn.layers import LAYERS
from armnn.layers._modules import MODULE_OF

PARTS = [name for name, module in MODULE_OF.items() if "_" in module]


@pytest.mark.parametrize("name", MODULE_OF)
def test_a_family_has_the_descriptors_of_its_parts(name: str) -> None:
    spec = LAYERS[name]
    assert spec.descriptor.__module__ == f"armnn.layers.{MODULE_OF[name]}"
    family = import_module(f"armnn.layers.{spec.family}")
    assert getattr(family, f"{name}Descriptor") is spec.descriptor


@pytest.mark.parametrize("name", PARTS)
def test_a_descriptor_of_a_part_is_pickled_and_was_before_there_were_parts(name: str) -> None:
    descriptor = LAYERS[name].descriptor()
    data = pickle.dumps(descriptor, protocol=0)
    assert pickle.loads(data) == descriptor
    family = LAYERS[name].family
    earlier = data.replace(MODULE_OF[name].encode(), family.encode())
    assert earlier != data
    assert pickle.loads(earlier) == descriptor


@pytest.mark.parametrize("name", ["PadDescriptors", "Pad", "PoolingDescriptor", "Softmax", "_x"])
def test_a_family_has_no_other_names(name: str) -> None:
    reshaping = import_module("armnn.layers.reshaping")
    with pytest.raises(AttributeError, match=f"'armnn.layers.reshaping' has no attribute '{name}'"):
        getattr(reshaping, name)


def test_the_order_does_not_depend_on_what_was_imported_first() -> None:
    code = "from armnn.layers import LAYERS; LAYERS[{!r}]; print(*LAYERS)"
    orders = {
        subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True, check=True)
        .stdout.decode()
        .strip()
        for name in ("Pad", "Reshape")
    }
    assert orders == {" ".join(MODULE_OF)}
