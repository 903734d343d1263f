/* SPDX-License-Identifier: MIT */
/* How many rows and columns of sums fit the registers: panels of weights are as wide for all readers. */
#ifndef CPUACC_KERNELS_TILE_SHAPE_H_
#define CPUACC_KERNELS_TILE_SHAPE_H_

#include <utility>

#include "kernels/vector.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

constexpr int kColumns = kVectors * static_cast<int>(kLanes);

}  // namespace
}  // namespace CPUACC_LEVEL
}  // namespace cpuacc

#endif
