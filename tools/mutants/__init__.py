# SPDX-License-Identifier: MIT
"""Recorded faults of backends, which the conformance kit has to notice."""
