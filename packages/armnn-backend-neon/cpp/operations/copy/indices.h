/* SPDX-License-Identifier: MIT */
/* Indices into an axis, which a run checks. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "graph/ir.h"

namespace cpuacc {

/* Integers that only a run knows. */
class Indices {
 public:
  Indices(const Frame &frame, TensorId id, bool is_wide)
      : memory_(frame.in<std::byte>(id)), is_wide_(is_wide) {}

  int64_t operator[](int64_t i) const {
    return is_wide_ ? reinterpret_cast<const int64_t *>(memory_)[i]
                    : reinterpret_cast<const int32_t *>(memory_)[i];
  }
  /* The index, counted from the end if it is negative. Throws std::out_of_range. */
  int64_t place(int64_t i, int64_t size) const {
    const int64_t given = (*this)[i];
    if (given < -size || given >= size) {
      throw std::out_of_range("the index " + std::to_string(given) + " is outside of an axis of " +
                              std::to_string(size) + " elements");
    }
    return given < 0 ? given + size : given;
  }

 private:
  const std::byte *memory_;
  bool is_wide_;
};

}  // namespace cpuacc
