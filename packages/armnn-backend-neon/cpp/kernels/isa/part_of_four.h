/* SPDX-License-Identifier: MIT */
/* Some of the four lanes of a vector, one by one: for instruction sets without masks. */
#pragma once

#include "kernels/vector_types.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* The first n lanes, 0 <= n <= kLanes; the others are 0. */
[[maybe_unused]] inline Floats load_part(const float *p, int64_t n) {
  if (n >= kLanes) return load(p);
  Floats x{};
  if (n > 0) x[0] = p[0];
  if (n > 1) x[1] = p[1];
  if (n > 2) x[2] = p[2];
  return x;
}

[[maybe_unused]] inline void store_part(float *p, Floats x, int64_t n) {
  if (n >= kLanes) return store(p, x);
  if (n > 0) p[0] = x[0];
  if (n > 1) p[1] = x[1];
  if (n > 2) p[2] = x[2];
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
