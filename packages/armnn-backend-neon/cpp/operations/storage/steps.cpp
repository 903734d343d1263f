/* SPDX-License-Identifier: MIT */
#include "operations/storage/steps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace cpuacc {
namespace {

constexpr float kLeastStep = -128.0f;
constexpr float kMostStep = 127.0f;
/* A sum with it is a whole number: the nearest one, or the even one of two. */
constexpr float kRounds = 12582912.0f;

/* The nearest whole number, for those that fit into 8 bits; a larger one for larger ones. */
float nearest(float number) { return (number + kRounds) - kRounds; }

bool is_whole(float number, float step) {
  const float steps = nearest(number / step);
  return steps >= kLeastStep && steps <= kMostStep && steps * step == number;
}

bool are_whole(const float *numbers, int64_t count, int64_t stride, float step) {
  for (int64_t i = 0; i < count; ++i) {
    if (!is_whole(numbers[i * stride], step)) return false;
  }
  return true;
}

/* Smaller than one so far, or the first one that is not 0. */
float smaller(float number, float smallest) {
  const float size = std::fabs(number);
  return size != 0.0f && !(smallest != 0.0f && size >= smallest) ? size : smallest;
}

bool is_step(float step) { return step >= std::numeric_limits<float>::min(); }

}  // namespace

float step_of(const float *numbers, int64_t count, int64_t stride) {
  float smallest = 0.0f;
  for (int64_t i = 0; i < count; ++i) smallest = smaller(numbers[i * stride], smallest);
  if (smallest == 0.0f) return 1.0f;
  for (float steps = 1.0f; steps <= -kLeastStep; steps += 1.0f) {
    const float near = smallest / steps;
    for (const float step : {near, std::nextafter(near, 0.0f), std::nextafter(near, smallest)}) {
      if (is_step(step) && are_whole(numbers, count, stride, step)) return step;
    }
  }
  return 0.0f;
}

/* Nearly each column has a number of one step, the smallest one. All columns are tried with theirs row by row, which
 * takes a few instructions per number; the few others are searched one by one.
 */
bool find_steps(const float *rows, int64_t count, int64_t columns, float *steps) {
  std::fill_n(steps, columns, 0.0f);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < columns; ++j) steps[j] = smaller(rows[i * columns + j], steps[j]);
  }
  std::vector<int32_t> are_steps(static_cast<size_t>(columns));
  for (int64_t j = 0; j < columns; ++j) {
    if (steps[j] == 0.0f) steps[j] = 1.0f;
    are_steps[static_cast<size_t>(j)] = is_step(steps[j]);
  }
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      are_steps[static_cast<size_t>(j)] &= is_whole(rows[i * columns + j], steps[j]);
    }
  }
  for (int64_t j = 0; j < columns; ++j) {
    if (are_steps[static_cast<size_t>(j)] == 0) steps[j] = step_of(rows + j, count, columns);
    if (steps[j] == 0.0f) return false;
  }
  return true;
}

int8_t in_steps(float number, float step) { return static_cast<int8_t>(nearest(number / step)); }

}  // namespace cpuacc
