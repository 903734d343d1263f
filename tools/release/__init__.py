# SPDX-License-Identifier: MIT
"""Releases: contents, records and a folder to install from."""
