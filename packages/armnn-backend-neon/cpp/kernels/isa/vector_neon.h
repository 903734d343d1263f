/* SPDX-License-Identifier: MIT */
/* NEON of Armv8: four floats in a register, thirty-two registers. */
#pragma once

#include <arm_neon.h>

#include "kernels/isa/part_of_four.h"
#include "kernels/vector_types.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Registers of a tile of float sums: rows, and vectors in each row. */
constexpr int kRows = 8;
constexpr int kVectors = 3;
/* Outputs of a depthwise convolution above each other that share their loads. */
constexpr int kTall = 2;

[[maybe_unused]] inline Floats square_root(Floats x) {
  return reinterpret_cast<Floats>(vsqrtq_f32(reinterpret_cast<float32x4_t>(x)));
}

/* NaN in y wins, NaN in x loses, which is not so in the instructions. */
[[maybe_unused]] inline Floats maximum(Floats x, Floats y) { return x > y ? x : y; }
[[maybe_unused]] inline Floats minimum(Floats x, Floats y) { return x < y ? x : y; }

/* To the nearest, ties to even. */
[[maybe_unused]] inline Floats round_even(Floats x) {
  return reinterpret_cast<Floats>(vrndnq_f32(reinterpret_cast<float32x4_t>(x)));
}

/* Whether instructions of its own convert Float16. */
constexpr bool kConvertsFloat16 = true;

struct Float16 {
  static Floats to_float32(HalfBits x) {
    return reinterpret_cast<Floats>(vcvt_f32_f16(reinterpret_cast<float16x4_t>(x)));
  }
  static HalfBits from_float32(Floats x) {
    return reinterpret_cast<HalfBits>(vcvt_f16_f32(reinterpret_cast<float32x4_t>(x)));
  }
};

#define CPUACC_IN_REGISTER "+w" /* for asm */

template <typename T>
inline Ints widened(const uint8_t *p, int64_t n) {
  const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(first_bytes<uint32_t>(p, n)));
  if constexpr (T(-1) < T(0)) {
    return reinterpret_cast<Ints>(vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(bytes)))));
  } else {
    return reinterpret_cast<Ints>(vmovl_u16(vget_low_u16(vmovl_u8(bytes))));
  }
}

[[maybe_unused]] inline Bytes narrowed(Ints x) {
  const int16x4_t halves = vmovn_s32(reinterpret_cast<int32x4_t>(x));
  const int8x8_t bytes = vmovn_s16(vcombine_s16(halves, halves));
  const int32_t four = vget_lane_s32(vreinterpret_s32_s8(bytes), 0);
  Bytes result;
  std::memcpy(&result, &four, sizeof result);
  return result;
}

[[maybe_unused]] void look_up_by_quarters(const uint8_t *table, const uint8_t *x, uint8_t *y, int64_t n) {
  constexpr int64_t kBytes = 16;
  const uint8x16_t quarter = vdupq_n_u8(64);
  uint8x16x4_t quarters[4];
  for (int q = 0; q < 4; ++q) quarters[q] = vld1q_u8_x4(table + 64 * q);
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) {
    uint8x16_t place = vld1q_u8(x + i);
    uint8x16_t found = vqtbl4q_u8(quarters[0], place);
    CPUACC_UNROLL for (int q = 1; q < 4; ++q) {
      place = vsubq_u8(place, quarter);
      found = vqtbx4q_u8(found, quarters[q], place);
    }
    vst1q_u8(y + i, found);
  }
  look_up_each(table, x + i, y + i, n - i);
}

/* The fastest way to look bytes up in a table of 256. */
[[maybe_unused]] inline LookUp best_look_up() {
  return look_up_by_quarters;
}

}  // namespace
}  // namespace cpuacc::CPUACC_LEVEL
