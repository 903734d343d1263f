/* SPDX-License-Identifier: MIT */
/* Functions of adjacent elements, and of pairs of them. */
#include "kernels/functions.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

void elementwise(const Elementwise &function, const float *x, float *y, int64_t n) {
  with_known(function, [&](auto f) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(y + i, f(load(x + i)));
    if (i < n) store_part(y + i, f(load_part(x + i, n - i)), n - i);
  });
}

/* Reads n numbers side by side, or one number n times. */
struct Operand {
  const float *data;
  int64_t step;
  Floats one;

  Operand(const float *p, int64_t s, int64_t n)
      : data(p), step(s), one(n > 0 && s == 0 ? splat(*p) : Floats{}) {}
  Floats whole(int64_t i) const { return step == 0 ? one : load(data + i); }
  Floats part(int64_t i, int64_t n) const { return step == 0 ? one : load_part(data + i, n); }
};

template <typename F>
inline void pairs(const Operand &x, const Operand &y, float *z, int64_t n, F f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(z + i, f(x.whole(i), y.whole(i)));
  if (i < n) store_part(z + i, f(x.part(i, n - i), y.part(i, n - i)), n - i);
}

/* NaN in either operand is the result, as in NumPy and ONNX. */
inline Floats larger(Floats x, Floats y) { return x != x ? x : (y < x ? x : y); }
inline Floats smaller(Floats x, Floats y) { return x != x ? x : (y > x ? x : y); }

void arithmetic(Arithmetic operation, const float *x, int64_t x_step, const float *y, int64_t y_step,
                float *z, int64_t n) {
  const Operand left(x, x_step, n);
  const Operand right(y, y_step, n);
  switch (operation) {
    case Arithmetic::add: return pairs(left, right, z, n, [](Floats p, Floats q) { return p + q; });
    case Arithmetic::subtract: return pairs(left, right, z, n, [](Floats p, Floats q) { return p - q; });
    case Arithmetic::multiply: return pairs(left, right, z, n, [](Floats p, Floats q) { return p * q; });
    case Arithmetic::divide: return pairs(left, right, z, n, [](Floats p, Floats q) { return p / q; });
    case Arithmetic::maximum: return pairs(left, right, z, n, larger);
    case Arithmetic::minimum: return pairs(left, right, z, n, smaller);
    case Arithmetic::squared_difference:
      return pairs(left, right, z, n, [](Floats p, Floats q) { return (p - q) * (p - q); });
  }
}

void prelu(const float *x, int64_t x_step, const float *slope, int64_t slope_step, float *z, int64_t n) {
  pairs(Operand(x, x_step, n), Operand(slope, slope_step, n), z, n,
        [](Floats p, Floats q) { return p > 0.0f ? p : p * q; });
}

}  // namespace

void fill_pointwise(Kernels &table) {
  table.elementwise = elementwise;
  table.arithmetic = arithmetic;
  table.prelu = prelu;
}

}  // namespace cpuacc::CPUACC_LEVEL
