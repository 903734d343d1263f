# SPDX-License-Identifier: MIT
# ruff: noqa: F401 - programs import these names from here
"""A drop-in for the part of ``onnxruntime`` that runs models.

Use it under its own name, or put it in the place of the other one before that is imported::

    import armnn_compat.onnxruntime

    armnn_compat.onnxruntime.install()
    import rapidocr_onnxruntime  # its sessions run on armnn from here on

``docs/coming-from-onnxruntime.md`` says what is there, what has no effect and what is refused.
"""

from __future__ import annotations

import sys
from types import ModuleType

from armnn_compat.onnxruntime import capi
from armnn_compat.onnxruntime.capi import (
    onnxruntime_inference_collection,
    onnxruntime_pybind11_state,
)
from armnn_compat.onnxruntime.names import *  # noqa: F403  # the list of names is there
from armnn_compat.onnxruntime.options import VERSION, preload_dlls, print_debug_info
from armnn_compat.onnxruntime.session import InferenceSession, IOBinding
from armnn_compat.onnxruntime.values import OrtDeviceVendorId
from armnn_compat.standing_in import AlreadyImportedError, StandIn, withdraw

__version__ = version = VERSION
package_name, cuda_version = "onnxruntime", ""


def install() -> StandIn:
    """Make ``import onnxruntime`` find this module, until :func:`uninstall`.

    Returns:
        A context manager that takes the names away again when its block ends.

    Raises:
        AlreadyImportedError: onnxruntime itself was imported before.
    """
    return StandIn(_modules())


def uninstall() -> None:
    """Make ``import onnxruntime`` find onnxruntime again; imported modules stay."""
    withdraw(_modules())


def _modules() -> dict[str, ModuleType]:
    return {
        "onnxruntime": sys.modules[__name__],
        "onnxruntime.capi": capi,
        "onnxruntime.capi._pybind_state": onnxruntime_pybind11_state,
        "onnxruntime.capi.onnxruntime_pybind11_state": onnxruntime_pybind11_state,
        "onnxruntime.capi.onnxruntime_inference_collection": onnxruntime_inference_collection,
    }
