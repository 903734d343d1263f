# SPDX-License-Identifier: MIT
"""What ``hatch_build.py`` builds the native library with."""
