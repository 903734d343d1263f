/* SPDX-License-Identifier: MIT */
/* Conversions between float32 and its half-sized formats, Float16 and BFloat16; ties go to even. */
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

struct BFloat16 {
  static Floats to_float32(HalfBits x) {
    return reinterpret_cast<Floats>(__builtin_convertvector(x, Words) << 16);
  }
  static HalfBits from_float32(Floats x) { return __builtin_convertvector(rounded(x) >> 16, HalfBits); }

  /* In the upper halves. */
  static Words rounded(Floats x) {
    const Words bits = reinterpret_cast<Words>(x);
    const Words nearest = bits + 0x7fff + ((bits >> 16) & 1);
    const Words quiet = bits | 0x400000;
    const Words is_number = reinterpret_cast<Words>(x == x);
    return (nearest & is_number) | (quiet & ~is_number);
  }
};

template <typename T>
void half_to_float32(const uint16_t *x, float *y, int64_t n) {
  HalfBits half{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    std::memcpy(&half, x + i, sizeof half);
    store(y + i, T::to_float32(half));
  }
  if (i == n) return;
  half = HalfBits{};
  std::memcpy(&half, x + i, static_cast<size_t>(n - i) * sizeof *x);
  store_part(y + i, T::to_float32(half), n - i);
}

template <typename T>
void float32_to_half(const float *x, uint16_t *y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const HalfBits half = T::from_float32(load(x + i));
    std::memcpy(y + i, &half, sizeof half);
  }
  if (i == n) return;
  const HalfBits half = T::from_float32(load_part(x + i, n - i));
  std::memcpy(y + i, &half, static_cast<size_t>(n - i) * sizeof *y);
}

void pair_bfloat16(const float *first, const float *second, uint32_t *pairs, int64_t n) {
  const auto pairs_of = [](Floats x, Floats y) {
    return (BFloat16::rounded(x) >> 16) | (BFloat16::rounded(y) & 0xffff0000u);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Words all = pairs_of(load(first + i), load(second + i));
    std::memcpy(pairs + i, &all, sizeof all);
  }
  if (i == n) return;
  const Words all = pairs_of(load_part(first + i, n - i), load_part(second + i, n - i));
  std::memcpy(pairs + i, &all, static_cast<size_t>(n - i) * sizeof *pairs);
}

}  // namespace

void fill_half_conversion(Kernels &table) {
  table.half_to_float32[static_cast<int>(HalfFormat::float16)] = half_to_float32<Float16>;
  table.half_to_float32[static_cast<int>(HalfFormat::bfloat16)] = half_to_float32<BFloat16>;
  table.float32_to_half[static_cast<int>(HalfFormat::float16)] = float32_to_half<Float16>;
  table.float32_to_half[static_cast<int>(HalfFormat::bfloat16)] = float32_to_half<BFloat16>;
  table.pair_bfloat16 = pair_bfloat16;
  table.converts_float16 = kConvertsFloat16;
}

}  // namespace cpuacc::CPUACC_LEVEL
