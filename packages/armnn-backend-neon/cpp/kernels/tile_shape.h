/* SPDX-License-Identifier: MIT */
/* How many rows and columns of sums fit the registers: panels of weights are as wide for all readers. */
#pragma once

#include <utility>

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

constexpr int kColumns = kVectors * static_cast<int>(kLanes);

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
