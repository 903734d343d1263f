/* SPDX-License-Identifier: MIT */
/* Work, counted in units that take a known time on each machine. */
#pragma once

#include <array>
#include <cstddef>

namespace cpuacc {
namespace costs {

/* Each unit with its name in files: X(name). A machine's time for one is in nanoseconds.
 *
 * Of a product of matrices in float32: multiply_add, and half_multiply_add in a register of half the
 * width; wait, an addition that waits for the one before it, as a tile has few sums; tile, a call of the
 * kernel; panel, a panel of weights that a task begins; row, a row of the image that a tap points at;
 * cold_step, a row of a panel that was not read just before, and cold_narrow_step, such a row of which
 * only a part is read; late_step, a line of such a row whose tile has too little to do meanwhile; image_line, a line of the caches of the image; crowded_line, one of rows whose
 * distance puts all of them into one set; copied, a number that is copied before; operation, each.
 * bfloat16_multiply_add and rounded, a number that is rounded before, are of products in bfloat16.
 *
 * direct_ are of direct convolutions: multiply_add; step, one number of each output; wait; stored, a
 * register of results; call, of the kernel; row, a row of a window; copied, a number at the border.
 * filtered_ are of Winograd's: a number into its domain and out of it, in two dimensions and in one.
 * tile_register_product is one of two tile registers, tile_register_stored one of sums that is finished and stored;
 * both are 0 where they are not measured.
 * element is a number that is copied; memory_byte, one that is read from behind all caches; fork, a loop that two threads share.
 */
#define CPUACC_UNITS(X) \
  X(multiply_add) \
  X(half_multiply_add) \
  X(wait) \
  X(tile) \
  X(panel) \
  X(row) \
  X(cold_step) \
  X(cold_narrow_step) \
  X(late_step) \
  X(image_line) \
  X(crowded_line) \
  X(copied) \
  X(operation) \
  X(direct_multiply_add) \
  X(direct_step) \
  X(direct_wait) \
  X(direct_stored) \
  X(direct_call) \
  X(direct_row) \
  X(direct_copied) \
  X(filtered_2d_in) \
  X(filtered_2d_out) \
  X(filtered_1d_in) \
  X(filtered_1d_out) \
  X(depthwise_multiply_add) \
  X(bfloat16_multiply_add) \
  X(rounded) \
  X(tile_register_product) \
  X(tile_register_stored) \
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
