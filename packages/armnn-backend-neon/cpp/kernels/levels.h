/* SPDX-License-Identifier: MIT */
/* The levels of instruction sets by name, for people. */
#pragma once

namespace cpuacc {

/* The name of one of the levels that this machine has, the best first; nullptr behind the last. */
const char *level_here(int index);
/* Likewise of one that this build has. */
const char *level_built(int index);

}  // namespace cpuacc
