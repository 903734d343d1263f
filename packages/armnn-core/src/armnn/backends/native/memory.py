# SPDX-License-Identifier: MIT
"""A former place, until core 2.0: the probe of armnn-dynamic-loader 1.0 reads this file alone."""

from __future__ import annotations

from armnn_backend_api.structs import Arena as Arena
from armnn_backend_api.structs import struct as struct
