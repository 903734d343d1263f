# SPDX-License-Identifier: MIT
"""The converters; each module is imported with its first operator.

A module has the name of a family of the layer table, with a part behind it where there are several.
"""
