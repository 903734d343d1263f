/* SPDX-License-Identifier: MIT */
/* Work, counted in units that take a known time on each machine. */
#pragma once

#include <array>
#include <cstddef>

namespace cpuacc {
namespace costs {

/* Each unit with its name in files: X(name). A machine's time for one is in nanoseconds.
 *
 * Of a product of matrices in float32: multiply_add, of a lane of a whole register, and half_multiply_add, of one
 * of half the width, which may take as long as a whole one or half of that; broadcast, a number of a row that all
 * lanes multiply; wait, an addition that waits for the one before it, as a tile has few sums; tile, a call of the
 * kernel; stored, a register of results; row, a row of the image that a tap points at, for each panel; cold_step, a row of a
 * panel that was not read just before, and cold_narrow_step, such a row of which only a part is read; awaited_step,
 * the share of such a row's reading that the rows of the image do not hide; repeated_step, a row that the next block of rows
 * reads again, after others that the second cache does not hold together with it; image_line, a line of the
 * caches of the image; reread_line, one of a transformed image that is read again for another panel from behind the
 * first cache; crowded_line, one of rows whose distance puts all of them into one set; copied, a number that is
 * copied before; operation, each; cut, one that takes off what blocks of outputs have too many.
 * bfloat16_multiply_add and rounded, a number that is rounded before, are of products in bfloat16.
 *
 * direct_ are of direct convolutions: multiply_add and half_multiply_add; step, one number of each output; wait;
 * stored; call, of the kernel; line, of outputs; copied, a number at the border.
 * filtered_ are of Winograd's: a number into its domain and out of it, in two dimensions and in one, where a
 * tile has a cost of its own.
 * tile_register_product is one of two tile registers, tile_register_stored one of sums that is finished and stored;
 * both are 0 where they are not measured.
 * byte_ are of products of bytes: multiply_add, by instructions that add four of them; widened_multiply_add, of bytes that
 * become numbers of 16 bits; line_multiply_add and neighbour_multiply_add, of the two ways of a depthwise convolution;
 * weight, one that is read; stored, a result.
 * element is a number that is copied; memory_byte, one that is read from behind all caches; fork, a loop that two threads share.
 */
#define CPUACC_UNITS(X) \
  X(multiply_add) \
  X(half_multiply_add) \
  X(broadcast) \
  X(wait) \
  X(tile) \
  X(stored) \
  X(row) \
  X(cold_step) \
  X(cold_narrow_step) \
  X(awaited_step) \
  X(repeated_step) \
  X(image_line) \
  X(reread_line) \
  X(crowded_line) \
  X(copied) \
  X(operation) \
  X(cut) \
  X(direct_multiply_add) \
  X(direct_half_multiply_add) \
  X(direct_step) \
  X(direct_wait) \
  X(direct_stored) \
  X(direct_call) \
  X(direct_line) \
  X(direct_copied) \
  X(filtered_2d_in) \
  X(filtered_2d_out) \
  X(filtered_1d_tile) \
  X(filtered_1d_in) \
  X(filtered_1d_out) \
  X(depthwise_multiply_add) \
  X(bfloat16_multiply_add) \
  X(rounded) \
  X(tile_register_product) \
  X(tile_register_stored) \
  X(byte_multiply_add) \
  X(byte_widened_multiply_add) \
  X(byte_line_multiply_add) \
  X(byte_neighbour_multiply_add) \
  X(byte_weight) \
  X(byte_stored) \
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
