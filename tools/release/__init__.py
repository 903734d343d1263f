# SPDX-License-Identifier: MIT
"""What is released: its contents, its record and a folder to install from."""
