# SPDX-License-Identifier: MIT
"""The options of Arm NN's delegate: honoured, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from armnn_compat.litert.delegates import OPTIONS, Delegate, combined, load_delegate

ARM_NN = "libarmnnDelegate.so"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"backends": "CpuAcc,CpuRef"}, {"backends": ("CpuAcc", "CpuRef")}),
        ({"number-of-threads": "3"}, {"threads": 3}),
        ({"enable-fast-math": "true"}, {"fast_math": True}),
        ({"dynamic-backends-path": "/opt/x"}, {"dynamic_backends_path": "/opt/x"}),
        ({"logging-severity": "Fatal"}, {"log_level": "CRITICAL"}),
        ({"serialize-to-dot": "net.dot"}, {"dot_file": "net.dot"}),
        ({"enable-internal-profiling": True}, {"profiles": True}),
        ({"internal-profiling-detail": 2}, {"profiles_events": False}),
        ({"reduce-fp32-to-fp16": "1"}, {"optimizer": {"reduce_fp32_to_fp16": True}}),
        ({"reduce-fp32-to-bf16": "0"}, {"optimizer": {"reduce_fp32_to_bf16": False}}),
        ({"debug-data": "TRUE"}, {"optimizer": {"debug": True}}),
        ({"memory-import": "true"}, {"optimizer": {"import_enabled": True}}),
        (
            {"infer-output-shape": "false"},
            {"optimizer": {"shape_inference_method": "ValidateOnly"}},
        ),
        (
            {"allow-expanded-dims": "true"},
            {"optimizer": {"allow_expanded_dims": True, "shape_inference_method": "ValidateOnly"}},
        ),
        ({"disable-tflite-runtime-fallback": "true", "gpu-tuning-level": "0"}, {}),
    ],
)
def test_an_option_says_what_armnn_does(given: dict[str, object], expected: Any) -> None:
    assert load_delegate(ARM_NN, given) == Delegate(ARM_NN, **expected)


@pytest.mark.parametrize(
    "name",
    [name for name in OPTIONS if name.startswith(("gpu-", "save-", "cached-"))]
    + [name for name in OPTIONS if name.endswith(("capture-file", "external-profiling"))]
    + ["timeline-profiling", "counter-capture-period", "profiling-file-format"],
)
def test_what_armnn_does_not_have_is_refused_unless_it_is_off(name: str) -> None:
    with pytest.raises(ValueError, match=f"(?s)Failed to load.*{name} is 'file', which is not sup"):
        load_delegate(ARM_NN, {name: "file"})
    assert load_delegate(ARM_NN, {name: "false"}) == Delegate(ARM_NN)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"backend": "CpuRef"}, "Unknown option for the ArmNN Delegate given: 'backend'; did you"),
        ({"xyzzy": "1"}, "'xyzzy'; the options are backends, number-of-threads, "),
        ({"debug-data": "maybe"}, "debug-data is 'maybe': expected 'true' or 'false'"),
        ({"logging-severity": "loud"}, "'loud': expected one of trace, debug, info, warning, err"),
        ({"internal-profiling-detail": "3"}, "internal-profiling-detail is '3': expected one of 1"),
    ],
)
def test_other_options_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_delegate(ARM_NN, given)


def test_of_several_delegates_the_later_one_counts() -> None:
    first = Delegate("a", ("One",), 2, {"debug": True}, log_level="INFO")
    second = Delegate("b", ("Two",), optimizer={"import_enabled": True}, dot_file="x")
    made = combined([first, second])
    assert made == Delegate(
        "b",
        ("One", "Two"),
        2,
        {"debug": True, "import_enabled": True},
        dot_file="x",
        log_level="INFO",
    )
