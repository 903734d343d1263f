/* SPDX-License-Identifier: MIT */
#include "graph/ir.h"

namespace cpuacc {

size_t element_bytes(armnn_data_type type) {
  switch (type) {
    case ARMNN_QASYMM_U8:
    case ARMNN_BOOLEAN:
    case ARMNN_QSYMM_S8:
    case ARMNN_QASYMM_S8:
    case ARMNN_SIGNED8:
    case ARMNN_UNSIGNED8: return 1;
    case ARMNN_FLOAT16:
    case ARMNN_BFLOAT16:
    case ARMNN_QSYMM_S16:
    case ARMNN_SIGNED16:
    case ARMNN_UNSIGNED16: return 2;
    case ARMNN_FLOAT32:
    case ARMNN_SIGNED32:
    case ARMNN_UNSIGNED32: return 4;
    case ARMNN_SIGNED64:
    case ARMNN_UNSIGNED64:
    case ARMNN_FLOAT64: return 8;
    default: return 0;
  }
}

}  // namespace cpuacc
