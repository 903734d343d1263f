/* SPDX-License-Identifier: MIT */
/* Numbers that are whole steps in 8 bits, as weights are that were quantised and are floats again. */
#pragma once

#include <cstdint>

namespace cpuacc {

/* A step of which each number is a whole one in 8 bits, to the last bit; 0 if there is none.
 *
 * Args: stride: from one number to the next one.
 */
float step_of(const float *numbers, int64_t count, int64_t stride);

/* Those of the columns of rows, side by side: false if one has none. */
bool find_steps(const float *rows, int64_t count, int64_t columns, float *steps);

/* How many steps of its column each number of a row is. */
void put_in_steps(const float *row, const float *steps, int64_t columns, int8_t *made);

}  // namespace cpuacc
