# SPDX-License-Identifier: MIT
"""armnn/layers.h agrees with the table, and hides young items."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from armnn.layers import LAYERS
from armnn.types import ArmnnEnum, PoolingAlgorithm
from armnn_backend_api import BACKEND_API_VERSION, get_include
from tools.generate import layers_header
from tools.generate.generate_layers import documented

INCLUDE = Path(get_include())
HEADER = (INCLUDE / "armnn" / "layers.h").read_text(encoding="utf-8")
NEWEST = BACKEND_API_VERSION.minor
FIELDS = [
    (spec, field) for spec in LAYERS.values() for field in dataclasses.fields(spec.descriptor)
]


def squeezed(name: str) -> str:
    """Return a name without its additions in C."""
    return name.replace("_", "").upper()


def preprocessed(*options: str, text: str = HEADER, target: int = NEWEST) -> str:
    """Return a preprocessed header for a backend's minor version."""
    flags = [f"-DARMNN_BACKEND_TARGET_MINOR={target}", f"-I{INCLUDE}", *options]
    command = ["gcc", "-E", "-x", "c", *flags, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def defined() -> dict[str, str]:
    """Return each macro's value, as in the table."""
    ours = set(re.findall(r"#define (ARMNN_\w+) ", HEADER)) - {"ARMNN_LAYERS_H_"}
    rows = re.findall(r"^#define (ARMNN_\w+) (.+)$", preprocessed("-dM"), re.MULTILINE)
    return {name: value for name, value in rows if name in ours}


def test_each_layer_and_parameter_has_a_name(defined: Mapping[str, str]) -> None:
    expected = {squeezed(f"ARMNN_LAYER_{name}"): f'"{name}"' for name in LAYERS}
    expected |= {squeezed(f"ARMNN_{s.name}_{f.name}"): f'"{f.name}"' for s, f in FIELDS}
    assert len(expected) == len(LAYERS) + len(FIELDS)
    found = {name: value for name, value in defined.items() if not name.endswith("_DEFAULT")}
    assert {squeezed(name): value for name, value in found.items()} == expected


def elements(value: Any) -> list[float]:
    """Return a default's numbers.

    Those of a text are its characters, which end with 0.
    """
    if isinstance(value, str):
        return [*value.encode(), 0]
    if isinstance(value, tuple):
        return [number for item in value for number in elements(item)]
    return [float(value)]


def printed(values: Mapping[str, str], folder: Path) -> dict[str, list[float]]:
    """Return values compiled by C, by name, as elements."""
    lines = []
    for index, (name, value) in enumerate(values.items()):
        kind = "char" if value.startswith('"') else "double"
        braced = value if value.startswith(("{", '"')) else f"{{{value}}}"
        lines.append(f'static const {kind} x{index}[] = {braced}; printf("\\n{name}");')
        lines.append(
            f"for (unsigned i = 0; i < sizeof x{index} / sizeof *x{index}; ++i) "
            f'printf(" %.17g", (double)x{index}[i]);'
        )
    source, program = folder / "values.c", folder / "values"
    body = "\n".join(lines)
    source.write_text(
        f"#include <stdio.h>\n#include <armnn/layers.h>\nint main(void) {{\n{body}\n}}\n"
    )
    flags = [f"-DARMNN_BACKEND_TARGET_MINOR={NEWEST}", f"-I{INCLUDE}", "-o", str(program)]
    subprocess.run(["gcc", "-std=c11", *flags, str(source)], check=True)
    text = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in text.splitlines() if line]
    return {squeezed(name): [float(number) for number in numbers] for name, *numbers in rows}


def test_a_compiler_finds_the_defaults_of_the_table(
    defined: Mapping[str, str], tmp_path: Path
) -> None:
    defaults = {name: value for name, value in defined.items() if name.endswith("_DEFAULT")}
    expected = {
        squeezed(f"ARMNN_{spec.name}_{field.name}_DEFAULT"): elements(field.default)
        for spec, field in FIELDS
        if field.default != ()
    }
    assert printed(defaults, tmp_path) == expected


def enumerations() -> Iterable[type[ArmnnEnum]]:
    for spec, field in FIELDS:
        hint = field.metadata.get("values", get_type_hints(spec.descriptor)[field.name])
        for kind in (hint, *get_args(hint)):
            if isinstance(kind, type) and issubclass(kind, ArmnnEnum):
                yield kind


def test_a_compiler_finds_the_members_of_the_enumerations(tmp_path: Path) -> None:
    names = re.findall(r"^  (ARMNN_\w+) =", HEADER, re.MULTILINE)
    expected = {
        squeezed(f"ARMNN_{kind.__name__}_{member.name}"): [float(member)]
        for kind in enumerations()
        for member in kind
    }
    assert printed({name: name for name in names}, tmp_path) == expected


def test_a_parameter_of_1_1_is_hidden_from_a_backend_of_1_0() -> None:
    name = "ARMNN_ARG_MIN_MAX_SELECT_LAST_INDEX"
    assert name not in preprocessed("-dM", target=0)
    assert {name, f"{name}_DEFAULT"} <= set(preprocessed("-dM", target=1).split())


def test_a_younger_layer_and_a_younger_member_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PoolingAlgorithm.L2, "since", (1, 1))
    pooling, softmax = LAYERS["Pooling2d"], dataclasses.replace(LAYERS["Softmax"], since=(1, 1))
    text = layers_header.header([pooling, softmax], documented)
    young = {"ARMNN_LAYER_SOFTMAX", "ARMNN_SOFTMAX_BETA", "ARMNN_POOLING_ALGORITHM_L2"}
    for target, visible in ((0, set[str]()), (1, young)):
        words = set(preprocessed("-dD", text=text, target=target).split())
        assert words & young == visible
        assert {"ARMNN_LAYER_POOLING2D", "ARMNN_POOLING_ALGORITHM_MAX"} <= words


def test_two_things_of_one_name_are_refused() -> None:
    softmax = LAYERS["Softmax"]
    with pytest.raises(ValueError, match="two things have the name ARMNN_LAYER_SOFTMAX: give one"):
        layers_header.header([softmax, softmax], documented)
    with pytest.raises(ValueError, match="two things have the name ARMNN_SOFTMAX_AXIS: give one"):
        layers_header.header([softmax], documented, ["ARMNN_SOFTMAX_AXIS"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "1"),
        (-1, "(-1)"),
        (2**40, "INT64_C(1099511627776)"),
        (1e-12, "1e-12"),
        (-0.75, "(-0.75)"),
        ("a,b", '"a,b"'),
        (PoolingAlgorithm.L2, "ARMNN_POOLING_ALGORITHM_L2"),
        (((0, 1), (2, -3)), "{0, 1, 2, (-3)}"),
    ],
)
def test_a_value_is_written_as_c_writes_it(value: Any, expected: str) -> None:
    assert layers_header.c_literal(value) == expected
