/* SPDX-License-Identifier: MIT */
#include "graph/decoded_constant.h"

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

}  // namespace cpuacc
