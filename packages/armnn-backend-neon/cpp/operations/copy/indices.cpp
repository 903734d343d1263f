/* SPDX-License-Identifier: MIT */
#include "operations/copy/indices.h"

#include <stdexcept>
#include <string>

namespace cpuacc {

int64_t Indices::place(int64_t i, int64_t size) const {
  const int64_t given = (*this)[i];
  if (given < -size || given >= size) {
    throw std::out_of_range("the index " + std::to_string(given) + " is outside of an axis of " +
                            std::to_string(size) + " elements");
  }
  return given < 0 ? given + size : given;
}

}  // namespace cpuacc
