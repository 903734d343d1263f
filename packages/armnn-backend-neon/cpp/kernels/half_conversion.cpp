/* SPDX-License-Identifier: MIT */
/* Between float32 and its half-sized formats, Float16 and BFloat16; ties go to even. */
#include "kernels/vector.h"

namespace cpuacc {
namespace CPUACC_LEVEL {
namespace {

typedef uint16_t Halves __attribute__((vector_size(CPUACC_VECTOR_BYTES / 2)));
typedef uint32_t Bits __attribute__((vector_size(CPUACC_VECTOR_BYTES)));

constexpr uint32_t kInfinityBits = 0x7f800000;

inline Bits bits_of(Floats x) { return reinterpret_cast<Bits>(x); }

struct BFloat16 {
  static Floats to_float32(Halves x) {
    return reinterpret_cast<Floats>(__builtin_convertvector(x, Bits) << 16);
  }
  static Halves from_float32(Floats x) {
    const Bits bits = bits_of(x);
    const Bits rounded = bits + 0x7fff + ((bits >> 16) & 1);
    const Bits quiet = bits | 0x400000;
    const Bits is_number = reinterpret_cast<Bits>(x == x);
    return __builtin_convertvector(((rounded & is_number) | (quiet & ~is_number)) >> 16, Halves);
  }
};

#if CPUACC_VECTOR_BYTES == 64

constexpr bool kConvertsFloat16 = true;

struct Float16 {
  static Floats to_float32(Halves x) {
    return reinterpret_cast<Floats>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(x)));
  }
  static Halves from_float32(Floats x) {
    return reinterpret_cast<Halves>(
        _mm512_maskz_cvtps_ph(0xffff, reinterpret_cast<__m512>(x), _MM_FROUND_TO_NEAREST_INT));
  }
};

#elif defined(__F16C__)

constexpr bool kConvertsFloat16 = true;

struct Float16 {
  static Floats to_float32(Halves x) {
    return reinterpret_cast<Floats>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(x)));
  }
  static Halves from_float32(Floats x) {
    return reinterpret_cast<Halves>(_mm256_cvtps_ph(reinterpret_cast<__m256>(x), _MM_FROUND_TO_NEAREST_INT));
  }
};

#elif defined(__aarch64__)

constexpr bool kConvertsFloat16 = true;

struct Float16 {
  static Floats to_float32(Halves x) {
    return reinterpret_cast<Floats>(vcvt_f32_f16(reinterpret_cast<float16x4_t>(x)));
  }
  static Halves from_float32(Floats x) {
    return reinterpret_cast<Halves>(vcvt_f16_f32(reinterpret_cast<float32x4_t>(x)));
  }
};

#else

constexpr bool kConvertsFloat16 = false;

inline Bits chosen(Bits mask, Bits yes, Bits no) { return (mask & yes) | (~mask & no); }

/* The exponent's bias is moved by a product with 2^112, which subnormal numbers survive; to encode
 * them, a sum with 0.5 puts their last place where that of a float is.
 */
struct Float16 {
  static Floats to_float32(Halves x) {
    const Bits bits = __builtin_convertvector(x, Bits);
    const Bits size = (bits & 0x7fff) << 13;
    const Bits scaled = bits_of(reinterpret_cast<Floats>(size) * 5.192296858534828e33f);
    const Bits is_finite = reinterpret_cast<Bits>(size < 0x0f800000);
    return reinterpret_cast<Floats>(chosen(is_finite, scaled, size | kInfinityBits) | ((bits & 0x8000) << 16));
  }
  static Halves from_float32(Floats x) {
    const Bits sign = (bits_of(x) >> 16) & 0x8000;
    const Bits size = bits_of(x) & 0x7fffffff;
    const Bits normal = (size - (112u << 23) + 0xfff + ((size >> 13) & 1)) >> 13;
    const Bits subnormal = bits_of(reinterpret_cast<Floats>(size) + 0.5f) - 0x3f000000;
    const Bits finite = chosen(reinterpret_cast<Bits>(size < 0x38800000), subnormal, normal);
    const Bits above = reinterpret_cast<Bits>(size >= 0x47800000);
    const Bits no_number = reinterpret_cast<Bits>(size > kInfinityBits) & (0x200 | ((size >> 13) & 0x3ff));
    return __builtin_convertvector(sign | chosen(above, 0x7c00 | no_number, finite), Halves);
  }
};

#endif

template <typename T>
void half_to_float32(const uint16_t *x, float *y, int64_t n) {
  Halves half{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    std::memcpy(&half, x + i, sizeof half);
    store(y + i, T::to_float32(half));
  }
  if (i == n) return;
  half = Halves{};
  std::memcpy(&half, x + i, static_cast<size_t>(n - i) * sizeof *x);
  store_part(y + i, T::to_float32(half), n - i);
}

template <typename T>
void float32_to_half(const float *x, uint16_t *y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Halves half = T::from_float32(load(x + i));
    std::memcpy(y + i, &half, sizeof half);
  }
  if (i == n) return;
  const Halves half = T::from_float32(load_part(x + i, n - i));
  std::memcpy(y + i, &half, static_cast<size_t>(n - i) * sizeof *y);
}

}  // namespace

void fill_half_conversion(Kernels &table) {
  table.half_to_float32[static_cast<int>(HalfFormat::float16)] = half_to_float32<Float16>;
  table.half_to_float32[static_cast<int>(HalfFormat::bfloat16)] = half_to_float32<BFloat16>;
  table.float32_to_half[static_cast<int>(HalfFormat::float16)] = float32_to_half<Float16>;
  table.float32_to_half[static_cast<int>(HalfFormat::bfloat16)] = float32_to_half<BFloat16>;
  table.converts_float16 = kConvertsFloat16;
}

}  // namespace CPUACC_LEVEL
}  // namespace cpuacc
