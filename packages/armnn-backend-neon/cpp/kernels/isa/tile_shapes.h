/* SPDX-License-Identifier: MIT */
/* The operand of LDTILECFG. */
#pragma once

#include <cstdint>

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct alignas(64) TileShapes {
  uint8_t palette;
  uint8_t first_row;
  uint8_t reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
