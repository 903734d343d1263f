/* SPDX-License-Identifier: MIT */
/* What follows from the level's dot products: columns of a tile, and how bytes are read. */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Panels of weights are as wide. */
constexpr int kInt8Columns = kInt8Vectors * static_cast<int>(kLanes);

/* What turns the highest bit of each byte that this level does not read as it is stored. */
[[maybe_unused]] inline int32_t turned_bits(bool is_signed) {
  return is_signed == kReadsUnsigned ? static_cast<int32_t>(0x80808080u) : 0;
}

[[maybe_unused]] inline int32_t read_four(const uint8_t *p) {
  int32_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return bytes;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
