/* SPDX-License-Identifier: MIT */
#include "operations/copy/indices.h"

#include <stdexcept>
#include <string>

namespace cpuacc {

Along along(const Shape &shape, size_t place) {
  return {elements(shape, 0, place), shape[place], elements(shape, place + 1, shape.size())};
}

void Indices::require_type(const Value &value, int32_t input) {
  require(value.type == ARMNN_SIGNED32 || value.type == ARMNN_SIGNED64,
          "the indices must be Signed32 or Signed64", input);
}

int64_t Indices::place(int64_t i, int64_t size) const {
  const int64_t given = (*this)[i];
  if (given < -size || given >= size) {
    throw std::out_of_range("the index " + std::to_string(given) + " is outside of an axis of " +
                            std::to_string(size) + " elements");
  }
  return given < 0 ? given + size : given;
}

}  // namespace cpuacc
