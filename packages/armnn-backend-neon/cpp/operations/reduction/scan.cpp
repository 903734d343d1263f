/* SPDX-License-Identifier: MIT */
/* Numbers put together along axes, in their own data type: CumSum, CumProd, and reductions and softmax
 * of what no kernel takes.
 */
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "graph/data_types.h"
#include "layers/registry.h"
#include "operations/copy/indices.h"
#include "operations/reduction/scan.h"

namespace cpuacc {
namespace {

/* Computes one line of count elements, stride apart, of the input and of the output. */
using AxisFunction = void (*)(const void *from, void *to, int64_t count, int64_t stride, int64_t flags);

class AlongAxis final : public Operation {
 public:
  /* Args: to_size: of the axis in the output. */
  AlongAxis(TensorId from, TensorId to, Along along, int64_t to_size, AxisFunction compute, int64_t flags)
      : Operation({from}, {to}), along_(along), to_size_(to_size), compute_(compute), flags_(flags) {}

  size_t prepare(const Setup &setup) override {
    bytes_ = static_cast<int64_t>(element_bytes(setup[inputs[0]].type));
    return 0;
  }

  void run(const Frame &frame) const override {
    const auto *from = frame.in<std::byte>(inputs[0]);
    auto *to = frame.out<std::byte>(outputs[0]);
    const double line_ns = static_cast<double>(along_.size) * kFunctionNs;
    frame.pool.run(along_.outer * along_.inner, line_ns, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t outer = i / along_.inner * along_.inner;
        const int64_t inner = i % along_.inner;
        compute_(from + (outer * along_.size + inner) * bytes_, to + (outer * to_size_ + inner) * bytes_,
                 along_.size, along_.inner, flags_);
      }
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

constexpr int64_t kExclusive = 1;
constexpr int64_t kReverse = 2;

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

CPUACC_SHARED(AXIS, CUM_SUM, CUM_PROD);
CPUACC_SHARED(EXCLUSIVE, CUM_SUM, CUM_PROD);
CPUACC_SHARED(REVERSE, CUM_SUM, CUM_PROD);

template <bool IsProduct>
void lower_scan(Lowering &l) {
  require(!l.has_input(1), "the axis must be known", 1);
  const Shape &shape = l.input(0).shape;
  require(!shape.empty() && l.output().shape == shape && l.output().type == l.input(0).type,
          "the output must be as the input");
  const AxisFunction compute = visit_number(
      l.input(0).type, [](auto tag) -> AxisFunction { return scan<typename decltype(tag)::Type, IsProduct>; });
  require(compute != nullptr, std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  const auto axis =
      static_cast<size_t>(whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_CUM_SUM_AXIS)), shape.size()));
  const int64_t flags = (l.layer().integer(ARMNN_PARAMETER(ARMNN_CUM_SUM_EXCLUSIVE)) != 0 ? kExclusive : 0) |
                        (l.layer().integer(ARMNN_PARAMETER(ARMNN_CUM_SUM_REVERSE)) != 0 ? kReverse : 0);
  const TensorId from = l.in(0);
  l.add<AlongAxis>(from, l.out(), along(shape, axis), shape[axis], compute, flags);
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

AxisFunction reducer_of(Reduction reduction, armnn_data_type type) {
  switch (reduction) {
    case Reduction::sum: return reducer<Reduction::sum>(type);
    case Reduction::maximum: return reducer<Reduction::maximum>(type);
    case Reduction::mean: return reducer<Reduction::mean>(type);
    case Reduction::minimum: return reducer<Reduction::minimum>(type);
    case Reduction::product: return reducer<Reduction::product>(type);
  }
  return nullptr;
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

void lower_other_reduction(Lowering &l, Reduction reduction, const Order &order, const Order &left,
                           int64_t outer, int64_t count, int64_t inner) {
  const armnn_data_type type = l.input(0).type;
  require(l.output().type == type, "the output must have the input's data type");
  const AxisFunction compute = reducer_of(reduction, type);
  require(compute != nullptr, std::string(type_name(type)) + " is not computed here", 0);
  const bool is_extreme = reduction == Reduction::maximum || reduction == Reduction::minimum;
  require(count > 0 || !is_extreme, "there is no element to choose from", 0);
  const TensorId from = l.in(0, order);
  l.add<AlongAxis>(from, l.out(0, left), Along{outer, count, inner}, 1, compute, 0);
}

CPUACC_SHARED(AXIS, SOFTMAX, LOG_SOFTMAX);
CPUACC_SHARED(BETA, SOFTMAX, LOG_SOFTMAX);

void lower_other_softmax(Lowering &l, bool takes_logarithm) {
  require(l.input(0).type == ARMNN_FLOAT64 && l.output().type == ARMNN_FLOAT64,
          std::string(type_name(l.input(0).type)) + " is not computed here", 0);
  require(l.layer().real(ARMNN_PARAMETER(ARMNN_SOFTMAX_BETA)) == 1.0,
          "a factor other than 1 is not computed here");
  const Shape &shape = l.input(0).shape;
  const auto axis =
      static_cast<size_t>(whole_axis(l.layer().integer(ARMNN_PARAMETER(ARMNN_SOFTMAX_AXIS)), shape.size()));
  const TensorId from = l.in(0);
  const AxisFunction compute = takes_logarithm ? exponentiate<true> : exponentiate<false>;
  l.add<AlongAxis>(from, l.out(), along(shape, axis), shape[axis], compute, 0);
}

std::vector<LayerType> scan_layers() {
  return {{ARMNN_LAYER_CUM_PROD, lower_scan<true>}, {ARMNN_LAYER_CUM_SUM, lower_scan<false>}};
}

}  // namespace cpuacc
