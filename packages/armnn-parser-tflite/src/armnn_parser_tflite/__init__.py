# SPDX-License-Identifier: MIT
"""TensorFlow Lite files as networks; armnn finds it by its entry point."""
