# SPDX-License-Identifier: MIT
"""Text generation, compared with other runtimes."""
