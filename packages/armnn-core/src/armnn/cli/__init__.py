# SPDX-License-Identifier: MIT
"""The command ``armnn``, one module per subcommand.

A subcommand's module has a function ``add_parser(subparsers)``. That function adds the subcommand's
parser with its help and its examples, and sets the default ``handler``: a function that takes the
parsed arguments and returns the exit code.
"""
