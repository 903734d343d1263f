/* SPDX-License-Identifier: MIT */
/* The tables of the extensions. */
#pragma once

#include "armnn/backend.h"

namespace cpuacc {

/* armnn.async/1 */
const armnn_async *async_extension();
/* armnn.memory/1 */
const armnn_memory *memory_extension();
/* armnn.mapped/1 */
const armnn_mapped *mapped_extension();
/* armnn.replan/1 */
const armnn_replan *replan_extension();

}  // namespace cpuacc
