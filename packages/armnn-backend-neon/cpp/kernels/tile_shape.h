/* SPDX-License-Identifier: MIT */
/* The shape of a tile: the rows and columns of sums that fit the registers. Panels are as wide for all readers. */
#pragma once

#include <utility>

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kColumns = kVectors * static_cast<int>(kLanes);

/* Floats of a row of a panel whose columns take so many vectors: the last panel of a matrix may have a single one. */
template <int V>
constexpr int64_t kPanelRow = V == 1 ? kLanes : kColumns;

/* Vectors of half the width: the last columns of a matrix that would leave most lanes of a whole one empty. */
constexpr bool kHasNarrowVectors = CPUACC_VECTOR_BYTES > 16;
constexpr int64_t kNarrowLanes = kLanes / 2;

typedef float UnalignedNarrowFloats
    __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2), aligned(4), may_alias));

[[maybe_unused]] inline NarrowFloats load_narrow(const float *p) {
  return *reinterpret_cast<const UnalignedNarrowFloats *>(p);
}


}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
