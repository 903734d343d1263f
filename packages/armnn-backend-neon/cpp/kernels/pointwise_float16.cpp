/* SPDX-License-Identifier: MIT */
/* Arithmetic on Float16, eight numbers in a register. Only for levels whose instructions compute in it.
 *
 * Each function here rounds at most once. Computed in float32 and rounded then, which is how a layer on
 * Float16 is defined, it has the same bits: float32 has more than twice the bits of Float16 and two.
 */
#include "kernels/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

typedef float16x8_t Halves;
constexpr int64_t kHalves = sizeof(Halves) / sizeof(uint16_t);

inline Halves load_halves(const uint16_t *p, int64_t n = kHalves) {
  uint16x8_t bits{};
  if (n == kHalves) {
    bits = vld1q_u16(p);
  } else {
    std::memcpy(&bits, p, static_cast<size_t>(n) * sizeof *p);
  }
  return vreinterpretq_f16_u16(bits);
}

inline void store_halves(uint16_t *p, Halves x, int64_t n = kHalves) {
  const uint16x8_t bits = vreinterpretq_u16_f16(x);
  if (n == kHalves) {
    vst1q_u16(p, bits);
  } else {
    std::memcpy(p, &bits, static_cast<size_t>(n) * sizeof *p);
  }
}

/* A vector of one number, which Float16 holds. */
inline Halves splat_half(float x) {
  return vcombine_f16(vcvt_f16_f32(vdupq_n_f32(x)), vcvt_f16_f32(vdupq_n_f32(x)));
}

template <typename F>
inline void each(const uint16_t *x, uint16_t *y, int64_t n, F f) {
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) store_halves(y + i, f(load_halves(x + i)));
  if (i < n) store_halves(y + i, f(load_halves(x + i, n - i)), n - i);
}

/* NaN passes, as in float32. */
inline Halves bounded(Halves x, Halves upper, Halves lower) {
  const Halves above = vbslq_f16(vcltq_f16(x, lower), lower, x);
  return vbslq_f16(vcgtq_f16(above, upper), upper, above);
}

void elementwise(const Elementwise &function, const uint16_t *x, uint16_t *y, int64_t n) {
  const Halves a = splat_half(function.a);
  const Halves b = splat_half(function.b);
  switch (function.function) {
    case Function::clamp: return each(x, y, n, [&](Halves p) { return bounded(p, a, b); });
    case Function::linear: return each(x, y, n, [&](Halves p) { return vfmaq_f16(b, a, p); });
    case Function::abs: return each(x, y, n, [](Halves p) { return vabsq_f16(p); });
    case Function::negative: return each(x, y, n, [](Halves p) { return vnegq_f16(p); });
    case Function::sqrt: return each(x, y, n, [](Halves p) { return vsqrtq_f16(p); });
    case Function::square: return each(x, y, n, [](Halves p) { return vmulq_f16(p, p); });
    default: return; /* no operation asks for it */
  }
}

struct Operand {
  const uint16_t *data;
  int64_t step;
  Halves one;

  Operand(const uint16_t *p, int64_t s, int64_t n)
      : data(p), step(s), one(vreinterpretq_f16_u16(vdupq_n_u16(n > 0 && s == 0 ? *p : 0))) {}
  Halves at(int64_t i, int64_t n = kHalves) const { return step == 0 ? one : load_halves(data + i, n); }
};

template <typename F>
inline void pairs(const Operand &x, const Operand &y, uint16_t *z, int64_t n, F f) {
  int64_t i = 0;
  for (; i + kHalves <= n; i += kHalves) store_halves(z + i, f(x.at(i), y.at(i)));
  if (i < n) store_halves(z + i, f(x.at(i, n - i), y.at(i, n - i)), n - i);
}

/* NaN in either operand is the result, of equal numbers the second one. */
inline Halves chosen(uint16x8_t takes_first, Halves x, Halves y) {
  const uint16x8_t is_number = vceqq_f16(x, x);
  return vbslq_f16(vornq_u16(takes_first, is_number), x, y);
}

void arithmetic(Arithmetic operation, const uint16_t *x, int64_t x_step, const uint16_t *y, int64_t y_step,
                uint16_t *z, int64_t n) {
  const Operand left(x, x_step, n);
  const Operand right(y, y_step, n);
  switch (operation) {
    case Arithmetic::add:
      return pairs(left, right, z, n, [](Halves p, Halves q) { return vaddq_f16(p, q); });
    case Arithmetic::subtract:
      return pairs(left, right, z, n, [](Halves p, Halves q) { return vsubq_f16(p, q); });
    case Arithmetic::multiply:
      return pairs(left, right, z, n, [](Halves p, Halves q) { return vmulq_f16(p, q); });
    case Arithmetic::divide:
      return pairs(left, right, z, n, [](Halves p, Halves q) { return vdivq_f16(p, q); });
    case Arithmetic::maximum:
      return pairs(left, right, z, n, [](Halves p, Halves q) { return chosen(vcltq_f16(q, p), p, q); });
    case Arithmetic::minimum:
      return pairs(left, right, z, n, [](Halves p, Halves q) { return chosen(vcgtq_f16(q, p), p, q); });
    case Arithmetic::squared_difference: return; /* rounds twice: no operation asks for it */
  }
}

}  // namespace

void fill_pointwise_float16(Kernels &table) {
  table.float16_elementwise = elementwise;
  table.float16_arithmetic = arithmetic;
}

}  // namespace cpuacc::CPUACC_LEVEL
