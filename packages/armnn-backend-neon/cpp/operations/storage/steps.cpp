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

/* Without branches, so that a loop of it is one of vectors. */
bool is_whole(float number, float step) {
  const float steps = nearest(number / step);
  return (steps >= kLeastStep) & (steps <= kMostStep) & (steps * step == number);
}

/* A step that is none is found out by the first few numbers; beyond them whole blocks are looked at. */
bool are_whole(const float *numbers, int64_t count, int64_t stride, float step) {
  constexpr int64_t kFew = 4;
  constexpr int64_t kBlock = 64;
  int64_t i = 0;
  for (; i < std::min(kFew, count); ++i) {
    if (!is_whole(numbers[i * stride], step)) return false;
  }
  for (; stride == 1 && i + kBlock <= count; i += kBlock) {
    int32_t whole = 1;
    for (int64_t j = 0; j < kBlock; ++j) whole &= static_cast<int32_t>(is_whole(numbers[i + j], step));
    if (whole == 0) return false;
  }
  for (; i < count; ++i) {
    if (!is_whole(numbers[i * stride], step)) return false;
  }
  return true;
}

/* Smaller than one so far, or the first one that is not 0. */
float smaller(float number, float smallest) {
  const float size = std::fabs(number);
  return size != 0.0f && !(smallest != 0.0f && size >= smallest) ? size : smallest;
}

/* The smallest finite size but 0; 0 if there is none. Of numbers side by side vectors are looked at. */
float smallest_of(const float *numbers, int64_t count, int64_t stride) {
  constexpr int64_t kLanes = 16;
  constexpr float kNone = std::numeric_limits<float>::infinity();
  float least[kLanes];
  std::fill_n(least, kLanes, kNone);
  int64_t i = 0;
  for (; stride == 1 && i + kLanes <= count; i += kLanes) {
    for (int64_t j = 0; j < kLanes; ++j) {
      const float size = std::fabs(numbers[i + j]);
      const float some = size == 0.0f ? kNone : size;
      least[j] = some < least[j] ? some : least[j];
    }
  }
  float smallest = 0.0f;
  for (; i < count; ++i) smallest = smaller(numbers[i * stride], smallest);
  for (const float each : least) smallest = each == kNone ? smallest : smaller(each, smallest);
  return smallest;
}

bool is_step(float step) { return step >= std::numeric_limits<float>::min(); }

}  // namespace

float step_of(const float *numbers, int64_t count, int64_t stride) {
  const float smallest = smallest_of(numbers, count, stride);
  if (smallest == 0.0f) return are_whole(numbers, count, stride, 1.0f) ? 1.0f : 0.0f; /* as of zeros alone */
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
