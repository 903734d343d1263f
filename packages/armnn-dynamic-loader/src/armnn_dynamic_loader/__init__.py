# SPDX-License-Identifier: MIT
"""The door for backends that are shared libraries; armnn finds it by its entry point."""
