/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/elementwise.h"

#include <cmath>
#include <type_traits>

#include "costs/costs.h"
#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

template <typename T>
constexpr bool kIsFloat32 = std::is_same_v<T, float>;

/* Of float32 or, stored as uint16_t, of Float16 at levels that compute in it. */
template <typename T>
class Apply final : public Unary {
 public:
  Apply(Ends ends, const Elementwise &function) : Unary(ends), function_(function) {}

  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    const auto *x = static_cast<const T *>(operands[0]);
    if constexpr (kIsFloat32<T>) kernels.elementwise(function_, x, static_cast<T *>(to), n);
    else kernels.float16_elementwise(function_, x, static_cast<T *>(to), n);
  }
  double in_elements() const override { return kIsFloat32<T> ? costs::kFunctionElements : costs::kOneElement; }
  Description describe() const override { return function_; }

 private:
  Elementwise function_;
};

template <typename T>
class Combine final : public Binary {
 public:
  Combine(const BinaryOperands &operands, Arithmetic operation)
      : Binary(operands, sizeof(T)), operation_(operation) {}

  Description describe() const override { return BinaryArithmetic{operation_, broadcast_}; }
  bool takes_bfloat16() const override { return kIsFloat32<T>; }
  void compute_numbers(const Kernels &kernels, const Numbers *operands, Stored to, int64_t n) const override {
    kernels.arithmetic_of_bfloat16(operation_, operands[0], operands[1], to, n);
  }

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    const auto *left = static_cast<const T *>(x);
    const auto *right = static_cast<const T *>(y);
    if constexpr (kIsFloat32<T>) kernels.arithmetic(operation_, left, x_step, right, y_step, static_cast<T *>(z), n);
    else kernels.float16_arithmetic(operation_, left, x_step, right, y_step, static_cast<T *>(z), n);
  }

  Arithmetic operation_;
};

/* Whether the result is rounded at most once, and parameters are not. */
bool is_exact(const Kernels &kernels, const Elementwise &f) {
  switch (f.function) {
    case Function::abs:
    case Function::negative:
    case Function::sqrt:
    case Function::square: return true;
    case Function::clamp: return is_float16(kernels, f.a) && is_float16(kernels, f.b);
    case Function::linear: /* a sum or a product; both together could be rounded twice in float32 */
      return is_float16(kernels, f.a) && is_float16(kernels, f.b) &&
             (f.b == 0.0f || std::abs(f.a) == 1.0f);
    default: return false;
  }
}

class Prelu final : public Binary {
 public:
  explicit Prelu(const BinaryOperands &operands) : Binary(operands, sizeof(float)) {}

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.prelu(static_cast<const float *>(x), x_step, static_cast<const float *>(y), y_step,
                  static_cast<float *>(z), n);
  }
};

}  // namespace

OperationPtr apply_function(Ends ends, const Elementwise &function) {
  return std::make_unique<Apply<float>>(ends, function);
}

OperationPtr float16_function(const Kernels &kernels, Ends ends, const Elementwise &function) {
  return is_exact(kernels, function) ? std::make_unique<Apply<uint16_t>>(ends, function) : nullptr;
}

OperationPtr combine(const BinaryOperands &operands, Arithmetic operation) {
  return std::make_unique<Combine<float>>(operands, operation);
}

OperationPtr float16_arithmetic(const BinaryOperands &operands, Arithmetic operation) {
  if (operation == Arithmetic::squared_difference) return nullptr; /* in float32 it is rounded twice */
  return std::make_unique<Combine<uint16_t>>(operands, operation);
}

OperationPtr prelu(const BinaryOperands &operands) { return std::make_unique<Prelu>(operands); }

}  // namespace cpuacc
