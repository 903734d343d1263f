# SPDX-License-Identifier: MIT
"""The C interface both ways: C tables as backends in Python, and Python classes behind C files.

``calls`` and ``values`` serve both. A C table becomes a backend by ``library``, ``backend`` and
``contexts``; ``graph`` fills the table of layers, ``compiling`` compiles it to ``programs``, which
a ``workload`` runs. ``python`` puts a backend class behind a C file.
"""
