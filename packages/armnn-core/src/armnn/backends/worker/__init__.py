# SPDX-License-Identifier: MIT
"""Backends in worker processes, here and on boards.

A ``protocol`` of messages runs over a ``connection``. In the host a ``proxy`` stands for the
backend, ``remote`` for the worker's objects, and a ``supervisor`` starts the worker again; in the
worker, ``worker`` answers. Both share ``memory``, and ``channels`` in it for steps that run often.
"""
