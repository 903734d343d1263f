/* SPDX-License-Identifier: MIT */
/* The memory of a vector of bfloat16 numbers, which are float32 in registers. */
#pragma once

#include CPUACC_BFLOAT16_HEADER /* isa/dot_<instruction set>.h, by levels.toml */

namespace cpuacc::CPUACC_LEVEL {
namespace {

template <typename Lanes>
CPUACC_INLINE Floats get(const Lanes &lanes, const Bfloat16 *p) { return load_bfloat16(p, lanes.count()); }

template <typename Lanes>
CPUACC_INLINE void put(const Lanes &lanes, Bfloat16 *p, Floats x) { store_bfloat16(p, x, lanes.count()); }

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
