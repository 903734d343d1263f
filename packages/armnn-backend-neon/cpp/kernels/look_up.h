/* SPDX-License-Identifier: MIT */
/* Bytes by a table of all their values, one by one. */
#pragma once

#include <cstdint>

namespace cpuacc::CPUACC_LEVEL {
namespace {

using LookUp = void (*)(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n);

[[maybe_unused]] inline void look_up_each(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = table[x[i]];
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
