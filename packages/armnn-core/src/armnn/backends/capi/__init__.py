# SPDX-License-Identifier: MIT
"""The C interface both ways: C tables as backends in Python, and Python classes behind C files."""
