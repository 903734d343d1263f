# SPDX-License-Identifier: MIT
"""OpenVino, the backend for subgraphs, named by its entry point."""
