/* SPDX-License-Identifier: MIT */
/* Elements of data types, and constants that are decoded when they are read first. */
#include "graph/ir.h"

#include <utility>

#include "graph/packed.h"

namespace cpuacc {

DecodedConstant::DecodedConstant(const void *source, std::shared_ptr<const void> memory, std::string recipe,
                                 size_t bytes, Decode decode)
    : source_(source),
      memory_(std::move(memory)),
      recipe_(std::move(recipe)),
      floats_(mapped_memory(bytes)),
      decode_(std::move(decode)) {}

void DecodedConstant::decode() {
  if (decode_ == nullptr) return;
  decode_(static_cast<float *>(floats_.get()));
  decode_ = nullptr;
}

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
