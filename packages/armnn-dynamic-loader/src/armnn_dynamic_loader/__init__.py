# SPDX-License-Identifier: MIT
"""The backend source for shared libraries.

Its entry point makes it known.
"""
