# SPDX-License-Identifier: MIT
"""Stand-ins for other run times, for unchanged programs.

Nothing in armnn imports them; each is imported by the programs that want it.
"""
