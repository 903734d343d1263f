/* SPDX-License-Identifier: MIT */
/* How many rows and columns of sums fit the registers: panels of weights are as wide, whoever reads them. */
#ifndef CPUACC_KERNELS_TILE_SHAPE_H_
#define CPUACC_KERNELS_TILE_SHAPE_H_

#include <utility>

#include "kernels/vector.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

#if CPUACC_VECTOR_BYTES == 64
constexpr int kRows = 14;
constexpr int kVectors = 2;
#elif CPUACC_VECTOR_BYTES == 32
constexpr int kRows = 6;
constexpr int kVectors = 2;
#elif defined(__aarch64__)
constexpr int kRows = 8;
constexpr int kVectors = 3;
#else
constexpr int kRows = 4;
constexpr int kVectors = 2;
#endif
constexpr int kColumns = kVectors * static_cast<int>(kLanes);

}  // namespace
}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
