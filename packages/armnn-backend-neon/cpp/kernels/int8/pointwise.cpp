/* SPDX-License-Identifier: MIT */
/* Addition, multiplication and Prelu of quantized bytes, each operand with a scale of its own, and functions of bytes
 * by a table of all their values: the instruction set has the loop.
 */
#include "kernels/int8/vector.h"

namespace cpuacc::CPUACC_LEVEL {
namespace {

/* Calls compute(x, y) for vectors of whole numbers and stores the bytes that it returns. */
template <typename T, typename Compute>
inline void over_pairs(const uint8_t *x, int64_t x_step, const uint8_t *y, int64_t y_step, uint8_t *z,
                       int64_t n, const Compute &compute) {
  const Ints one_x = x_step == 0 && n > 0 ? splat_int(static_cast<T>(*x)) : Ints{};
  const Ints one_y = y_step == 0 && n > 0 ? splat_int(static_cast<T>(*y)) : Ints{};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store_bytes(z + i, compute(x_step == 0 ? one_x : widened<T>(x + i), y_step == 0 ? one_y : widened<T>(y + i)));
  }
  if (i == n) return;
  const Ints last_x = x_step == 0 ? one_x : widened<T>(x + i, n - i);
  const Ints last_y = y_step == 0 ? one_y : widened<T>(y + i, n - i);
  store_bytes(z + i, compute(last_x, last_y), n - i);
}

template <typename T>
void sum_of(const Int8Addition &addition, const uint8_t *x, int64_t x_step, const uint8_t *y, int64_t y_step,
            uint8_t *z, int64_t n) {
  const Requantizer requantize(addition.requantization);
  over_pairs<T>(x, x_step, y, y_step, z, n, [&](Ints a, Ints b) {
    return requantize.stored((a * addition.x_factor + b * addition.y_factor + addition.bias) >> addition.shift);
  });
}

template <typename T>
void product_of(const Int8Multiplication &multiplication, const uint8_t *x, int64_t x_step,
                const uint8_t *y, int64_t y_step, uint8_t *z, int64_t n) {
  const Requantizer requantize(multiplication.requantization);
  const Floats scale = splat(multiplication.scale);
  over_pairs<T>(x, x_step, y, y_step, z, n, [&](Ints a, Ints b) {
    return requantize((a - multiplication.x_zero_point) * (b - multiplication.y_zero_point), scale);
  });
}

template <typename T>
void prelu_of(const Int8Prelu &prelu, const uint8_t *x, int64_t x_step, const uint8_t *y, int64_t y_step,
              uint8_t *z, int64_t n) {
  const Requantizer requantize(prelu.requantization);
  const Floats scale = splat(prelu.scale);
  const Floats whole_scale = splat(prelu.whole_scale);
  over_pairs<T>(x, x_step, y, y_step, z, n, [&](Ints a, Ints b) {
    const Ints number = a - prelu.x_zero_point;
    const Floats slope = __builtin_convertvector(b - prelu.y_zero_point, Floats) * scale;
    return requantize(number, number < 0 ? slope : whole_scale);
  });
}

void add(const Int8Addition &addition, const uint8_t *x, int64_t x_step, const uint8_t *y, int64_t y_step,
         uint8_t *z, int64_t n) {
  const auto compute = addition.is_signed ? sum_of<int8_t> : sum_of<uint8_t>;
  compute(addition, x, x_step, y, y_step, z, n);
}

void multiply(const Int8Multiplication &multiplication, const uint8_t *x, int64_t x_step,
              const uint8_t *y, int64_t y_step, uint8_t *z, int64_t n) {
  const auto compute = multiplication.is_signed ? product_of<int8_t> : product_of<uint8_t>;
  compute(multiplication, x, x_step, y, y_step, z, n);
}

void prelu(const Int8Prelu &prelu, const uint8_t *x, int64_t x_step, const uint8_t *y, int64_t y_step,
           uint8_t *z, int64_t n) {
  const auto compute = prelu.is_signed ? prelu_of<int8_t> : prelu_of<uint8_t>;
  compute(prelu, x, x_step, y, y_step, z, n);
}

}  // namespace

void fill_int8_pointwise(Kernels &table) {
  table.int8.add = add;
  table.int8.multiply = multiply;
  table.int8.prelu = prelu;
  table.int8.look_up = best_look_up();
}

}  // namespace cpuacc::CPUACC_LEVEL
