# SPDX-License-Identifier: MIT
"""A backend and a host, each in one C file, to read and to copy; nothing here is imported."""
