# SPDX-License-Identifier: MIT
"""The command ``armnn``: a module per subcommand, and modules that several of them share.

The module of a subcommand has its name and a function ``add_parser(subparsers, summary)``, which
adds the parser of the subcommand with its help and its examples. The default ``handler`` of that
parser is a function that takes the parsed arguments and returns the exit code.
"""
