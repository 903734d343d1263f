# SPDX-License-Identifier: MIT
"""The C interface from Python: calls, errors, values, constants, libraries."""
