/* SPDX-License-Identifier: MIT */
#include "operations/reduction/reduction.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "costs/costs.h"
#include "graph/data_types.h"

namespace cpuacc {
namespace {

class AlongAxis final : public Operation {
 public:
  /* Args: to_size: of the axis in the output. */
  AlongAxis(Ends ends, Along along, int64_t to_size, AxisFunction compute, int64_t flags)
      : Operation(ends), along_(along), to_size_(to_size), compute_(compute), flags_(flags) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = static_cast<int64_t>(element_bytes(setup[inputs[0]].type));
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    auto *to = frame.out<std::byte>(outputs[0]);
    const double row_ns = static_cast<double>(along_.size) * costs::kFunctionElements * frame.element_ns();
    frame.for_each(along_.outer * along_.inner, row_ns, [&](int64_t i, int32_t) {
      const int64_t outer = i / along_.inner * along_.inner;
      const int64_t inner = i % along_.inner;
      compute_(from + (outer * along_.size + inner) * bytes_, to + (outer * to_size_ + inner) * bytes_,
               along_.size, along_.inner, flags_);
    });
  }

 private:
  Along along_;
  int64_t to_size_;
  AxisFunction compute_;
  int64_t flags_;
  int64_t bytes_ = 0;
};

/* Integers wrap around: they are combined without their sign. */
template <typename T, bool IsProduct>
T combined(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<uint64_t>(x);
    const auto b = static_cast<uint64_t>(y);
    return static_cast<T>(IsProduct ? a * b : a + b);
  } else {
    return IsProduct ? x * y : x + y;
  }
}

template <typename T, bool IsProduct>
void scan(const void *from, void *to, int64_t count, int64_t stride, int64_t flags) {
  const auto *x = static_cast<const T *>(from);
  auto *y = static_cast<T *>(to);
  T sum = IsProduct ? T(1) : T(0);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = ((flags & kReverse) != 0 ? count - 1 - i : i) * stride;
    const T next = combined<T, IsProduct>(sum, x[at]);
    y[at] = (flags & kExclusive) != 0 ? sum : next;
    sum = next;
  }
}

template <typename T, Reduction R>
void reduce(const void *from, void *to, int64_t count, int64_t stride, int64_t) {
  const auto *x = static_cast<const T *>(from);
  constexpr bool kIsExtreme = R == Reduction::maximum || R == Reduction::minimum;
  T result = R == Reduction::product ? T(1) : T(0);
  if (kIsExtreme) result = x[0];
  for (int64_t i = 0; i < count; ++i) {
    const T next = x[i * stride];
    if constexpr (kIsExtreme) {
      const bool is_better = R == Reduction::maximum ? next > result : next < result;
      if (result == result && (is_better || next != next)) result = next;
    } else {
      result = combined<T, R == Reduction::product>(result, next);
    }
  }
  *static_cast<T *>(to) = R == Reduction::mean ? static_cast<T>(result / static_cast<T>(count)) : result;
}

template <Reduction R>
AxisFunction reducer(armnn_data_type type) {
  /* The mean of integers is not defined alike everywhere. */
  if (R == Reduction::mean) return type == ARMNN_FLOAT64 ? reduce<double, R> : nullptr;
  return visit_number(type, [](auto tag) -> AxisFunction { return reduce<typename decltype(tag)::Type, R>; });
}

template <bool TakesLogarithm>
void exponentiate(const void *from, void *to, int64_t count, int64_t stride, int64_t) {
  const auto *x = static_cast<const double *>(from);
  auto *y = static_cast<double *>(to);
  double top = x[0];
  for (int64_t i = 0; i < count; ++i) top = std::max(top, x[i * stride]);
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double power = std::exp(x[i * stride] - top);
    y[i * stride] = TakesLogarithm ? x[i * stride] - top : power;
    sum += power;
  }
  for (int64_t i = 0; i < count; ++i) {
    y[i * stride] = TakesLogarithm ? y[i * stride] - std::log(sum) : y[i * stride] / sum;
  }
}

}  // namespace

AxisFunction scan_function(armnn_data_type type, bool is_product) {
  return visit_number(type, [&](auto tag) -> AxisFunction {
    using T = typename decltype(tag)::Type;
    return is_product ? scan<T, true> : scan<T, false>;
  });
}

AxisFunction reduction_function(Reduction reduction, armnn_data_type type) {
  switch (reduction) {
    case Reduction::sum: return reducer<Reduction::sum>(type);
    case Reduction::maximum: return reducer<Reduction::maximum>(type);
    case Reduction::mean: return reducer<Reduction::mean>(type);
    case Reduction::minimum: return reducer<Reduction::minimum>(type);
    case Reduction::product: return reducer<Reduction::product>(type);
  }
  return nullptr;
}

AxisFunction softmax_function(bool takes_logarithm) {
  return takes_logarithm ? exponentiate<true> : exponentiate<false>;
}

OperationPtr along_axis(Ends ends, const Along &along, int64_t to_size, AxisFunction compute, int64_t flags) {
  return std::make_unique<AlongAxis>(ends, along, to_size, compute, flags);
}

}  // namespace cpuacc
