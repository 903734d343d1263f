/* SPDX-License-Identifier: MIT */
/* Integers that only a run knows. */
#pragma once

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
  /* The same, counted from the end if negative. Throws std::out_of_range. */
  int64_t place(int64_t i, int64_t size) const;

 private:
  const std::byte *memory_;
  bool is_wide_;
};

}  // namespace cpuacc
