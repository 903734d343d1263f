/* SPDX-License-Identifier: MIT */
/* Functions of adjacent elements, and of pairs of them. */
#include "kernels/pairs.h"

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

struct Result {
  float *data;

  void put_whole(int64_t i, Floats x) const { store(data + i, x); }
  void put_part(int64_t i, Floats x, int64_t n) const { store_part(data + i, x, n); }
};

void arithmetic(Arithmetic operation, const float *x, int64_t x_step, const float *y, int64_t y_step,
                float *z, int64_t n) {
  combine_pairs(operation, Operand(x, x_step, n), Operand(y, y_step, n), Result{z}, n);
}

void prelu(const float *x, int64_t x_step, const float *slope, int64_t slope_step, float *z, int64_t n) {
  pairs(Operand(x, x_step, n), Operand(slope, slope_step, n), Result{z}, n,
        [](Floats p, Floats q) { return p > 0.0f ? p : p * q; });
}

}  // namespace

void fill_pointwise(Kernels &table) {
  table.elementwise = elementwise;
  table.arithmetic = arithmetic;
  table.prelu = prelu;
}

}  // namespace cpuacc::CPUACC_LEVEL
