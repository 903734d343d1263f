# SPDX-License-Identifier: MIT
"""The conformance kit for backends: ``pytest --pyargs armnn_conformance --armnn-backend ID``."""
