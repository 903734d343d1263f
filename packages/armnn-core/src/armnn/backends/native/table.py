# SPDX-License-Identifier: MIT
"""A former place, until core 2.0: the probe of armnn-dynamic-loader 1.0 reads this file alone."""

from __future__ import annotations

from armnn_backend_api.table import TableError as TableError
from armnn_backend_api.table import read_table as read_table
from armnn_backend_api.table import read_text as read_text
from armnn_backend_api.table import read_zero_terminated as read_zero_terminated
