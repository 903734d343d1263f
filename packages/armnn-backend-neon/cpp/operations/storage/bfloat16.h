/* SPDX-License-Identifier: MIT */
/* Rounding to bfloat16 storage. */
#pragma once

#include <cstdint>

#include "graph/ir.h"

namespace cpuacc {

/* Two rounded numbers as they are stored: the first has the lower 16 bits. */
uint32_t pair_of(float first, float second);

/* Rows of numbers side by side, and of the same numbers rounded, maybe with a filler between. */
struct RoundedRows {
  RoundedRows() = default;
  RoundedRows(int64_t count, int64_t length);

  int64_t count = 0;
  int64_t length = 0;
  int64_t stride = 0; /* of the rounded ones */

  size_t bytes() const;
  void round(const Frame &frame, const float *from, Bfloat16 *to) const;
};

}  // namespace cpuacc
