# SPDX-License-Identifier: MIT
"""Storage: compiled programs and prepared models that outlive the process."""
