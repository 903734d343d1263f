# SPDX-License-Identifier: MIT
"""Stand-ins for other run times, so that programs written for those run on this one unchanged.

Nothing in armnn imports them; each is imported by the programs that want it.
"""
