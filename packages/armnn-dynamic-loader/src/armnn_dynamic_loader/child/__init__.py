# SPDX-License-Identifier: MIT
"""What runs in the process that tries a file out. It imports armnn-backend-api, not the core."""
