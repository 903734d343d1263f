# SPDX-License-Identifier: MIT
"""OpenVino, a backend for whole subgraphs; armnn finds it by its entry point."""
