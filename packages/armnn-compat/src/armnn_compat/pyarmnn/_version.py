# SPDX-License-Identifier: MIT
"""The release of PyArmNN whose names and messages these are."""

from __future__ import annotations

__arm_ml_version__ = "33.0.0"
"""Arm NN 23.08, the last release but one that has PyArmNN."""

__version__ = __arm_ml_version__

ARMNN_VERSION = __arm_ml_version__


def GetVersion() -> str:
    """Return the version of Arm NN."""
    return ARMNN_VERSION


def GetMajorVersion() -> int:
    """Return the first number of the version."""
    return int(ARMNN_VERSION.split(".")[0])


def GetMinorVersion() -> int:
    """Return the second number of the version."""
    return int(ARMNN_VERSION.split(".")[1])


def check_armnn_version(
    installed_armnn_version: str, expected_armnn_version: str = __arm_ml_version__
) -> None:
    """Check that two versions agree in major and minor number.

    Raises:
        AssertionError: They do not.
    """
    if installed_armnn_version.split(".")[:2] != expected_armnn_version.split(".")[:2]:
        raise AssertionError(
            f"Expected ArmNN version is {expected_armnn_version} but installed ArmNN version is "
            f"{installed_armnn_version}"
        )
