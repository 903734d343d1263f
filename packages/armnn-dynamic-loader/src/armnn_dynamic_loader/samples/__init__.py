# SPDX-License-Identifier: MIT
"""Samples to copy: a backend and a host in C.

Each is one file; nothing here is imported.
"""
