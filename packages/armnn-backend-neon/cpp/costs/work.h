/* SPDX-License-Identifier: MIT */
/* Work, counted in units that take a known time on each machine. */
#pragma once

#include <array>
#include <cstddef>

namespace cpuacc {
namespace costs {

/* Each unit with its name in files: X(name). A machine's time for one is in nanoseconds.
 *
 * These are measured on each CPU and choose between kernels:
 * multiply_add, of one lane of a register, in float32; other steps of the kernels count as some of these (costs.h).
 * tile, a call of a kernel for one tile of outputs.
 * pointer, a row of the image that a window element points at, for each panel of weights.
 * weight_row, a row of a panel that comes from behind the second cache.
 * transformed, a number that Winograd's filtering transforms.
 * operation, each.
 * bfloat16_multiply_add, of two numbers in bfloat16, in vectors.
 * tile_register_product, of two tile registers; 0 where it was not measured.
 *
 * These are measured on their own and split loops among threads:
 * element, a number that is copied; memory_byte, one that is read from behind all caches; fork, a loop that two threads
 * share.
 */
#define CPUACC_UNITS(X) \
  X(multiply_add) \
  X(tile) \
  X(pointer) \
  X(weight_row) \
  X(transformed) \
  X(operation) \
  X(bfloat16_multiply_add) \
  X(tile_register_product) \
  X(element) \
  X(memory_byte) \
  X(fork)

enum Unit : size_t {
#define CPUACC_UNIT(name) name,
  CPUACC_UNITS(CPUACC_UNIT)
#undef CPUACC_UNIT
      kUnits
};

constexpr const char *kUnitNames[] = {
#define CPUACC_UNIT(name) #name,
    CPUACC_UNITS(CPUACC_UNIT)
#undef CPUACC_UNIT
};

/* A number for each unit. */
using PerUnit = std::array<double, kUnits>;

/* How many of each unit. */
struct Work {
  PerUnit counts{};

  Work &add(Unit unit, double count) {
    counts[unit] += count;
    return *this;
  }

  Work &add(const Work &other) {
    for (size_t i = 0; i < kUnits; ++i) counts[i] += other.counts[i];
    return *this;
  }
};

}  // namespace costs
}  // namespace cpuacc
