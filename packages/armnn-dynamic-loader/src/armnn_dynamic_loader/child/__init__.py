# SPDX-License-Identifier: MIT
"""The child process that probes a file.

It imports armnn-backend-api, not the core.
"""
