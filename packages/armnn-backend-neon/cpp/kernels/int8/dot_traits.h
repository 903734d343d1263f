/* SPDX-License-Identifier: MIT */
/* The consequences of the level's dot products: columns of a tile, and how bytes are read. */
#pragma once

#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Panels of weights are as wide. */
constexpr int kInt8Columns = kInt8Vectors * static_cast<int>(kLanes);

/* The number that reading adds to a byte. */
[[maybe_unused]] constexpr int32_t offset_as_read(bool is_signed) {
  if (kReads == Reads::shorts) return 0;
  if (kReads == Reads::unsigned_bytes) return is_signed ? 128 : 0;
  return is_signed ? 0 : -128;
}

/* The mask that flips the highest bit of each byte that this level does not read as it is stored. */
[[maybe_unused]] inline int32_t turned_bits(bool is_signed) {
  return offset_as_read(is_signed) == 0 ? 0 : static_cast<int32_t>(0x80808080u);
}

/* Four bytes, or two shorts. */
[[maybe_unused]] inline int32_t read_four(const void *p) {
  int32_t bytes;
  std::memcpy(&bytes, p, sizeof bytes);
  return bytes;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
