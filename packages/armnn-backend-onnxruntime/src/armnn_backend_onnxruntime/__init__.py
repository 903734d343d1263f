# SPDX-License-Identifier: MIT
"""OnnxRuntime, the backend for subgraphs, named by its entry point."""
