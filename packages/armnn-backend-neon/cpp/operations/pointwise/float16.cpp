/* SPDX-License-Identifier: MIT */
#include "operations/pointwise/float16.h"

#include <cmath>

#include "operations/storage/formats.h"

namespace cpuacc {
namespace {

class ApplyFloat16 final : public Unary {
 public:
  ApplyFloat16(TensorId from, TensorId to, const Elementwise &function)
      : Unary(from, to), function_(function) {}

  void compute_span(const Kernels &kernels, const void *const *operands, const int64_t *, void *to,
                    int64_t n) const override {
    kernels.float16_elementwise(function_, static_cast<const uint16_t *>(operands[0]),
                                static_cast<uint16_t *>(to), n);
  }

 private:
  Elementwise function_;
};

class CombineFloat16 final : public Binary {
 public:
  CombineFloat16(TensorId x, TensorId y, TensorId to, const Broadcast &broadcast, Arithmetic operation)
      : Binary(x, y, to, broadcast, sizeof(uint16_t)), operation_(operation) {}

 private:
  void compute(const Kernels &kernels, const void *x, int64_t x_step, const void *y, int64_t y_step,
               void *z, int64_t n) const override {
    kernels.float16_arithmetic(operation_, static_cast<const uint16_t *>(x), x_step,
                               static_cast<const uint16_t *>(y), y_step, static_cast<uint16_t *>(z), n);
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

}  // namespace

OperationPtr float16_function(const Kernels &kernels, TensorId from, TensorId to, const Elementwise &function) {
  if (!is_exact(kernels, function)) return nullptr;
  return std::make_unique<ApplyFloat16>(from, to, function);
}

OperationPtr float16_arithmetic(const std::vector<TensorId> &from, TensorId to, const Broadcast &broadcast,
                                Arithmetic operation) {
  if (operation == Arithmetic::squared_difference) return nullptr; /* in float32 it is rounded twice */
  return std::make_unique<CombineFloat16>(from[0], from[1], to, broadcast, operation);
}

}  // namespace cpuacc
